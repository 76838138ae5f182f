"""Measures and branches of a stock game that asks for amounts at two stages, against figures found by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.test_amount_measures import played, values

from ostrom.features.branching.branch import branch, continuations
from ostrom.games import games
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.studies.run import open_run

SUSTAINABLE = 9


def grove(first: str = "fell") -> Game:
    """Three fell and plant, or plant and fell; 60 trees lose what is felled and win what is planted, and never grow."""
    order = ("fell", "plant") if first == "fell" else ("plant", "fell")

    def play(now: Now) -> Stages:
        trees, named = now.state.get("trees", 60), {}
        for stage in order:
            named[stage] = yield [Due(seat, stage, Amounts(0, 20)) for seat in range(3)]
        left = trees - sum(map(int, named["fell"])) + sum(map(int, named["plant"]))
        stated: dict[str, Any] = {"stock": trees, "sustainable": SUSTAINABLE}
        return End(
            [float(f) - float(p) / 2 for f, p in zip(named["fell"], named["plant"], strict=True)],
            stated if first == "fell" else stated | {"taken_at": "fell"},
            state={"trees": left}, over="bare" if left <= 0 else None,
        )  # fmt: skip

    return FunctionGame(
        "grove", (Amounts(0, 20),) * 3, play, stages=order, turns=6, stateful=True, best_total=60.0,
        params={"first": first},
    )  # fmt: skip


@pytest.fixture(autouse=True)
def a_grove() -> Iterator[None]:
    games.add("grove", grove)
    yield
    games.remove("grove")


def script(fell: list[int], plant: list[int]) -> Any:
    return {"strategy": {"name": "script", "moves": {"fell": fell, "plant": plant}}}


@pytest.mark.parametrize("first", ["fell", "plant"])
def test_what_is_planted_is_not_taken(first: str, tmp_path: Path) -> None:
    types = {"a": script([3], [20]), "b": script([4, 3], [0]), "c": script([0], [20])}
    rounds = {"name": "repetition", "rounds": 2}
    with played(tmp_path, {"name": "grove", "first": first}, types, rounds) as data:
        assert values(data, "over_use", "agent") == {("a",): 0, ("b",): 0.5, ("c",): 0}


def test_reciprocity_is_a_slope_at_each_stage_on_the_mean_of_what_the_others_named(tmp_path: Path) -> None:
    fell = {"a": [0, 4, 2], "b": [2, 8, 2], "c": [6, 4, 8]}
    # a plants half of what b and c felled on average (4, 6, 5), c the whole of what a and b did (1, 6, 2).
    types = {"a": script(fell["a"], [2, 3, 2]), "b": script(fell["b"], [5]), "c": script(fell["c"], [1, 6, 2])}
    with played(tmp_path, "grove", types, {"name": "repetition", "rounds": 3}) as data:
        found = values(data, "reciprocity_slope", "agent", "stage")
    assert found == {
        ("a", "plant"): pytest.approx(0.5),
        ("b", "plant"): pytest.approx(0),
        ("c", "plant"): pytest.approx(1),
    }


def test_rounds_that_a_collapse_took_away_pay_nothing_in_a_branch_too(tmp_path: Path) -> None:
    types = {name: script([10, 10, 2], [0]) for name in "abc"}
    with played(tmp_path, "grove", types, {"name": "repetition", "rounds": 6}):
        pass
    with open_run("run", tmp_path) as parent:
        done = branch(parent, 0, 2, ['strategy={"name": "constant", "action": {"fell": 3, "plant": 0}}'], runs=tmp_path)
        with open_run(done.folder) as made:
            rows = continuations(parent, made, done.origin)
    # Bare after round 2: 10 in one of the five rounds from there on. The branch fells 9 a round: 30, 21, 12, 3, bare.
    assert [(r.before, r.parent) for r in rows] == [(10, 2)] * 3
    assert [r.branch for r in rows] == [pytest.approx(12 / 5)] * 3


def test_where_chance_ends_matches_only_the_rounds_that_were_lost_count(tmp_path: Path) -> None:
    types = {name: script([20], [0]) for name in "abc"}
    chance = {"name": "repetition", "rounds": 50, "told_continuation": 0.8, "stopping": "geometric"}
    with played(tmp_path, "grove", types, chance, seeds=6) as data:
        lost = data.records(
            "SELECT match, any_value(score) AS score, any_value(json_extract_string(facts, '$.unplayed')) AS unplayed "
            "FROM matches GROUP BY match ORDER BY match"
        )
        found = values(data, "efficiency", "match")
    assert any(0 < int(row["unplayed"]) < 49 for row in lost)
    for row in lost:
        rounds = 1 + int(row["unplayed"])
        assert row["score"] == pytest.approx(20 / rounds)
        assert found[row["match"],] == pytest.approx(1 / rounds)
