"""Keeping connections busy: how long a study takes against how long it must take."""

from __future__ import annotations

import asyncio
import tempfile
import time
import urllib.request
from pathlib import Path

import orjson

from benchmarks.call_path import ours, study
from benchmarks.processes import server
from benchmarks.result import Result
from ostrom.engine.runner import Options, Runner
from ostrom.studies.run import play

LATENCY, MATCHES, ROUNDS = 0.05, 200, 20
Sample = tuple[float, int, int]


def timed(model: str, connections: int, samples: list[Sample]) -> float:
    """Seconds from the first call in flight to the end, sampling calls in flight on the way."""

    async def watch(runner: Runner) -> None:
        begun = time.perf_counter()
        while True:
            samples.append((time.perf_counter() - begun, runner.tally.in_flight, runner.tally.done))
            await asyncio.sleep(0.002)

    with tempfile.TemporaryDirectory() as folder:
        options = Options(max_connections=connections, start_connections=connections)
        result = play(study(model, seeds=MATCHES), runs=folder, options=options, watch=watch)
        assert result.complete
    first = next(t for t, flying, _ in samples if flying)
    last = max(t for t, flying, _ in samples if flying)
    return last - first


def bare(model: str, prompts: list[list[list[str]]]) -> float:
    """Seconds that aiohttp and orjson alone need for as many calls, all of a round at once, nothing in between."""
    import aiohttp

    url = f"{model.partition('#')[0]}/chat/completions"
    body = orjson.dumps(
        {"model": "loopback", "messages": [{"role": r, "content": c} for r, c in prompts[-1]]}
    )

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=2 * MATCHES)) as session:

            async def player() -> None:
                for _ in range(ROUNDS):
                    async with session.post(
                        url, data=body, headers={"Content-Type": "application/json"}
                    ) as reply:
                        orjson.loads(await reply.read())

            begun = time.perf_counter()
            await asyncio.gather(*(player() for _ in range(2 * MATCHES)))
            return time.perf_counter() - begun

    return asyncio.run(run())


def seen_by(model: str) -> tuple[float, dict[int, float]]:
    """By a server's own count over its busy time: mean calls in flight, and the share of time at each level."""
    with urllib.request.urlopen(model.partition("/v1")[0] + "/stats") as page:
        stats = orjson.loads(page.read())
    busy = stats["busy_seconds"]
    shares = {int(level): seconds / busy for level, seconds in stats["seconds_by_level"].items()}
    return float(stats["call_seconds"] / busy), shares


def measure(picture: Path | None = None) -> list[Result]:
    """With enough connections, and with 64."""
    group = f"keeping busy, {MATCHES} matches x {ROUNDS} rounds x 2 seats at {LATENCY * 1000:.0f} ms"
    critical = ROUNDS * LATENCY
    wide: list[Sample] = []
    narrow: list[Sample] = []
    with server() as model:
        _, prompts = ours(model)
    with server(LATENCY) as model:
        makespan = timed(model, 2 * MATCHES, wide)
        alone = bare(model, prompts)
    with server(LATENCY) as model:
        limited = timed(model, 64, narrow)
        seen, shares = seen_by(model)
    full, working = _fullness(narrow, 64)
    ideal = MATCHES * ROUNDS * 2 * LATENCY / 64
    if picture is not None:
        draw(narrow, picture)
    calls = MATCHES * ROUNDS * 2

    def at_least(level: int) -> float:
        return sum(share for found, share in shares.items() if found >= level)

    return [
        Result(
            group, "makespan, enough connections", makespan, "s", "critical path", makespan / critical,
            "<= 1.15", makespan / critical <= 1.15, f"the aim needs {calls / (1.15 * critical):,.0f} calls/s",
        ),
        Result(group, "bare aiohttp + orjson loop, as many calls", alone, "s", "critical path", alone / critical),
        Result(group, "makespan, 64 connections", limited, "s", "work / 64", limited / ideal),
        Result(
            group, "time with 64 calls in flight, by the server's count", at_least(64), "share", "", None,
            ">= 0.9", at_least(64) >= 0.9, "start and tail included",
        ),
        Result(group, "time with at least 60 in flight, by the server's count", at_least(60), "share"),
        Result(group, "calls in flight by the server's count, mean", seen, "calls", "64", seen / 64),
        Result(
            group, "time with all 64 places taken while work remains", full, "share",
            note=f"{working:.2f} s of work remaining; a place is held until the reply was taken in",
        ),
    ]  # fmt: skip


def _fullness(samples: list[Sample], limit: int) -> tuple[float, float]:
    """The share of time at the limit, from the first call until fewer calls are left than the limit.

    A place is taken from when a call may go out until its reply was taken in; what the server sees is a little
    less, for a reply and the next request are on their way.
    """
    busy = [s for s in samples if s[1]]
    start = busy[0][0]
    # A match has two calls per round: while 32 matches are unfinished, 64 calls can be in flight.
    remaining = [s for s in samples if s[0] >= start and MATCHES - s[2] >= limit // 2]
    return sum(s[1] >= limit for s in remaining) / len(remaining), remaining[-1][0] - start


def draw(samples: list[Sample], path: Path) -> None:
    """Calls in flight over time, as a picture."""
    try:
        import altair as alt
        import polars as pl
    except ImportError:
        return
    frame = pl.DataFrame({"seconds": [s[0] for s in samples], "calls in flight": [s[1] for s in samples]})
    chart = alt.Chart(frame).mark_area(interpolate="step-after", opacity=0.8)
    chart.encode(x="seconds:Q", y="calls in flight:Q").properties(width=600, height=180).save(str(path))
