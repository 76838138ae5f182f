"""`ostrom gate --until-decided`: whole seeds within the budget, until all pass or one fails, and what it says."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from tests.cli.in_process import Call, Done, caller

from ostrom.costs.seeds import SeedPrice
from ostrom.engine.plan import Budget
from ostrom.features.gates.command import is_study
from ostrom.features.gates.gates import GateReport, GateResult, GateRule
from ostrom.features.gates.more_seeds import MOST_SEEDS, next_look, until_decided
from ostrom.ground.errors import UsageError
from ostrom.models.providers import scripted

STUDY = {
    "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 5},
    "types": {"a": "random:0.95"}, "seeds": 6,
}  # fmt: skip
KIND = {"name": "kind", "measure": "cooperation", "at_least": 0.8}
ONE = SeedPrice(1, 2, 10, 100, 0.5, 0.25)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(STUDY))
    (tmp_path / "g.yaml").write_text(yaml.safe_dump({"gates": [KIND]}))
    return caller(monkeypatch, tmp_path)


def told(done: Done) -> dict[str, Any]:
    assert done.out, done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


@pytest.mark.slow
def test_a_study_is_played_until_its_gate_is_decided_and_gone_on_with(call: Call) -> None:
    asked = ("gate", "s.yaml", "--gates", "g.yaml", "--json")
    first = call(*asked)
    made = told(first)
    assert first.code == 3 and made["decision"] == "not yet" and made["answer"] == "undecided"
    more = made["judged"][0]["more"]
    assert more == made["more"]["seeds"] > 0 and made["more"]["usd"] == 0.0 and made["more"]["calls"] == 0
    assert f"about {more} seeds more (no calls) would decide" in made["judged"][0]["reason"]
    done = call(*asked, "--until-decided", "--most-seeds", "200")
    made = told(done)
    seeds = [look["seeds"] for look in made["looks"]]
    assert done.code == 0 and made["decision"] == "deploy" and made["why"] == "decided" and made["more"] is None
    assert seeds[0] == 6 and all(a < b <= 2 * a for a, b in pairwise(seeds))
    assert [look["answer"] for look in made["looks"]] == ["undecided"] * (len(seeds) - 1) + ["pass"]
    study = json.loads(Path("runs/s/run.json").read_bytes())["study"]
    assert study["seeds"] == seeds[-1] and made["judged"][0]["estimate"]["n"] == seeds[-1]
    again = told(call(*asked, "--until-decided", "--most-seeds", "200"))
    assert [look["seeds"] for look in again["looks"]] == seeds[-1:]
    shown = call("gate", "s", "--gates", "g.yaml")
    assert "deploy: 1 gate passed" in shown.out


def test_the_largest_number_of_seeds_ends_it_undecided(call: Call) -> None:
    done = call("gate", "s.yaml", "--gates", "g.yaml", "--until-decided", "--most-seeds", "7")
    assert done.code == 3 and done.out.startswith("not yet: 1 of 1 gate undecided (kind); about")
    assert "stopped: the largest number of seeds is reached (7 seeds)" in done.err


@pytest.mark.slow
def test_a_budget_of_calls_is_kept_and_whole_seeds_are_judged(call: Call) -> None:
    replies = iter(["[A0]", "[A0]", "[A1]"] * 1000)
    scripted.register("mixed", lambda request: next(replies))
    study = {**STUDY, "name": "m", "agent": {"style": "direct"}, "types": {"a": "scripted/mixed"}, "seeds": 4}
    Path("m.yaml").write_text(yaml.safe_dump({**study, "mechanism": {"name": "repetition", "rounds": 2}}))
    Path("h.yaml").write_text(yaml.safe_dump({"gates": [{**KIND, "at_least": 0.66}]}))
    done = call("gate", "m.yaml", "--gates", "h.yaml", "--until-decided", "--budget-calls", "43", "--json")
    made = told(done)
    # A seed is one match of two rounds and two players: four calls, so ten whole seeds fit into 43.
    assert done.code == 3 and [look["seeds"] for look in made["looks"]] == [4, 8, 10], made["looks"]
    assert made["why"] == "the budget allows no further seed (10 seeds)"
    assert json.loads(Path("runs/m/run.json").read_bytes())["study"]["seeds"] == 10


def test_wrong_use_is_one_line(call: Call) -> None:
    assert call("run", "s.yaml").code == 0
    loose = {"gates": [{**KIND, "approximate": True}]}
    Path("loose.yaml").write_text(yaml.safe_dump(loose))
    stop = {"measure": "cooperation", "contrast": "agent=a-b", "width": 0.1, "at_most": 9}
    Path("stop.yaml").write_text(
        yaml.safe_dump({**STUDY, "types": {"a": "random:0.9", "b": "random:0.8"}, "stop": stop, "name": "z"})
    )
    until = ("--until-decided", "--most-seeds", "9")
    for arguments, words in (
        (("s", "--gates", "g.yaml", "--until-decided"), "needs a budget"),
        (("s", "--gates", "loose.yaml", *until), "its error rate would grow with every look"),
        (("s.yaml", "--gates", "loose.yaml", *until), "loose.yaml: gate 'kind': is approximate"),
        (("s", "--gates", "g.yaml", "--most-seeds", "9"), "--most-seeds: needs --until-decided"),
        (("s.yaml", "--gates", "g.yaml", "--dry-run", *until), "leave one of them out"),
        (("s", "--gates", "g.yaml", "--seeds", "9", *until), "is a run, which --seeds cannot change"),
        (("stop.yaml", "--gates", "g.yaml", *until), "stops by a rule of its own"),
    ):
        done = call("gate", *arguments)
        assert done.code == 2 and words in done.err and "Traceback" not in done.err, (arguments, done)
    assert not Path("runs/z").exists()


def judgement(answer: str, more: float | None, price: SeedPrice | None = ONE) -> GateReport:
    gate = GateRule(name="g", measure="cooperation", at_least=0.5)
    judged = GateResult(gate, answer, None, {}, "why", None, more=more if answer == "undecided" else None)  # type: ignore[arg-type]
    return GateReport((judged,), 0.95, "control", price=price)


def sequence(*found: GateReport) -> Callable[[], GateReport]:
    left = iter(found)
    return lambda: next(left)


def complete(played: list[int], stop_at: int = 10**9) -> Callable[[int], Any]:
    def play(seeds: int) -> Any:
        played.append(seeds)
        return SimpleNamespace(complete=seeds < stop_at, why="the budget is spent", interrupted=seeds > 2 * stop_at)

    return play


def test_looks_end_where_a_gate_fails_or_more_seeds_do_not_help() -> None:
    played: list[int] = []
    wait = judgement("undecided", 100)
    ended = until_decided(Path("r"), 5, sequence(wait, judgement("fail", None)), complete(played), Budget(), 50)
    assert played == [10] and ended.verdict.answer == "fail" and ended.why == "decided"
    for stuck in (judgement("undecided", None), judgement("undecided", 5, None)):
        ended = until_decided(Path("r"), 5, sequence(stuck), complete(played), Budget(), 50)
        assert ended.why.endswith("more seeds cannot decide what is undecided") and played == [10]


def test_seeds_that_are_not_complete_are_not_judged() -> None:
    played: list[int] = []
    wait = judgement("undecided", 2)
    ended = until_decided(Path("r"), 5, sequence(wait, wait), complete(played, 9), Budget(), 50)
    assert played == [7, 9] and [look.seeds for look in ended.looks] == [5, 7] and not ended.interrupted
    assert ended.why == "seeds 8 to 9 are not complete (the budget is spent), and are not judged"
    ended = until_decided(Path("r"), 5, sequence(wait), complete([], 3), Budget(), 50)
    assert ended.interrupted


def test_a_budget_that_never_binds_ends_too() -> None:
    free = SeedPrice(1, 1, 0, 0, 0.0)
    ended = until_decided(
        Path("r"), MOST_SEEDS, sequence(judgement("undecided", math.inf, free)), complete([]), Budget(calls=1), None
    )
    assert ended.why == f"the largest number of seeds is reached ({MOST_SEEDS} seeds)"


@pytest.mark.parametrize(
    ("budget", "seeds"), [(Budget(usd=4.0), 8), (Budget(calls=65), 6), (Budget(tokens=910, usd=100.0), 9)]
)
def test_the_next_look_is_what_the_budget_allows(budget: Budget, seeds: int) -> None:
    played: list[int] = []
    wait = judgement("undecided", 100)
    until_decided(Path("r"), 5, sequence(wait, wait), complete(played), budget, None)
    assert played == [seeds]


def test_seeds_have_prices() -> None:
    three = ONE.times(3)
    assert (three.seeds, three.matches, three.calls, three.tokens, three.usd) == (3, 6, 30, 300, 1.5)
    both = three.plus(ONE.times(2))
    assert (both.seeds, both.matches, both.calls, both.tokens, both.usd) == (3, 10, 50, 500, 2.5)
    assert three.plus(replace(ONE, usd=None)).usd is None and ONE.affordable(Budget()) == math.inf
    assert (
        three.words == "30 calls, 1.50 USD, 0.75 hours"
        and replace(three, usd=None).words == "30 calls, price unknown, 0.75 hours"
    )
    assert three.as_dict() == {"seeds": 3, "matches": 6, "calls": 30, "tokens": 300, "usd": 1.5, "hours": 0.75}


def test_the_next_look_never_doubles_more_than_once() -> None:
    assert [next_look(8, more, 100) for more in (0.2, 3, 7.5, 8, 900, math.inf)] == [9, 11, 16, 16, 16, 16]
    assert next_look(8, 3, 10) == 10


ASKED: dict[str, Any] = {"name": "g", "measure": "cooperation"}


@pytest.mark.parametrize(
    ("bound", "low", "high", "answer"),
    [
        ({"at_least": 0.5}, 0.5, 0.9, "pass"), ({"at_least": 0.5}, 0.5 - 1e-6, 0.9, "undecided"),
        ({"at_least": 0.5}, 0.1, 0.5, "undecided"), ({"at_least": 0.5}, 0.1, 0.5 - 1e-6, "fail"),
        ({"at_most": 0.5}, 0.1, 0.5, "pass"), ({"at_most": 0.5}, 0.1, 0.5 + 1e-6, "undecided"),
        ({"at_most": 0.5}, 0.5, 0.9, "undecided"), ({"at_most": 0.5}, 0.5 + 1e-6, 0.9, "fail"),
        ({"between": (0.2, 0.4)}, 0.2, 0.4, "pass"), ({"between": (0.2, 0.4)}, 0.1, 0.4, "undecided"),
        ({"between": (0.2, 0.4)}, 0.5, 0.6, "fail"), ({"between": (0.2, 0.4)}, 0.0, 0.1, "fail"),
        ({"within": 0.1, "contrast": "agent=a-b"}, -0.1, 0.1, "pass"),
        ({"within": 0.1, "contrast": "agent=a-b"}, -0.2, 0.1, "undecided"),
        ({"within": 0.1, "contrast": "agent=a-b"}, -0.3, -0.2, "fail"),
    ],
)  # fmt: skip
def test_an_interval_passes_fails_or_leaves_it_open(
    bound: dict[str, Any], low: float, high: float, answer: str
) -> None:
    assert GateRule(**ASKED, **bound).verdict(low, high) == answer


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ({}, "exactly one of at_least, at_most, between, within"),
        ({"at_least": 0.1, "at_most": 0.2}, r"found at_least and at_most"),
        ({"within": 0.1}, "within is for a difference"),
        ({"between": (0.4, 0.2)}, r"in order \(found 0.4 and 0.2\)"),
        ({"between": (0.4, math.inf)}, "two numbers in order"),
        ({"between": (math.nan, 0.4)}, "two numbers in order"),
        ({"within": 0.0, "contrast": "agent=a-b"}, "greater than 0"),
        ({"at_least": 0.1, "missing": 1.0}, "less than 1"),
    ],
)
def test_a_gate_has_one_bound_that_means_something(bound: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        GateRule(**ASKED, **bound)


def test_a_name_is_a_study_where_it_is_a_file_or_a_built_in_one_without_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "runs"
    for name in ("memory", "mine"):
        (runs / name).mkdir(parents=True)
        (runs / name / "run.json").write_text("{}")
    Path("s.yaml").write_text("")
    some = {"seeds": 3}
    assert is_study("s.yaml", runs, {}) and is_study("personas", runs, {}) and is_study("memory", runs, some)
    assert not is_study("memory", runs, {}) and not is_study("mine", runs, {}) and not is_study("no", runs, {})
    with pytest.raises(UsageError, match="mine: is a run, which --until-decided cannot change"):
        is_study("mine", runs, {"until_decided": True})
