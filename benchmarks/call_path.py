"""The whole stack (schedule, render, HTTP, parse, journal) against a server that answers at once."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import orjson

from benchmarks.processes import server
from benchmarks.result import Result
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.loop import VARIABLE
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

IN_FLIGHT = 64
MATCHES, ROUNDS = 200, 20
CALLS = MATCHES * ROUNDS * 2
PEER_CALLS = 1000
REPEATS = 5
LEAST_TIMES = {"openai SDK": 11, "inspect_ai": 22}
"""How many times as many calls a second as a peer are the aim."""


def study(model: str, **changes: Any) -> StudyFile:
    """Self-play in the Prisoner's Dilemma with a window of five rounds, answered directly."""
    return validate(
        StudyFile,
        {
            "name": "calls",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": ROUNDS},
            "agent": {"style": "direct", "memory": "window:5"},
            "types": {"model": {"model": model}},
            "seeds": MATCHES,
            **changes,
        },
        "benchmark",
    )


class Pace(NamedTuple):
    """How fast calls were made, and what each took of the processor."""

    speed: float
    """Calls per second."""
    cpu: float
    """Microseconds of CPU a call, all threads of this process together."""

    @classmethod
    def since(cls, wall: float, cpu: float, calls: int) -> Pace:
        """The pace of so many calls since these readings of the clocks."""
        return cls(calls / (time.perf_counter() - wall), (time.process_time() - cpu) / calls * 1e6)


def ours(model: str, loop: str) -> tuple[Pace, list[list[list[str]]]]:
    """The pace of a whole run on this event loop, and the prompts it sent."""
    os.environ[VARIABLE] = loop
    with tempfile.TemporaryDirectory() as folder:
        begun, used = time.perf_counter(), time.process_time()
        result = play(study(model), runs=folder, options=PlayOptions(max_connections=IN_FLIGHT))
        pace = Pace.since(begun, used, CALLS)
        assert result.complete and result.tally.calls == CALLS
        with open_run(Path(folder) / "calls") as run:
            ids = [row["id"] for row in run.rows.calls()]
            prompts = [run.journal.prompt(i) or [] for i in ids]
    return pace, prompts


def bare(url: str, prompts: list[list[list[str]]]) -> Pace:
    """The same prompts through aiohttp and orjson and nothing else."""
    import aiohttp

    bodies = [
        orjson.dumps({"model": "loopback", "messages": [{"role": r, "content": c} for r, c in p]}) for p in prompts
    ]

    async def run() -> Pace:
        connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(body: bytes) -> None:
                headers = {"Content-Type": "application/json"}
                async with session.post(f"{url}/chat/completions", data=body, headers=headers) as reply:
                    orjson.loads(await reply.read())["choices"][0]["message"]["content"]

            return await _timed(one, bodies)

    return asyncio.run(run())


def openai_sdk(url: str, prompts: list[list[list[str]]]) -> float | None:
    """The same prompts through the openai package, if it is installed."""
    try:
        from openai import AsyncOpenAI
    except ImportError:
        return None

    async def run() -> float:
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

        async def one(prompt: list[list[str]]) -> None:
            messages: Any = [{"role": r, "content": c} for r, c in prompt]
            await client.chat.completions.create(model="loopback", messages=messages)

        pace = await _timed(one, prompts[:PEER_CALLS])
        await client.close()
        return pace.speed

    return asyncio.run(run())


def inspect_ai(url: str, prompts: list[list[list[str]]]) -> float | None:
    """The same prompts through inspect_ai, if it is installed."""
    try:
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        return None

    async def run() -> float:
        config = GenerateConfig(max_connections=IN_FLIGHT)
        model = get_model(
            "openai/loopback", base_url=url, api_key="none", config=config, memoize=False, responses_api=False
        )

        async def one(prompt: list[list[str]]) -> None:
            await model.generate(prompt[0][1])

        return (await _timed(one, prompts[: PEER_CALLS // 2])).speed

    return asyncio.run(run())


async def _timed(one: Callable[[Any], Awaitable[None]], work: list[Any]) -> Pace:
    """The pace with a fixed number of calls in flight."""
    queue = iter(work)

    async def worker() -> None:
        for item in queue:
            await one(item)

    begun, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return Pace.since(begun, used, len(work))


def measure() -> list[Result]:
    """Alternating rounds in one run; medians of the paces and of the ratios within a round."""
    paces: dict[str, list[Pace]] = {"asyncio": [], "uvloop": [], "bare": []}
    with server() as model:
        url = model.partition("#")[0]
        prompts: list[list[list[str]]] = []
        for _ in range(REPEATS):
            for loop in ("asyncio", "uvloop"):
                pace, prompts = ours(model, loop)
                paces[loop].append(pace)
            paces["bare"].append(bare(url, prompts))
        peers = {"openai SDK": openai_sdk(url, prompts), "inspect_ai": inspect_ai(url, prompts)}
    group = "call path, 64 in flight"
    speeds = {name: median(pace.speed for pace in found) for name, found in paces.items()}
    notes = {
        name: f"{median(pace.cpu for pace in found):.0f} microseconds of CPU a call" for name, found in paces.items()
    }
    bare_row = Result(group, "bare aiohttp + orjson loop", speeds["bare"], "calls/s", note=notes["bare"])
    results = [bare_row]
    for loop, name, least in (
        ("asyncio", "Ostrom, whole stack", 0.69),
        ("uvloop", "Ostrom, whole stack, on uvloop; the bare loop, which journals nothing, is on asyncio", 0.9),
    ):
        pairs = zip(paces[loop], paces["bare"], strict=True)
        ratio = median(mine.speed / bound.speed for mine, bound in pairs)
        aim, met = f">= {least}", ratio >= least
        results.append(Result(group, name, speeds[loop], "calls/s", "bare loop", ratio, aim, met, notes[loop]))
    mine = speeds["asyncio"]
    for name, found in peers.items():
        if found is None:
            results.append(Result(group, name, None, "calls/s", note="not installed"))
        else:
            times = mine / found
            least = LEAST_TIMES[name]
            results.append(Result(group, name, found, "calls/s", "Ostrom / it", times, f">= {least}", times >= least))
    return results
