"""The tables of a joined run are those of the undivided run, byte for byte, whatever the number of shards."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batch_server import BatchServer
from tests.run_tables import tables

from ostrom.engine.plan import Budget
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy
from ostrom.engine.shards import MOST_SHARDS, Shard
from ostrom.features.joining import join_shards
from ostrom.ground.errors import UsageError
from ostrom.ground.validation import validate
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.server import LoopbackServer
from ostrom.testing.small_run import AMOUNTS

from .conftest import QUICK, SCRIPTED, asked, play_joined, play_whole

CLOCKS = ("id", "at", "latency")
"""Columns of calls that differ between any two runs."""


def plan_of(**changes: Any) -> StudyPlan:
    return StudyPlan(validate(StudyFile, {**SCRIPTED, **changes}, "test"))


def calls_of(folder: Path, out: Path) -> pl.DataFrame:
    """The table of calls without what clocks decide, in its own order."""
    from ostrom.data.tables import export_rows

    with open_run(folder) as run:
        export_rows(run.rows, "parquet", out)
    return pl.read_parquet(out / "calls.parquet").drop(*CLOCKS)


def same(joined: Path, undivided: Path, tmp_path: Path) -> bool:
    return tables(joined, tmp_path / "a") == tables(undivided, tmp_path / "b")


@pytest.mark.slow
@pytest.mark.parametrize("of", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("arrays", [True, False])
def test_scripted_matches(tmp_path: Path, of: int, arrays: bool) -> None:
    undivided = play_whole(SCRIPTED, tmp_path / "one", arrays=arrays)
    assert same(play_joined(SCRIPTED, tmp_path / "many", of, arrays=arrays), undivided, tmp_path)


def test_games_by_a_rule(tmp_path: Path) -> None:
    study = {**AMOUNTS, "name": "whole"}
    assert same(play_joined(study, tmp_path / "many", 5), play_whole(study, tmp_path / "one"), tmp_path)


@pytest.mark.slow
def test_shards_that_ask_in_batches_give_the_tables_of_a_run_that_asks_call_by_call(tmp_path: Path) -> None:
    polling = PollingPolicy(first=0.01, longest=0.05)
    with BatchServer() as server:
        undivided = play_whole(asked(server.model), tmp_path / "one")
        joined = play_joined(asked(server.model), tmp_path / "many", 3, batch=True, polling=polling)
        assert same(joined, undivided, tmp_path)
        assert len(server.batches.batches) >= 3
    calls = [calls_of(run, tmp_path / name).drop("source", "usd") for run, name in ((joined, "a"), (undivided, "b"))]
    assert calls[0].equals(calls[1])
    with open_run(joined) as run:
        assert {call["source"] for call in run.rows.calls()} == {"batch"}
        events = list(run.journal.batches())
        # Every shard has batches of its own, and no two have a number in common.
        assert len({number for number, *_ in events}) == sum(event == "planned" for _, _, event, *_ in events)


def test_a_shard_whose_matches_were_skipped_joins_with_their_reasons(tmp_path: Path) -> None:
    with LoopbackServer(lambda body: "I would rather not say") as server:
        study = validate(StudyFile, asked(
            server.model, mechanism="mediation", types={"a": {"model": server.model}}, seating="self",
            invalid={"retries": 0, "policy": "fail"},
        ), "test")  # fmt: skip
        play(study, runs=tmp_path / "one", options=PlayOptions(retry=QUICK))
        for number in (1, 2):
            play(study, runs=tmp_path / "many", options=PlayOptions(retry=QUICK, shard=f"{number}/2"))
    shards = sorted((tmp_path / "many").iterdir())
    assert not any(state.complete for state in join_shards("whole", shards, tmp_path / "many"))
    assert same(tmp_path / "many" / "whole", tmp_path / "one" / "whole", tmp_path)


# -- which units a shard has -----------------------------------------------------------------------------


@given(st.integers(1, 7), st.integers(1, 30), st.booleans())
@settings(max_examples=30)
def test_every_unit_belongs_to_exactly_one_shard(seeds: int, of: int, prepared: bool) -> None:
    mechanism = "mediation" if prepared else {"name": "repetition", "rounds": 2}
    vary = {"game": ["prisoners_dilemma", "stag_hunt"]} if prepared else SCRIPTED["vary"]
    plan = plan_of(seeds=seeds, mechanism=mechanism, vary=vary)
    parts = [plan.divided(Shard(number, of)) for number in range(1, of + 1)]
    units = Counter(unit.index for part in parts for unit in part.units())
    assert units == Counter(range(len(plan)))
    assert [part.planned for part in parts] == [sum(1 for _ in part.units()) for part in parts]
    assert sum(part.preparations for part in parts) == plan.preparations
    assert all(part.preparations == sum(unit.kind == "preparation" for unit in part.units()) for part in parts)
    for part in parts:
        own = {unit.index for unit in part.units()}
        assert all(set(unit.needs) <= own for unit in part.units())
        assert [unit.index for unit in part.units()] == [u.index for u in plan.units() if u.index in own]
    assert len(plan) == plan.planned and plan.shard is None  # dividing a plan leaves it as it is


def test_without_preparations_a_shard_plays_every_nth_match() -> None:
    plan = plan_of(seeds=3)
    assert {u.index for u in plan.divided(Shard(3, 5)).units()} == set(range(2, len(plan), 5))


def test_units_of_one_preparation_alone_are_not_divided() -> None:
    plan = plan_of(seeds=1, mechanism="mediation", vary={})
    with pytest.raises(UsageError, match=r"--shard 2/3: its .* units all share one preparation"):
        plan.divided(Shard(2, 3))
    assert plan.divided(Shard(1, 1)).planned == len(plan)


def test_a_study_that_looks_at_all_of_its_matches_is_not_divided() -> None:
    stop = {"measure": "score", "contrast": "rounds=6-3", "width": 0.1, "at_least": 2, "at_most": 9, "every": 2}
    with pytest.raises(UsageError, match="stopping rule"):
        plan_of(seeds=9, stop=stop).divided(Shard(1, 2))


# -- budgets ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**12) | st.none(), st.floats(0, 1e6) | st.none(), st.integers(1, 200))
def test_the_parts_of_a_budget_are_equal_and_never_more_than_all_of_it(
    count: int | None, usd: float | None, of: int
) -> None:
    parts = [Budget(count, count, usd).for_shard(Shard(number, of)) for number in range(1, of + 1)]
    calls = [part.calls for part in parts]
    assert calls == [part.tokens for part in parts]
    if count is None:
        assert set(calls) == {None}
    else:
        known = [n for n in calls if n is not None]
        assert sum(known) == count and max(known) - min(known) <= 1
    assert all(part.usd == (None if usd is None else usd / of) for part in parts)


def test_a_shard_stops_at_its_part_of_the_budget_and_goes_on_with_more(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        study = asked(server.model, budget={"calls": 20})
        stated = validate(StudyFile, study, "test")
        result = play(stated, runs=tmp_path, options=PlayOptions(retry=QUICK, shard="2/4", max_connections=1))
        assert not result.complete and "budget" in str(result.why) and result.tally.calls == 5
        more = validate(StudyFile, {**study, "budget": {"calls": 4000}}, "test")
        assert play(more, runs=tmp_path, options=PlayOptions(retry=QUICK, shard="2/4")).complete


@pytest.mark.parametrize("text", ["", "3", "3/", "/3", "0/3", "4/3", "-1/3", "1/3/4", "1 / 3", "a/b", "١/٣"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        Shard.parse(text)


def test_there_are_at_most_so_many_shards() -> None:
    assert Shard.parse(f"1/{MOST_SHARDS}").of == MOST_SHARDS
    with pytest.raises(UsageError, match=str(MOST_SHARDS)):
        Shard.parse(f"1/{MOST_SHARDS + 1}")
