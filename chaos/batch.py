"""Batch endpoints that fail a fifth of the time, and kill -9 in between: each request is paid for once."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from chaos.finding import Finding, verdict
from chaos.kills import moody
from chaos.player import answered, processes, start
from ostrom.testing.batches import BATCH_KINDS, BatchFaults
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer
from ostrom.testing.tables import tables

KILLS, QUICK_KILLS = 30, 4
RATE = 0.2
HTTP = (
    "rate_limit",
    "server_error",
    "unavailable",
    "overloaded",
    "reset",
    "cut_body",
    "malformed",
    "wrong_schema",
)
WAYS = tuple(kind for kind in BATCH_KINDS if not kind.startswith("line"))
SECONDS = 0.05
"""How long a batch takes: long enough that many kills find one under way."""


def run(quick: bool) -> list[Finding]:
    """Half of the kills for each wire."""
    kills = QUICK_KILLS if quick else KILLS
    return [killed(wire, kills // 2, 3 if quick else 6) for wire in ("openai", "anthropic")]


def killed(wire: str, kills: int, seeds: int) -> Finding:
    """Play directly and undisturbed, then in batches with faults and kills, and compare."""
    check = f"{wire}: {RATE:.0%} faults and kills: tables of the direct run, each request billed once"
    http = Faults({kind: RATE / len(HTTP) for kind in HTTP}, retry_after="0.02")
    lines = {kind: RATE / 2 / (len(BATCH_KINDS) - len(WAYS)) for kind in BATCH_KINDS if kind not in WAYS}
    faults = BatchFaults({**lines, **{kind: RATE / len(WAYS) for kind in WAYS}}, SECONDS)
    context = processes()
    with (
        LoopbackServer(moody, batch_faults=faults, record=False) as server,
        tempfile.TemporaryDirectory() as home,
    ):
        folder, study = Path(home), study_of(wire, server, seeds)
        calm = start(context, study, folder / "direct")
        calm.join(300)
        if calm.exitcode != 0:
            return verdict("batch", check, 0, False, f"directly it ended with {calm.exitcode}")
        server.faults = http
        chance, done = random.Random(7), 0
        while done < kills:
            process = start(context, study, folder / "batched", batch=True)
            quota = server.count + chance.randrange(14)
            deadline = time.monotonic() + 60
            while server.count < quota and process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.0005)
            time.sleep(chance.random() * 0.03)
            process.kill()
            process.join()
            if process.exitcode != -9:
                return verdict("batch", check, done, False, f"it ended with {process.exitcode} before a kill")
            done += 1
        last = start(context, study, folder / "batched", batch=True)
        last.join(300)
        stats = server.batches.stats()
        if last.exitcode != 0:
            return verdict("batch", check, kills, False, f"the last session ended with {last.exitcode}")
        calls = answered(folder / "batched" / "run")
        same = tables(folder / "batched" / "run", folder / "a") == tables(
            folder / "direct" / "run", folder / "b"
        )
    faults_met = sum(server.fault_counts.values()) + sum(stats["faults"].values())
    note = (
        f"{calls.total()} replies, {stats['billed']} billed, {sum(stats['batches'].values())} batches, "
        f"{faults_met} faults{'' if same else '; tables differ'}"
    )
    held = same and stats["billed"] == calls.total() and max(calls.values(), default=0) >= 1
    return verdict("batch", check, kills, held, note)


def study_of(wire: str, server: LoopbackServer, seeds: int) -> dict[str, Any]:
    """A study long enough that kills fall into many waves."""
    model: dict[str, Any] = {"model": server.model}
    if wire == "anthropic":
        model = {"model": "anthropic/claude-test", "settings": {"base_url": server.origin}}
    return {
        "name": "batch",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 12},
        "agent": {"style": "direct", "memory": "window:3"},
        "types": {"model": model, "tft": "tit_for_tat", "chance": "random:0.5"},
        "seating": "ordered",
        "seeds": seeds,
        "invalid": {"retries": 8, "policy": "fail"},
    }
