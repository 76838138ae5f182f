"""Keeping connections busy: how long a study takes against how long it must take."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.call_path import study
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


def measure(picture: Path | None = None) -> list[Result]:
    """With enough connections, and with 64."""
    group = f"keeping busy, {MATCHES} matches x {ROUNDS} rounds x 2 seats at {LATENCY * 1000:.0f} ms"
    critical = ROUNDS * LATENCY
    wide: list[Sample] = []
    narrow: list[Sample] = []
    with server(LATENCY) as model:
        makespan = timed(model, 2 * MATCHES, wide)
        limited = timed(model, 64, narrow)
    full, working = _fullness(narrow, 64)
    ideal = MATCHES * ROUNDS * 2 * LATENCY / 64
    if picture is not None:
        draw(narrow, picture)
    return [
        Result(
            group, "makespan, enough connections", makespan, "s", "critical path", makespan / critical,
            "<= 1.15", makespan / critical <= 1.15,
        ),
        Result(group, "makespan, 64 connections", limited, "s", "work / 64", limited / ideal),
        Result(
            group, "time with 64 in flight while work remains", full, "share", "", None, ">= 0.9", full >= 0.9,
            f"{working:.2f} s of work remaining",
        ),
    ]  # fmt: skip


def _fullness(samples: list[Sample], limit: int) -> tuple[float, float]:
    """The share of time at the limit, from the first call until fewer calls are left than the limit."""
    busy = [s for s in samples if s[1]]
    start = busy[0][0]
    # A match has two calls per round: while 32 matches are unfinished, 64 calls can be in flight.
    remaining = [s for s in samples if s[0] >= start and MATCHES - s[2] >= limit // 2]
    return sum(s[1] >= limit - 1 for s in remaining) / len(remaining), remaining[-1][0] - start


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
