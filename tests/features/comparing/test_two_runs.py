"""`ostrom compare NEW OLD`: verdicts by guaranteed bounds, what would decide, and pairs across models."""

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


def told(done: Done, *codes: int) -> dict[str, Any]:
    assert done.code in (codes or (0, 1, 3)), done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


def test_runs_with_other_models_pair_and_are_judged(call: Call) -> None:
    made = told(call("compare", "hard", "kind", "--json"), 1)
    (one,) = made["differences"]
    # A match with itself and one with `b` for every seed: nothing is drawn, so no two matches share anything.
    assert one["n"] == 48 and one["method"].startswith("Welch") and one["verdict"] == "lower" and one["value"] < -0.5
    assert one["verdict_low"] < one["low"] and one["verdict_high"] > one["high"] and not one["approximate"]
    assert made["changed"] == [{"key": "models", "new": "scripted/hard", "old": "scripted/kind"}]
    # The script at the table did not change, so it is in no mean.
    assert made["agents"] == ["{model}"] and made["population"] == "{model}, changed" and one["agent"] == "{model}"
    back = told(call("compare", "kind", "hard", "--json"), 1)["differences"][0]
    assert back["verdict"] == "higher" and back["value"] == -one["value"]
    named = told(call("compare", "hard", "kind", "--where", "agent={model}", "--json"), 1)
    assert named["differences"][0]["value"] == one["value"] and named["population"] == "agents as asked for"


def test_better_and_worse_need_a_direction_and_set_the_exit_code(call: Call) -> None:
    for better, verdict, code in (("lower", "better", 0), ("higher", "worse", 1)):
        made = told(call("compare", "hard", "kind", "--better", better, "--json"), code)
        assert made["differences"][0]["verdict"] == verdict and made["answer"] == ("fail" if code else "pass")
    assert told(call("compare", "same", "kind", "--json", "--margin", "0.6"), 0)["answer"] == "pass"
    assert told(call("compare", "same", "kind", "--json", "--margin", "0.001"), 3)["answer"] == "undecided"
    shown = call("compare", "hard", "kind")
    assert shown.out.splitlines()[0] == "agents: {model}, changed" and shown.code == 1


def test_others_are_compared_where_they_are_asked_for(call: Call) -> None:
    every = told(call("compare", "hard", "kind", "--agents", "all", "--json"))
    assert {row["agent"] for row in every["differences"]} == {"{model}", "b"}
    script = next(row for row in every["differences"] if row["agent"] == "b")
    assert script["value"] == 0 and script["seeds_to_decide"] is None
    one = told(call("compare", "hard", "kind", "--agents", "scripted/hard", "--json"))
    assert [row["agent"] for row in one["differences"]] == ["{model}"] and one["population"] == "{model}, asked for"
    mean = told(call("compare", "hard", "kind", "--agents", "all", "--mean-over-agents", "--json"))
    assert mean["differences"][0]["averaged_over"] == {"agent": 2} and "agent" not in mean["differences"][0]
    cells = told(call("compare", "hard", "kind", "--by", "opponents", "--json"))["differences"]
    assert {(row["agent"], row["opponents"]) for row in cells} == {("{model}", "{model}"), ("{model}", "b")}


def test_verdicts_are_files_for_a_build_and_a_pull_request(call: Call) -> None:
    call("compare", "hard", "kind", "--junit", "c.xml", "--markdown", "c.md")
    assert 'failures="1"' in (xml := Path("c.xml").read_text()) and 'classname="ostrom.compare"' in xml
    text = Path("c.md").read_text()
    assert "| `agent: {model}` | `cooperation: hard minus kind` |" in text and "lower" in text
    refused = call("compare", "hard", "kind", "--junit", "nowhere/c.xml")
    assert refused.code == 2 and "there is no folder nowhere" in refused.err


@pytest.mark.slow
def test_a_measure_without_bounds_is_judged_approximately(call: Call) -> None:
    made = told(call("compare", "hard", "kind", "--measure", "score", "--where", "agent={model}", "--json"))
    assert made["differences"][0]["verdict"] == "lower" and "equivalent: the bounds" in made["control"]
    sql = told(call("compare", "hard", "kind", "--where", "agent <> 'b'", "--json"))
    assert sql["differences"][0]["n"] == 48


def test_wrong_use_is_one_line(call: Call) -> None:
    for arguments, words in (
        (("kind", "hard", "--margin", "0"), "--margin must be a positive number"),
        (("kind", "hard", "--margin", "inf"), "--margin must be a positive number"),
        (("kind", "--margin", "0.1"), "--margin needs a second run"),
        (("kind", "--where", "agent=b"), "--where needs a second run"),
        (("kind", "--better", "lower"), "--better needs a second run"),
        (("kind", "hard", "--better", "less"), "--better must be higher or lower (found 'less')"),
        (("kind", "hard", "--lower-is-better"), "was removed in 2.0"),
        (("kind", "hard", "--agents", "nobody"), "nobody"),
        (("kind", "hard", "--where", "agent=x"), "agent has no level 'x'"),
        (("kind", "hard", "--where", "seed > 99"), "no match that is asked for has a value in both runs"),
    ):
        done = call("compare", *arguments)
        assert done.code == 2 and words in done.err and done.err.count("\n") == 1, (arguments, done.err)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(0.0, "equivalent"), (0.05, "equivalent"), (-0.05, "equivalent"), (0.06, "higher"), (-0.06, "lower")],
)
def test_exact_differences_are_judged_as_they_are(value: float, answer: str) -> None:
    one = estimated({}, exactly(value), 9, "match")
    assert _verdict(one, 0.05, 0.95, 0.95).answer == answer
    for better in ("higher", "lower"):
        word = {"equivalent": "equivalent", better: "better"}.get(answer, "worse")
        assert _verdict(one, 0.05, 0.95, 0.95, better).answer == word


def test_what_would_decide_is_the_nearest_of_three_verdicts() -> None:
    first, second = [0.9, 0.6, 1.0, 0.5] * 3, [0.8, 0.8, 0.6, 0.7] * 3
    one = estimated({}, paired_difference_of(first, second, bounds=(0, 1)), 12, "match")
    verdict = _verdict(one, 0.05, 0.95, 0.95)
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
    stuck = _with_price(_verdict(level, 1e-9, 0.95, 0.95), level, 1e-9, 0.95, (6, 6), prices)
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
    monkeypatch.setattr(two_runs, "_values", lambda *_: SimpleNamespace(rows=()))
    monkeypatch.setattr(two_runs, "contrast", lambda *_, **__: [one] * many)
    monkeypatch.setattr(two_runs, "changes", lambda *_: [])
    monkeypatch.setattr(two_runs, "compared_agents", lambda *_: two_runs.ComparedAgents((), ""))
    monkeypatch.setattr(two_runs, "split_by", lambda *_, **__: ())
    part = SimpleNamespace(name="m", better="")
    query: Any = SimpleNamespace(measure_object=part, by=(), agents=(), mean_over_agents=False)
    new, old = (SimpleNamespace(folder=Path(name), manifest={}, study={}) for name in ("new", "old"))
    found = compare_runs(new, old, query, 0.9)  # type: ignore[arg-type]
    sure = one.at_level(1 - 0.1 / many, guaranteed=True)
    assert {(verdict.low, verdict.high) for verdict in found.verdicts} == {(sure.low, sure.high)}
    assert sure.low is not None and len(found.verdicts) == many


def test_a_model_that_falls_is_lower_whoever_sits_at_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From .70 to .62 beside two scripts that are the same in both runs: their mean would differ by a third of it."""
    study = {**STUDY, "types": {"kind": "cooperator", "hawk": "defector"}, "seeds": 20, "seating": "ordered",
             "mechanism": {"name": "repetition", "rounds": 10}}  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))
    made = caller(monkeypatch, tmp_path)
    for name, kind in (("old", 35), ("new", 31)):
        marks = [i * kind % 50 < kind for i in range(50)]  # spread evenly, so that every match has about the share
        replies = iter([f"[A{int(not mark)}]" for mark in marks * 100])
        scripted.register(name, partial(_next, replies))
        assert made("run", "s.yaml", "--model", f"scripted/{name}", "--name", name).code == 0
    done = made("compare", "new", "old", "--json")
    (one,) = told(done, 1)["differences"]
    assert one["verdict"] == "lower" and one["value"] == pytest.approx(-0.08, abs=0.01)
    assert (
        told(made("compare", "new", "old", "--better", "higher", "--json"), 1)["differences"][0]["verdict"] == "worse"
    )
    shown = made("compare", "new", "old")
    assert shown.out.startswith("agents: {model}, changed\n") and "lower" in shown.out and shown.code == 1
    every = told(made("compare", "new", "old", "--agents", "all", "--json"))["differences"]
    assert {row["agent"]: row["seeds_to_decide"] for row in every if row["agent"] != "{model}"} == {
        "kind": None, "hawk": None,
    }  # fmt: skip
