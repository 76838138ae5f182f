"""A wall clock that jumps by hours in both directions: nothing hangs, nothing is played otherwise."""

from __future__ import annotations

import tempfile
import time
from email.utils import formatdate
from pathlib import Path

from tests.run_tables import tables

from chaos.finding import Finding, verdict
from chaos.kills import small
from chaos.player import answered, processes, start
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

PATIENCE = 240
"""Seconds after which a run counts as hanging; undisturbed it takes a few."""


def run(short: bool, seed: int) -> list[Finding]:
    """Whole studies under a jumping clock, also where the server names the date of the next try."""
    names = ("memory",) if short else ("memory", "mechanisms", "personas", "games-2x2")
    return [jump(name, faulty, seed) for name in names for faulty in (False, True)]


def jump(name: str, faulty: bool, seed: int) -> Finding:
    """One study with an honest and with a jumping clock."""
    check = f"{name}: same tables under a jumping clock"
    faults = None
    if faulty:
        check += ", server asks for patience until a date"
        then = time.time() + 3600
        # By its own clock the server wants a second of patience; by ours it may be hours or never.
        date = f"{formatdate(then + 1, usegmt=True)}\r\nDate: {formatdate(then, usegmt=True)}"
        faults = Faults({"rate_limit": 0.02}, seed=seed, retry_after=date)
    context = processes()
    with LoopbackServer(faults=faults, record=False) as server, tempfile.TemporaryDirectory() as folder:
        home, study = Path(folder), small(name, server.model)
        calm = start(context, study, home / "calm")
        calm.join(PATIENCE)
        jumping = start(context, study, home / "jumping", jumps=True)
        jumping.join(PATIENCE)
        hangs = jumping.is_alive()
        if hangs:
            jumping.kill()
            jumping.join()
        if hangs or calm.exitcode or jumping.exitcode:
            note = "it hangs" if hangs else f"ended with {calm.exitcode} and {jumping.exitcode}"
            return verdict("clock", check, 1, False, note)
        calls = answered(home / "jumping" / "run")
        same = tables(home / "calm" / "run", home / "a") == tables(home / "jumping" / "run", home / "b")
        held = same and calls == answered(home / "calm" / "run")
        asked = server.fault_counts["rate_limit"]
    return verdict("clock", check, len(calls), held, f"{asked} waits were asked for" if faulty else "")
