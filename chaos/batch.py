"""An outside service that fails a fifth of the time, and kill -9 in between: each request is billed once."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.run_tables import tables

from chaos.finding import Finding, verdict
from chaos.outside.faults import Plan
from chaos.outside.server import Service
from chaos.player import answered, processes, start

KILLS, SHORT_KILLS = 30, 3
SHARE = 0.2
SECONDS = 0.05
"""How long a batch takes: long enough that many kills find one under way."""
LAG = 0.15
"""Seconds for which new batches may not be listed and results may not be there."""
TIMEOUT = 3.0
"""Seconds that a client waits for an exchange that hangs."""
MODELS = {"openai": "openai/gpt-outside", "anthropic": "anthropic/claude-outside"}


def run(short: bool, seed: int) -> list[Finding]:
    """All kills for each wire."""
    kills = SHORT_KILLS if short else KILLS
    return [killed(wire, kills, 2 if short else 6, seed=seed) for wire in MODELS]


def killed(wire: str, kills: int, seeds: int, rounds: int = 12, share: float = SHARE, seed: int = 0) -> Finding:
    """Play directly and undisturbed, then in batches with faults and kills, and compare."""
    check = f"{wire}: {share:.0%} faults and kills: tables of the direct run, each request billed once"
    context, study = processes(), study_of(wire, seeds, rounds)
    with Service() as service, tempfile.TemporaryDirectory() as home:
        folder, environment = Path(home), service.environment()
        calm = start(context, study, folder / "direct", environment=environment)
        calm.join(300)
        if calm.exitcode != 0:
            return verdict("batch", check, 0, False, f"directly it ended with {calm.exitcode}")
        tokens = 5000 if wire == "openai" else None
        service.begin_faults(
            Plan(share, seed=1000 * seed + kills, seconds=SECONDS, lag=LAG, hang=2 * TIMEOUT, tokens=tokens)
        )
        chance, done = random.Random(7 + seed), 0
        while done < kills:
            jumps = done % 3 == 1  # some sessions have a clock that jumps by days
            process = start(context, study, folder / "batched", jumps, batch=True, environment=environment)
            quota = service.count + chance.randrange(14)
            deadline = time.monotonic() + 60
            while service.count < quota and process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.0005)
            time.sleep(chance.random() * 0.03)
            process.kill()
            process.join()
            if process.exitcode == 0:
                break  # the study was too short for more kills
            if process.exitcode != -9:
                return verdict("batch", check, done, False, f"it ended with {process.exitcode} before a kill")
            done += 1
        last = start(context, study, folder / "batched", batch=True, environment=environment)
        last.join(300)
        service.end_all()
        if last.exitcode != 0:
            return verdict("batch", check, done, False, f"the last session ended with {last.exitcode}")
        problems = judge(service, folder)
    store = service.store
    note = (
        f"{store.billed.total()} replies billed, {len(store.batches)} batches, {service.count} exchanges, "
        f"{store.draws.met.total()} faults of {len(store.draws.met)} kinds{problems}"
    )
    return verdict("batch", check, done, not problems, note)


def judge(service: Service, folder: Path) -> str:
    """What is wrong with the run in batches, compared with the direct one; nothing if all is well."""
    store = service.store
    batched, direct = folder / "batched" / "run", folder / "direct" / "run"
    problems = [f"refused: {line}" for line in service.violations[:5]]
    if tables(batched, folder / "a") != tables(direct, folder / "b"):
        problems.append("tables differ")
    twice = [name for name, count in store.billed_ids.items() if count > 1]
    if twice:
        problems.append(f"{len(twice)} identifiers billed twice")
    more, less = store.billed - store.direct, store.direct - store.billed
    if more or less:
        problems.append(f"{more.total()} requests billed beyond the direct run, {less.total()} not billed")
    replies = answered(batched)
    if replies != answered(direct) or replies.total() != store.billed.total():
        problems.append(f"{replies.total()} replies in the journal")
    return "".join(f"; {problem}" for problem in problems)


def study_of(wire: str, seeds: int, rounds: int) -> dict[str, Any]:
    """A study long enough that kills fall into many waves."""
    return {
        "name": "batch",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "agent": {"style": "direct", "memory": "window:3"},
        "types": {
            "model": {"model": MODELS[wire], "settings": {"timeout": TIMEOUT}},
            "tft": "tit_for_tat",
            "chance": "random:0.5",
        },
        "seating": "ordered",
        "seeds": seeds,
        "invalid": {"retries": 8, "policy": "fail"},
    }
