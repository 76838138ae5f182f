"""The verdict of a registered test at its boundaries, and what a registered run is called."""

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.registered import (
    AskedContrast,
    RegisteredResult,
    RegisteredRun,
    RegistrationStatus,
    RunDeviation,
    _left_out,
    _names,
    _open_matches,
    _several,
    verdict,
)
from ostrom.analysis.statistics.result import Estimate


def of(low: float | None, high: float | None, level: float = 0.95) -> Estimate:
    return Estimate({}, 0.25, low, high, 4, "match", "t", "", level, None)


@pytest.mark.parametrize(
    ("direction", "support", "within", "said"),
    [
        ("greater", (0.1, 0.4), None, "support"),
        ("greater", (0.0, 0.4), None, "undecided"),
        ("greater", (-0.4, -0.1), None, "contradiction"),
        ("less", (-0.4, -0.1), None, "support"),
        ("less", (0.1, 0.4), None, "contradiction"),
        ("less", (-0.4, 0.0), None, "undecided"),
        ("different", (0.1, 0.4), None, "support"),
        ("different", (-0.4, -0.1), None, "support"),
        ("different", (-0.1, 0.1), None, "undecided"),
        ("different", (0.01, 0.1), (-0.1, 0.1), "absence"),
        ("greater", (0.01, 0.3), (0.02, 0.2), "support"),  # the margin itself is too much
        ("greater", (-0.3, 0.1), (-0.2, 0.1), "undecided"),
        ("greater", (None, 0.4), (None, 0.1), "undecided"),
        ("greater", (0.1, None), (0.1, None), "undecided"),
    ],
)
def test_support_absence_and_contradiction(
    direction: str, support: tuple[Any, Any], within: tuple[Any, Any] | None, said: str
) -> None:
    one: Any = SimpleNamespace(direction=direction, smallest=0.2)
    assert verdict(one, of(*support), None if within is None else of(*within)) == said
    if within is not None and said == "absence":
        one.smallest = None
        assert verdict(one, of(*support), of(*within)) == "support"


def result(**more: Any) -> RegisteredResult:
    contrast: Any = SimpleNamespace(smallest=0.2, contrast="k = 2-1", measure="cooperation", **more)
    return RegisteredResult("primary", contrast, "support", of(0.1, 0.4), of(0.15, 0.35, 0.9))


def test_a_result_in_words() -> None:
    assert result().value == "0.250 (0.95: 0.100 to 0.400; n = 4 matches)"
    assert result().equivalence == "within ±0.2? 0.9: 0.150 to 0.350"
    bare: Any = SimpleNamespace(smallest=None)
    none = RegisteredResult("primary", bare, "undecided", of(None, 0.4), None)
    assert "(0.95: no interval; " in none.value and none.equivalence.startswith("no smallest effect")
    open_end = RegisteredResult("primary", result().contrast, "undecided", None, of(0.1, None))
    assert (open_end.value, open_end.equivalence) == ("", "")
    for within in (None, of(None, 0.1)):
        assert RegisteredResult("primary", result().contrast, "undecided", None, within).equivalence == ""


def run(**more: Any) -> RegisteredRun:
    registration: Any = SimpleNamespace(
        hash="0123456789abcdef99", created="today", sample=SimpleNamespace(interval="fixed"),
        level_of=lambda role: 0.95 if role == "primary" else 0.99,
    )  # fmt: skip
    query = SimpleNamespace(condition=lambda _: {"game": ["pd"]})
    fields = {"complete": True, "reasons": (), "deviations": (), "results": (result(query=query),), **more}
    return RegisteredRun("r", registration, **fields)


SEEDS = RunDeviation("seeds", "5 registered, 6 in the run")


@pytest.mark.parametrize(
    ("more", "asked", "label"),
    [
        ({}, {}, "confirmatory"),
        ({}, {"contrast": "k=2 - 1"}, "confirmatory"),
        ({}, {"contrast": "k=1-2"}, "exploratory"),
        ({}, {"measure": "score"}, "exploratory"),
        ({}, {"level": 0.9}, "exploratory"),
        ({}, {"where": None}, "exploratory"),
        ({"complete": False}, {}, "exploratory"),
        ({"reasons": ("why",)}, {}, "exploratory"),
        ({"deviations": (SEEDS,)}, {}, "exploratory"),
        ({"deviations": (RunDeviation("policy", "x"),)}, {}, "confirmatory"),
    ],
)
def test_only_the_registered_question_is_confirmatory(more: Any, asked: Any, label: str) -> None:
    question = {"measure": "cooperation", "contrast": "k=2-1", "where": {"game": ["pd"]}, "level": 0.95, **asked}
    assert run(**more).label(None, AskedContrast(**question)) == label  # type: ignore[arg-type]
    looked = run(**more)
    looked.registration.sample.interval = "anytime"  # type: ignore[misc]
    assert looked.label(None, AskedContrast(**question)) == "exploratory"  # type: ignore[arg-type]


def test_the_heading_and_the_lines_of_a_run() -> None:
    assert run().lines == ["Confirmatory, no deviation found; registration 0123456789abcdef of today."]
    lines = run(complete=False, reasons=("it rained",), deviations=(SEEDS,), others=("s", "t")).lines
    assert lines[0].startswith(
        "Exploratory, not complete: its registered contrasts are judged when it is, 1 deviation;"
    )
    assert lines[1:] == [
        "Exploratory because it rained.", "Deviation (seeds): 5 registered, 6 in the run.",
        "Bound to the same registration too: s and t.",
    ]  # fmt: skip
    assert RegistrationStatus().document == {} and _names(()) == "none" and _names(("a", "b")) == "a and b"
    assert [one.text for one in _several("study", list("abcdefg"))] == [*"abcde", "and 2 more"]
    assert len(list(_several("study", list("abcde")))) == 5


@pytest.mark.parametrize(
    ("states", "shard", "goes_on"),
    [
        ({"done": 3, "failed": 1}, None, False),
        ({"done": 2, "skipped": 1, "withdrawn": 1}, None, False),
        ({"done": 3}, None, True),
        ({"done": 3, "running": 1}, None, True),
        ({"done": 4}, "1/2", True),
    ],
)
def test_a_run_goes_on_until_every_match_has_ended(states: dict[str, int], shard: Any, goes_on: bool) -> None:
    rows = [{"state": state, "n": n} for state, n in states.items()]
    data: Any = SimpleNamespace(manifest={"shard": shard}, study={}, planned=4, records=lambda _: rows)
    assert _open_matches(data) == goes_on


def test_what_is_left_out_of_a_run_is_counted() -> None:
    answers = [
        [{"state": "done", "n": 2}, {"state": "failed", "n": 1}], [{"policy": 1, "missed": 2}], [{"n": 3}],
    ]  # fmt: skip
    data: Any = SimpleNamespace(planned=5, records=lambda _: answers.pop(0))
    assert [(one.kind, one.text) for one in _left_out(data)] == [
        ("matches", "3 of 5 are left out (1 failed, 2 not begun)"),
        ("policy", "1 answer by policy in place of a model's own"),
        ("missed", "2 decisions not taken in time"), ("cache", "3 replies from a cache, so from another run"),
    ]  # fmt: skip
    answers += [[{"state": "done", "n": 5}], [{"policy": 0, "missed": 0}], [{"n": 0}]]
    assert list(_left_out(data)) == []


def test_a_registered_run_as_plain_data() -> None:
    data = run(deviations=(SEEDS,), reasons=("late",), results=(), others=("x",)).as_dict()
    assert {key: data[key] for key in data if key != "limits"} == {
        "run": "r", "hash": "0123456789abcdef99", "created": "today", "status": data["status"], "complete": True,
        "reasons": ["late"], "deviations": [SEEDS.as_dict()], "contrasts": [], "others": ["x"],
    }  # fmt: skip
    assert data["limits"] and run(results=()).as_dict()["others"] == []
