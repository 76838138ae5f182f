"""Measures of games with amounts, in runs whose figures are known."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.games import games
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.steps import can_end
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


@contextmanager
def played(runs: Path, game: Any, types: dict[str, str], mechanism: Any = "none", **more: Any) -> Iterator[RunData]:
    study = {"name": "run", "game": game, "mechanism": mechanism, "types": types, "seating": "seats", **more}
    assert play(load_study(study), runs=runs).complete
    with open_run("run", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def values(data: RunData, measure: str, *by: str) -> dict[tuple[Any, ...], float]:
    return {tuple(e.key.values()): e.value for e in estimate(data, measure, by)}


def well() -> Game:
    """A stock of 60 that nobody can take more than 20 of, with names of its own; dry below 10."""

    def play(now: Now) -> Stages:
        water = now.state.get("water", 60)
        taken = yield [Due(seat, "pump", Amounts(0, 20), {"water": water}) for seat in range(2)]
        left = max(0, water - sum(map(int, taken)))
        return End(
            [float(t) for t in taken],
            {"stock": water, "sustainable": 24, "note": "x" * 201, "taken": list(taken), "sky": "clear"},
            {"water": left + 4},
            over="dry" if left < 10 else None,
        )

    return FunctionGame("well", (Amounts(0, 20),) * 2, play, stages=("pump",), stateful=True)


@pytest.fixture
def a_well() -> Iterator[None]:
    games.add("well", well)
    yield
    games.remove("well")


@pytest.mark.usefixtures("a_well")
def test_a_stock_game_with_other_names_is_measured_by_what_it_states(tmp_path: Path) -> None:
    rounds = {"name": "repetition", "rounds": 4}
    types = {"a": "threshold:20", "b": "threshold:12"}
    with played(tmp_path / "gone", "well", types, rounds) as data:
        # 60 - 32 = 28, and 4 more; 32 - 32 = 0 is dry.
        assert values(data, "stock_by_round", "round") == {(1,): 60, (2,): 32}
        assert values(data, "survival") == {(): 0} and values(data, "survival_time") == {(): 2}
        assert values(data, "over_use", "agent") == {("a",): 1, ("b",): 0}
        rows = data.records("SELECT round, player, facts FROM decisions ORDER BY round, player")
        # Numbers and short texts, once a round.
        assert [(r["round"], r["player"]) for r in rows if r["facts"]] == [(1, 2), (2, 2)]
        assert orjson.loads(rows[1]["facts"]) == {"stock": 60, "sustainable": 24, "sky": "clear"}
    with played(tmp_path / "kept", "well", {"a": "threshold:5", "b": "threshold:0"}, rounds) as data:
        assert values(data, "survival") == {(): 1} and values(data, "survival_time") == {(): 4}


@pytest.mark.parametrize("measure", ["survival", "survival_time"])
def test_a_game_that_cannot_end_early_has_no_survival(measure: str, tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match=f"measure {measure}: no match of run can end early")
    types = {"a": "threshold:10", "b": "threshold:0"}
    with played(tmp_path / "ultimatum", "ultimatum", types) as data, refused:
        values(data, measure)
    once = {f"p{seat}": "proportional:0.1" for seat in range(5)}
    with played(tmp_path / "once", "common_pool", once) as data, pytest.raises(UsageError, match="end early"):
        values(data, measure)


@pytest.mark.parametrize(("last", "ends"), [(5, True), (10**6, False)])
def test_a_stock_that_never_ends_is_told_from_one_that_can(last: int, ends: bool) -> None:
    def play_round(now: Now) -> Stages:
        yield [Due(0, "take", Amounts(0, 9))]
        over = "gone" if now.round == last else None
        return End((0.0,), state={"rounds": now.round}, over=over)

    game = FunctionGame("well", (Amounts(0, 9),), play_round, stages=("take",), stateful=True)
    assert can_end(game) is ends


def test_a_stock_that_is_gone_after_one_round_says_so(tmp_path: Path) -> None:
    types = {f"p{seat}": "proportional:1" for seat in range(5)}
    with played(tmp_path, "common_pool", types) as data:
        facts = data.records("SELECT DISTINCT facts FROM matches")
    assert [orjson.loads(row["facts"])["over"] for row in facts] == ["collapse"]


@pytest.mark.parametrize(
    ("measure", "fact"), [("stock_by_round", "stock"), ("over_use", "sustainable"), ("revenue", "price")]
)
def test_what_no_game_states_is_not_measured(measure: str, fact: str, tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match=f"measure {measure}: no game of run states '{fact}'")
    with played(tmp_path, "ultimatum", {"a": "threshold:10", "b": "threshold:0"}) as data, refused:
        values(data, measure)
