"""How many matches are under way: enough to keep every place taken, and no more than that."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Runner
from ostrom.ground.errors import OstromError
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer


def study(model: str, matches: int, rounds: int = 3) -> Any:
    return load_study(
        {
            "name": "room",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": rounds},
            "agent": {"style": "direct"},
            "types": {"model": {"model": model}},
            "seeds": matches,
        }
    )


def counting(most: list[int]) -> Callable[[Runner], Coroutine[Any, Any, None]]:
    """Watches how many units are played at the same time."""

    async def watch(runner: Runner) -> None:
        inner, playing = runner.executor.play, 0

        async def counted(assignment: Any) -> Any:
            nonlocal playing
            playing += 1
            most.append(playing)
            try:
                return await inner(assignment)
            finally:
                playing -= 1

        vars(runner.executor)["play"] = counted
        await asyncio.sleep(3600)

    return watch


def test_no_more_matches_than_keep_the_places_taken(tmp_path: Path) -> None:
    most: list[int] = []
    with LoopbackServer(latency=0.01) as server:
        options = PlayOptions(max_connections=8, start_connections=8)
        play(study(server.model, 60), runs=tmp_path, options=options, watch=counting(most))
        assert server.max_in_flight == 8
    assert max(most) == 16


@pytest.mark.parametrize(("first", "matches"), [(6, 12), (None, 32), (99, 80)])
def test_a_run_begins_with_the_calls_that_are_asked_for(first: int | None, matches: int, tmp_path: Path) -> None:
    begun: list[int] = []

    async def watch(runner: Runner) -> None:
        begun.append(runner.executor.capacity())
        await asyncio.sleep(3600)

    with LoopbackServer() as server:
        options = PlayOptions(max_connections=40, start_connections=first)  # a client suggests 16
        assert play(study(server.model, 4), runs=tmp_path, options=options, watch=watch).complete
    assert begun == [matches]


@pytest.mark.slow
def test_more_matches_begin_as_the_limit_grows(tmp_path: Path) -> None:
    most: list[int] = []
    with LoopbackServer(latency=0.01) as server:
        options = PlayOptions(max_connections=64, start_connections=4)
        play(study(server.model, 120, rounds=12), runs=tmp_path, options=options, watch=counting(most))
        assert 8 < server.max_in_flight <= 64
    assert most[:8] == list(range(1, 9)) and 16 < max(most) <= 128


def test_fewer_matches_go_on_when_the_limit_falls(tmp_path: Path) -> None:
    most: list[int] = []
    with LoopbackServer(latency=0.01, faults=Faults(first=("rate_limit",) * 72, retry_after="0.01")) as server:
        options = PlayOptions(max_connections=24, start_connections=24)
        result = play(study(server.model, 100), runs=tmp_path, options=options, watch=counting(most))
    assert result.complete and max(most) == 48
    assert min(most[60:]) < 44  # those that ended were not all replaced at once


def test_an_error_of_one_match_that_ends_the_run_is_heard(tmp_path: Path) -> None:
    """Also where it comes up before anybody waits for the match."""

    async def watch(runner: Runner) -> None:
        async def broken(_: Any) -> Any:
            raise ZeroDivisionError("a defect")

        vars(runner.executor)["play"] = broken
        await asyncio.sleep(3600)

    with LoopbackServer() as server, pytest.raises((ZeroDivisionError, OstromError)):
        play(study(server.model, 5), runs=tmp_path, watch=watch)
