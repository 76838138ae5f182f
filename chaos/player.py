"""A process that plays a study and may be killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.ground.errors import OstromError
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.http1 import ServedConnection
from ostrom.testing.server import LoopbackServer

Place = tuple[Any, ...]


def processes() -> ForkServerContext:
    """Processes that start with everything imported: a kill shortly after the start falls into the playing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["chaos.player"])
    return context


def run_study(
    study: dict[str, Any],
    runs: str,
    jumps: bool = False,
    batch: bool = False,
    environment: Mapping[str, str] = MappingProxyType({}),
    shard: str | None = None,
) -> None:
    """Play a study, or a shard of it, into ``runs/run``; exit 0 when complete, 1 with one line when refused."""
    os.environ |= environment
    if jumps:
        _jumping_clock()
    retry = RetryPolicy(tries=30, first=0.001, longest=0.02)
    options = PlayOptions(max_connections=4, retry=retry, shard=shard, allow_command=_commands(study))
    if batch:
        polling = PollingPolicy(first=0.01, longest=0.05, lag=0.3, patience=0.5)
        options = PlayOptions(retry=retry, batch=True, polling=polling)
    try:
        result = play(load_study(study), name="run", runs=runs, options=options)
    except OstromError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    if not result.complete:
        print(result.why, file=sys.stderr)
    sys.exit(0 if result.complete else 3)


def _commands(study: Mapping[str, Any]) -> list[str]:
    """The commands of the study's tools: our own, so they are allowed."""
    tools = study["agent"].get("tools", ())
    return [shlex.join(tool["mcp"]["command"]) for tool in tools if isinstance(tool, dict)]


def _jumping_clock() -> None:
    """A wall clock that jumps by hours and days, forwards and backwards, every time it is read."""
    true, reads = time.time, Counter[str]()
    jumps = (0.0, 7200.0, -7200.0, 90_000.0, -400_000.0, 31_536_000.0, -1.0)

    def jumping() -> float:
        reads["time"] += 1
        return true() + jumps[reads["time"] % len(jumps)]

    time.time = jumping


def start(
    context: ForkServerContext, study: dict[str, Any], runs: Path, jumps: bool = False, **more: Any
) -> ForkServerProcess:
    """Start playing in a process of its own; ``more`` are arguments of ``run_study``."""
    process = context.Process(target=run_study, args=(study, str(runs), jumps), kwargs=more)
    process.start()
    return process


class StallingServer(LoopbackServer):
    """A server that sends no reply once so many requests came: its client cannot end before it is killed."""

    stall_at: int | None = None

    def _reply(self, data: bytes, connection: ServedConnection, fault: str | None) -> None:
        if self.stall_at is None or self.count < self.stall_at:
            super()._reply(data, connection, fault)


def answered(folder: Path) -> Counter[Place]:
    """The calls of a run that were answered, by place."""
    with open_run(folder) as run:
        return Counter((c["match"], c["step"], c["player"], c["part"]) for c in run.rows.calls() if c["error"] is None)
