"""kill -9 over all shards of a study, behind a server that fails: joined, the tables are those of the undivided run."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.run_tables import tables

from chaos.finding import Finding, verdict
from chaos.kills import LATENCY, kill_once, moody
from chaos.player import StallingServer, answered, processes, start
from ostrom.features.joining import join_shards
from ostrom.ground.errors import OstromError
from ostrom.testing.faults import Faults

SHARDS, KILLS = 8, 40
RATES = {"server_error": 0.1, "reset": 0.1, "malformed": 0.05, "wrong_schema": 0.05, "cut_body": 0.05}


def study(model: str) -> dict[str, Any]:
    """Models that are asked anew or go on with a dialogue, a script, and designs that matches share."""
    return {
        "name": "whole",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 8},
        "agent": {"style": "direct", "memory": "window:3", "framing": {"order": "shuffled"}},
        "types": {
            "model": {"model": model},
            "talker": {"model": model, "conversation": "dialogue"},
            "chance": "random:0.5",
        },
        "seating": "ordered",
        "vary": {
            "rules": {"repetition": {"mechanism.name": "repetition"}, "mediation": {"mechanism": {"name": "mediation"}}}
        },
        "seeds": 4,
        "invalid": {"retries": 4, "policy": "uniform"},
    }


def run(short: bool, seed: int) -> list[Finding]:
    """Kill every shard several times, join them, and try what must be refused."""
    with tempfile.TemporaryDirectory() as folder:
        return killed(Path(folder), SHARDS if short else KILLS, seed)


def killed(folder: Path, kills: int, seed: int) -> list[Finding]:
    """The same number of kills for every shard; then one of them is played twice."""
    context, chance = processes(), random.Random(seed)
    check = f"{SHARDS} shards joined: same tables, no answered call asked again"
    with StallingServer(moody, latency=LATENCY, record=False, faults=Faults(RATES, seed=seed)) as server:
        data = study(server.model)
        calm = start(context, data, folder / "calm")
        calm.join(600)
        if calm.exitcode != 0:
            return [verdict("shards", check, 0, False, f"undisturbed it ended with {calm.exitcode}")]
        needed = Counter(match % SHARDS for match, *_ in answered(folder / "calm" / "run").elements())
        done = 0
        for number in range(1, SHARDS + 1):
            spare, shard = min(needed.values()), f"{number}/{SHARDS}"  # what any shard asks at least
            for left in range(kills // SHARDS, 0, -1):
                quota = 0 if chance.random() < 0.15 else 1 + chance.randrange(max(1, spare // (left + 1)))
                spare -= quota
                if not kill_once(context, server, data, folder / "killed", quota, chance, shard=shard):
                    return [verdict("shards", check, done, False, f"shard {shard} ended before it was killed")]
                done += 1
            server.stall_at = None
        ends = [last(context, data, folder / "killed", number) for number in range(1, SHARDS + 1)]
        again = last(context, data, folder / "again", 3)
    if any((*ends, again)):
        return [verdict("shards", check, done, False, f"the last sessions ended with {ends}, {again}")]
    parts = [folder / "killed" / f"run.{number}-of-{SHARDS}" for number in range(1, SHARDS + 1)]
    twice = folder / "again" / f"run.3-of-{SHARDS}"
    try:
        join_shards("run", [*parts, twice], folder / "killed")
        refused = "was not refused"
    except OstromError as error:
        refused = str(error)
    complete = all(state.complete for state in join_shards("run", parts, folder / "killed"))
    undivided = tables(folder / "calm" / "run", folder / "a")
    same = tables(folder / "killed" / "run", folder / "b") == undivided
    before, after = answered(folder / "calm" / "run"), answered(folder / "killed" / "run")
    parts[2] = twice
    join_shards("run", parts, folder / "other")
    other = tables(folder / "other" / "run", folder / "c") == undivided
    note = f"{sum(before.values())} calls" if before == after else "answered calls were repeated"
    return [
        verdict("shards", check, done, same and complete and before == after, note if same else "tables differ"),
        verdict("shards", "a shard that was played twice is refused by name", 1, refused.startswith(f"{twice}: "),
                refused.replace(f"{folder}/", "")),
        verdict("shards", "joined with the other playing: same tables", 1, other, ""),
    ]  # fmt: skip


def last(context: Any, data: dict[str, Any], runs: Path, number: int) -> int | None:
    """Let a shard come to its end; how it ended."""
    process = start(context, data, runs, shard=f"{number}/{SHARDS}")
    process.join(600)
    return process.exitcode
