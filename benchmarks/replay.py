"""Resuming the full published memory grid: from the journal to the first live decision, and to all of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.grid import plan_of, write
from benchmarks.processes import child, server
from benchmarks.result import Result

RESUME = """
import asyncio, sys, time
from pathlib import Path
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import play
from benchmarks.grid import plan_of
plan = plan_of(sys.argv[2])
begun = time.perf_counter()
found = {}
async def watch(runner):
    while True:
        if runner.tally.calls + runner.tally.in_flight and "first" not in found:
            found["first"] = time.perf_counter() - begun
        await asyncio.sleep(0.005)
result = play(plan.study, name="grid", runs=sys.argv[1], options=PlayOptions(max_connections=64), watch=watch)
found["all"] = time.perf_counter() - begun
found["complete"], found["calls"] = result.complete, result.tally.calls
"""


def measure() -> list[Result]:
    """Every match lacks its last round, so all of the journal has to be replayed."""
    with server() as model, tempfile.TemporaryDirectory() as folder:
        plan = plan_of(model)
        decisions = write(Path(folder) / "grid", plan, missing_rounds=1)
        found = child(RESUME, folder, model)
    group = f"resume of {decisions:,} journaled decisions"
    assert found["complete"]
    return [
        Result(group, "until the first live decision", found["first"], "s", aim="<= 7 s", met=found["first"] <= 7),
        Result(group, "until every match was finished", found["all"], "s", note=f"{found['calls']} live calls"),
        Result(group, "peak memory", found["peak_mib"], "MiB", aim="< 1024", met=found["peak_mib"] < 1024),
    ]  # fmt: skip
