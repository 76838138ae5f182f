"""A study with seats for agents, played in this process while real MCP clients play them over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.seats.host import SeatHost
from ostrom.features.seats.server import connected
from ostrom.framing import Library
from ostrom.ground.validation import validate
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play_plan_async
from ostrom.studies.schema import StudyFile

if TYPE_CHECKING:
    from mcp import Client  # takes long to import: `make test` collects every file in every worker

Visit = Callable[[SeatHost], Awaitable[Any]]


def stated(**changes: Any) -> dict[str, Any]:
    """A repeated dilemma of an agent at seat 1 and a strategy at seat 2."""
    return {
        "name": "s",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "agent": {"style": "direct"},
        "types": {"coder": {"mcp": "seat"}, "tft": {"strategy": "tit_for_tat"}},
        "seating": "seats",
        **changes,
    }


def plan_of(**changes: Any) -> StudyPlan:
    """The plan of that study."""
    return StudyPlan(validate(StudyFile, stated(**changes), "s.yaml", "study"), Library())


def play(plan: StudyPlan, runs: Path, *visits: Visit, options: PlayOptions | None = None) -> tuple[Result, list[Any]]:
    """Play a plan while agents visit it; how it ended, and what they came back with."""
    return asyncio.run(_play(plan, runs, visits, options))


async def _play(
    plan: StudyPlan, runs: Path, visits: Sequence[Visit], options: PlayOptions | None
) -> tuple[Result, list[Any]]:
    host = SeatHost(plan, options, quiet=True)
    plan.outside = host
    playing = asyncio.create_task(play_plan_async(plan, name="s", runs=runs, options=options))
    visiting = [asyncio.ensure_future(visit(host)) for visit in visits]
    try:
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*visiting)  # a visit that fails is told at once
            return await playing, answers
    finally:
        for task in (playing, *visiting):
            task.cancel()
        await asyncio.gather(playing, *visiting, return_exceptions=True)


async def said(client: "Client", tool: str, **arguments: Any) -> tuple[str, str]:
    """The state and the text that a call comes back with."""
    result = await client.call_tool(tool, arguments)
    (part,) = result.content
    state: str = result.structured_content["state"]
    assert result.is_error == (state in ("again", "refused"))
    return state, part.text  # type: ignore[union-attr]


def agent(*answers: str, seat: int = 1) -> Visit:
    """An agent that gives these answers over and over; it comes back with all that it was told."""

    async def visit(host: SeatHost) -> list[tuple[str, str]]:
        told, count = [], 0
        async with connected(host.url, host.chair(seat).token) as client:
            while True:
                told.append(await said(client, "look"))
                if told[-1][0] == "run_over":
                    return told
                while told[-1][0] in ("decide", "again"):
                    told.append(await said(client, "act", answer=answers[count % len(answers)]))
                    count += 1

    return visit
