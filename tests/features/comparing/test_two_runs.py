"""`ostrom compare NEW OLD`: verdicts by guaranteed bounds, what would decide, and pairs across models."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, Done, caller

from ostrom.analysis.estimate import estimated
from ostrom.analysis.intervals import exactly, mean_of, paired_difference_of
from ostrom.costs.seeds import SeedPrice
from ostrom.features.comparing import two_runs
from ostrom.features.comparing.two_runs import _verdict, _with_price, compare_runs
from ostrom.models.providers import scripted

STUDY: dict[str, Any] = {
    "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 4},
    "agent": {"style": "direct"}, "types": {"b": "cooperator"}, "seating": "unordered", "seeds": 12,
}  # fmt: skip


def _next(replies: Iterator[str], _: Any) -> str:
    return next(replies)


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    folder = tmp_path_factory.mktemp("two")
    (folder / "s.yaml").write_text(yaml.safe_dump(STUDY))
    with pytest.MonkeyPatch.context() as patch:
        made = caller(patch, folder)
        for name, pattern in (("kind", "000000001"), ("hard", "111111110"), ("same", "000000100")):
            replies = iter([f"[A{mark}]" for mark in pattern * 200])
            scripted.register(name, partial(_next, replies))
            done = made("run", "s.yaml", "--model", f"scripted/{name}", "--name", name)
            assert done.code == 0, done.err
        yield made


def told(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


def test_runs_with_other_models_pair_and_are_judged(call: Call) -> None:
    made = told(call("compare", "hard", "kind", "--where", "agent={model}", "--json"))
    (one,) = made["differences"]
    # A match with itself and one with `b` for every seed: nothing is drawn, so no two matches share anything.
    assert one["n"] == 48 and one["method"].startswith("Welch") and one["verdict"] == "worse" and one["value"] < -0.5
    assert one["verdict_low"] < one["low"] and one["verdict_high"] > one["high"] and not one["approximate"]
    assert made["changed"] == [{"key": "models", "new": "scripted/hard", "old": "scripted/kind"}]
    back = told(call("compare", "kind", "hard", "--where", "agent={model}", "--json"))["differences"][0]
    assert back["verdict"] == "better" and back["value"] == -one["value"]
    less = told(call("compare", "hard", "kind", "--where", "agent={model}", "--lower-is-better", "--json"))
    assert less["differences"][0]["verdict"] == "better"


@pytest.mark.slow
def test_a_measure_without_bounds_is_judged_approximately(call: Call) -> None:
    made = told(call("compare", "hard", "kind", "--measure", "score", "--where", "agent={model}", "--json"))
    assert made["differences"][0]["verdict"] == "worse" and "equivalent: the bounds" in made["control"]
    sql = told(call("compare", "hard", "kind", "--where", "agent <> 'b'", "--json"))
    assert sql["differences"][0]["n"] == 48


def test_wrong_use_is_one_line(call: Call) -> None:
    for arguments, words in (
        (("kind", "hard", "--margin", "0"), "--margin must be a positive number"),
        (("kind", "hard", "--margin", "inf"), "--margin must be a positive number"),
        (("kind", "--margin", "0.1"), "need a second run"),
        (("kind", "--where", "agent=b"), "need a second run"),
        (("kind", "--lower-is-better"), "need a second run"),
        (("kind", "hard", "--where", "agent=x"), "agent has no level 'x'"),
        (("kind", "hard", "--where", "seed > 99"), "no match that is asked for has a value in both runs"),
    ):
        done = call("compare", *arguments)
        assert done.code == 2 and words in done.err and done.err.count("\n") == 1, (arguments, done.err)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(0.0, "equivalent"), (0.05, "equivalent"), (-0.05, "equivalent"), (0.06, "better"), (-0.06, "worse")],
)
def test_exact_differences_are_judged_as_they_are(value: float, answer: str) -> None:
    one = estimated({}, exactly(value), 9, "match")
    assert _verdict(one, 0.05, 0.95, 0.95, lower_is_better=False).answer == answer
    other = {"better": "worse", "worse": "better"}.get(answer, answer)
    assert _verdict(one, 0.05, 0.95, 0.95, lower_is_better=True).answer == other


def test_what_would_decide_is_the_nearest_of_three_verdicts() -> None:
    first, second = [0.9, 0.6, 1.0, 0.5] * 3, [0.8, 0.8, 0.6, 0.7] * 3
    one = estimated({}, paired_difference_of(first, second, bounds=(0, 1)), 12, "match")
    verdict = _verdict(one, 0.05, 0.95, 0.95, lower_is_better=False)
    assert verdict.answer == "undecided"
    prices = SeedPrice(1, 1, 10, 1, 1.0), SeedPrice(1, 1, 4, 1, 2.0)
    made = _with_price(verdict, one, 0.05, 0.95, (6, 8), prices)
    assert one.inference is not None
    needed = math.ceil(6 * one.inference.smallest_multiple(lambda ends: ends[0] > 0 or ends[1] < 0, 0.95, 1000))
    assert made.seeds == needed > 8 and made.price is not None
    assert made.price.calls == 10 * (needed - 6) + 4 * (needed - 8) and made.price.usd == (needed - 6) + 2 * (
        needed - 8
    )
    assert made.words.startswith(f"undecided: about {needed} seeds in both runs (")
    assert _with_price(verdict, one, 0.05, 0.95, (6, 8), (None, prices[1])).price is None
    plain = estimated({}, mean_of([0.5, 0.6] * 30, bounds=(-1, 1)), 60, "match", compares=True)
    assert _with_price(verdict, plain, 0.05, 0.95, (6, 8), (None, None)).seeds == 7, "one more at the least"
    level = estimated({}, mean_of([1.0, -1.0] * 5, bounds=(-1, 1)), 10, "match")
    stuck = _with_price(_verdict(level, 1e-9, 0.95, 0.95, lower_is_better=False), level, 1e-9, 0.95, (6, 6), prices)
    assert stuck.seeds is None and stuck.words.endswith("not with this design")


def test_two_runs_are_compared_at_the_level_that_is_asked_for(call: Call) -> None:
    ask = ("compare", "same", "kind", "--where", "agent={model}", "--json")
    (usual,), (lower,) = (told(call(*ask, *level))["differences"] for level in ((), ("--level", "0.5")))
    assert (usual["level"], lower["level"]) == (0.95, 0.5)
    for end in ("", "verdict_"):  # the interval, and the wider bounds of the verdict
        assert usual[f"{end}low"] < lower[f"{end}low"] <= lower[f"{end}high"] < usual[f"{end}high"]


@pytest.mark.parametrize("many", [1, 2])
def test_verdicts_on_several_differences_hold_at_once(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.2 + 0.05 * (n % 3) for n in range(30)]
    one = estimated({}, mean_of(values, bounds=(-1.0, 1.0)), len(values), "match")
    monkeypatch.setattr(two_runs, "_values", lambda *_: None)
    monkeypatch.setattr(two_runs, "contrast", lambda *_, **__: [one] * many)
    monkeypatch.setattr(two_runs, "changes", lambda *_: [])
    query: Any = SimpleNamespace(part=SimpleNamespace(name="m"), by=())
    new, old = (SimpleNamespace(folder=Path(name), manifest={}, study={}) for name in ("new", "old"))
    found = compare_runs(new, old, query, 0.9)  # type: ignore[arg-type]
    sure = one.at(1 - 0.1 / many, guaranteed=True)
    assert {(verdict.low, verdict.high) for verdict in found.verdicts} == {(sure.low, sure.high)}
    assert sure.low is not None and len(found.verdicts) == many
