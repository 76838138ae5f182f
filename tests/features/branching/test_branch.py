"""Branches: the parent's answers up to a round, then live, as a run that says where it comes from."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.engine.plan import Budget
from ostrom.engine.rows import Row
from ostrom.features.branching.branch import BranchResult, branch, continuations
from ostrom.ground.errors import OstromError, StudyError, UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.fork import ForkPoint
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

DUEL: dict[str, Any] = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 12, "noise": 0.15},
    "types": {"a": "tit_for_tat", "b": "win_stay_lose_shift"},
    "seating": "seats",
    "seeds": 3,
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    play(load_study(DUEL), runs=tmp_path)
    return tmp_path


def fork(runs: Path, *changes: str, match: int = 1, at: int = 5, run: str = "duel", **more: Any) -> BranchResult:
    with open_run(run, runs) as parent:
        return branch(parent, match, at, changes, runs=runs, **more)


def decisions(runs: Path, run: str | Path, match: int) -> list[Row]:
    with open_run(run, runs) as opened:
        return [row for row in opened.rows.decisions() if row["match"] == match]


def moves(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(r["step"], r["player"], r["answer"], r["action"], r["payoff"]) for r in rows]


@pytest.mark.parametrize("at", [1, 2, 7, 12])
@pytest.mark.parametrize("other", ["win_stay_lose_shift", "random:0.5"])
def test_with_no_change_the_match_goes_on_as_it_did(tmp_path: Path, at: int, other: str) -> None:
    play(load_study({**DUEL, "types": {"a": "tit_for_tat", "b": other}}), runs=tmp_path)
    done = fork(tmp_path, at=at)
    assert done.result.complete
    assert moves(decisions(tmp_path, done.folder, 0)) == moves(decisions(tmp_path, "duel", 1))


def test_a_changed_player_is_not_taken_for_an_unchanged_one_of_its_type(tmp_path: Path) -> None:
    data = {"name": "alike", "game": "prisoners_dilemma", "types": {"tft": "tit_for_tat"},
            "mechanism": {"name": "repetition", "rounds": 4}}  # fmt: skip
    play(load_study(data), runs=tmp_path)
    with open_run(tmp_path / "alike") as run:
        one = branch(run, 0, 2, ["strategy=defector"], seat=2, name="one", runs=tmp_path)
        both = branch(run, 0, 2, ["strategy=defector"], name="both", runs=tmp_path)
    agents = [(r["agent"], r["copied"]) for r in decisions(tmp_path, one.folder, 0)[:4]]
    assert agents == [("tft", True), ("tft", True), ("tft", False), ("tft (strategy=defector)", False)]
    agents = [(r["agent"], r["strategy"]) for r in decisions(tmp_path, both.folder, 0)]
    assert agents == [("tft", "tit_for_tat")] * 2 + [("tft (strategy=defector)", "defector")] * 6


def test_a_name_that_says_what_a_seat_changes_is_not_kept_by_a_branch_that_changes_it(tmp_path: Path) -> None:
    data = {"name": "seats", "game": "prisoners_dilemma", "types": {"tft": "tit_for_tat"},
            "mechanism": {"name": "repetition", "rounds": 4}, "seats": {2: {"memory": "window:1"}}}  # fmt: skip
    play(load_study(data), runs=tmp_path)
    with open_run(tmp_path / "seats") as run:
        done = branch(run, 0, 2, ["memory=window:2"], name="two", runs=tmp_path)
    agents = [r["agent"] for r in decisions(tmp_path, done.folder, 0)]
    assert agents[:2] == ["tft", "tft (memory=window:1)"]
    assert set(agents[2:]) == {"tft (memory=window:2)", "tft (memory=window:1) (memory=window:2)"}


def test_replicates_share_the_past_and_differ_afterwards(runs: Path) -> None:
    done = fork(runs, "strategy=random:0.5", seeds=6)
    each = [decisions(runs, done.folder, k) for k in range(6)]
    assert len({tuple(moves([r for r in rows if r["copied"]])) for rows in each}) == 1
    assert len({tuple(moves(rows)) for rows in each}) == 6
    # The trembling hand of the past is the parent's in every replicate.
    past = {tuple(r["action"] for r in rows if r["copied"]) for rows in each}
    assert past == {tuple(r["action"] for r in decisions(runs, "duel", 1) if r["round"] < 5)}


def test_rounds_can_be_added_after_the_last_one(runs: Path) -> None:
    done = fork(runs, "rounds=20", at=13)
    rows = decisions(runs, done.folder, 0)
    assert max(r["round"] for r in rows) == 20
    assert moves(rows[:24]) == moves(decisions(runs, "duel", 1))


def test_a_factor_that_is_overridden_no_longer_claims_its_level(tmp_path: Path) -> None:
    study = {
        **DUEL,
        "agent": {"memory": {"name": "window", "k": 1}},
        "vary": {"history_length": {"set": "agent.memory.k", "to": [1, 6]}},
    }
    play(load_study(study), runs=tmp_path)
    for change, seat, label in [
        ("memory.k=3", None, 3), ("memory.k=3", 1, None), ("memory=full", None, None), ("rounds=12", None, 6),
    ]:  # fmt: skip
        done = fork(tmp_path, change, seat=seat)
        assert {r["history_length"] for r in decisions(tmp_path, done.folder, 0)} == {label}


def test_what_the_branch_changed_is_compared_with_the_parent(runs: Path) -> None:
    done = fork(runs, "strategy=cooperator", at=4)
    with open_run("duel", runs) as parent, open_run(done.folder) as made:
        rows = continuations(parent, made, done.origin)
        acts = [r for r in parent.rows.decisions() if r["match"] == 1 and r["player"] == 1]
    after = [r["cooperative"] for r in acts if r["round"] >= 4]
    assert rows[0].parent == pytest.approx(sum(after) / len(after))
    assert rows[0].before == pytest.approx(sum(r["cooperative"] for r in acts if r["round"] < 4) / 3)


class TestModels:
    @pytest.fixture(autouse=True)
    def model(self) -> Iterator[None]:
        self.prompts: list[str] = []

        def answer(request: Request) -> str:
            text = request.messages[0].content
            self.prompts.append(text)
            return "[A1]" if re.search(r"^R\d+:.*P\d=A1", text, re.M) else "[A0]"

        register("wary", answer)
        yield
        unregister("wary")

    def study(self) -> dict[str, Any]:
        agent = {"model": "scripted/wary", "style": "direct", "constrain": "never", "memory": "window:80"}
        return {**DUEL, "types": {"wary": agent, "probe": "defect_once"}, "seeds": 1}

    def test_only_the_rounds_after_the_branch_are_paid_for(self, tmp_path: Path) -> None:
        play(load_study(self.study()), runs=tmp_path)
        self.prompts.clear()
        done = fork(tmp_path, "memory=window:1", match=0, at=8, seat=1)
        assert done.result.tally.calls == 5 == len(self.prompts)
        assert all(len(re.findall(r"^R\d+:", p, re.M)) == 1 for p in self.prompts)

    def test_a_budget_stops_it_and_the_same_call_goes_on(self, tmp_path: Path) -> None:
        play(load_study(self.study()), runs=tmp_path)
        stopped = fork(tmp_path, match=0, at=8, budget=Budget(calls=2))
        assert not stopped.result.complete and "2 calls" in (stopped.result.why or "")
        again = fork(tmp_path, match=0, at=8)
        assert again.result.complete and again.result.tally.calls == 5


@pytest.mark.parametrize(
    ("changes", "more", "text"),
    [
        ((), {"at": 14}, "--at 14: match 1 of duel has rounds 1 to 12"),
        ((), {"at": 13}, "has rounds 1 to 12"),
        (("rounds=3",), {"at": 5}, "the match ends before round 5"),
        (("memry=window:2",), {}, "memry"),
        (("game=chicken",), {}, "cannot be changed in a branch"),
        (("memory",), {}, "write it as key=value"),
        (("memory=windw:2",), {}, "did you mean window"),
        (("strategy=grim",), {"seat": 3}, "players 1 to 2"),
        ((), {"seat": 1}, "no agent is changed"),
        ((), {"match": 3}, "there are 3 matches"),
    ],
)
def test_wrong_use_is_one_clear_line(runs: Path, changes: tuple[str, ...], more: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        fork(runs, *changes, **more)
    assert text in str(caught.value) and "\n" not in str(caught.value)
    assert [p.name for p in runs.iterdir()] == ["duel"]


def test_an_unfinished_match_cannot_be_branched(tmp_path: Path) -> None:
    register("mute", "I would rather not say.")
    agent = {"model": "scripted/mute", "style": "direct", "constrain": "never"}
    study = {**DUEL, "types": {"mute": agent, "b": "grim"}, "invalid": {"retries": 0, "policy": "fail"}}
    play(load_study(study), runs=tmp_path)
    with pytest.raises(UsageError, match=r"match 0 failed: .*; only finished matches can be forked"):
        fork(tmp_path, match=0)
    unregister("mute")


def test_another_branch_of_the_same_name_is_refused(runs: Path) -> None:
    fork(runs, "strategy=grim", name="mine")
    with pytest.raises(OstromError, match="holds another study"):
        fork(runs, "strategy=defector", name="mine")


def test_a_parameter_of_the_wrong_kind_is_named(runs: Path) -> None:
    with pytest.raises(StudyError, match=r"--set: agent\.style"):
        fork(runs, "model=scripted/x", "style=3")


def test_a_fork_begins_with_the_first_step_of_a_round_and_has_the_answers_before_it() -> None:
    steps: Any = [[SimpleNamespace(view=SimpleNamespace(round=number))] for number in (1, 1, 2, 4)]
    answers: Any = {(step, player, ""): None for step in range(4) for player in (0, 1)}
    point = ForkPoint(SimpleNamespace(), answers, steps, 3, None)  # type: ignore[arg-type]
    assert [point.step_of(number) for number in (1, 2, 3, 4, 5)] == [0, 2, 3, 3, None]
    assert sorted(point.before(2)) == [(0, 0, ""), (0, 1, ""), (1, 0, ""), (1, 1, "")]
