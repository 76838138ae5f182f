"""kill -9 at random moments: every study's small preset ends with the same tables, and no reply is bought twice."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.run_tables import tables

from chaos.finding import Finding, verdict
from chaos.player import StallingServer, answered, processes, start
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.load import load_study
from ostrom.testing.replies import answer, prompt_of

KILLS = 100
LATENCY = 0.004
"""Seconds per reply: slow enough that many calls are under way when the blow falls."""


def small(name: str, model: str) -> dict[str, Any]:
    """A study's smoke preset, played by a model and its scripts."""
    able = ["agent.settings={abilities: [tools]}"] if name == "tools" else []
    study = load_study(name, preset="smoke", models=[model], changes=able)
    data: dict[str, Any] = study.model_dump(mode="json")
    data["answers"] = []  # a preset leaves factors out, and the questions about them with it
    return data


def with_server(model: str) -> dict[str, Any]:
    """The study of tools with those of an MCP server beside our own."""
    server = Path(__file__).parents[1] / "tests" / "agents" / "tool_server.py"
    data = small("tools", model)
    tools = ["calculator", "notes", {"mcp": {"command": [sys.executable, "-S", "-E", str(server), "twice"]}}]
    changed = {**data, "agent": {**data["agent"], "tools": tools}}
    changed["vary"] = {name: levels for name, levels in data["vary"].items() if name != "tools"}
    return changed


def moody(body: dict[str, Any]) -> str:
    """One reply in six cannot be read and is asked for again: such replies must survive a kill, too."""
    return "I would rather not say." if crc32(prompt_of(body).encode()) % 6 == 0 else answer(body)


def run(short: bool, seed: int) -> list[Finding]:
    """Spread the kills over all studies that have a smoke preset; those with people are for the part ``people``."""
    names = [name for name in builtin_names() if "smoke" in presets_of(name)]
    names = [name for name in names if load_study(name, preset="smoke").people is None]
    studies: dict[str, Callable[[str], dict[str, Any]]] = {name: partial(small, name) for name in names}
    studies["tools of a server"] = with_server
    total = len(studies) if short else KILLS
    shares = [total // len(studies) + (place < total % len(studies)) for place in range(len(studies))]
    context = processes()
    found = []
    for place, (name, kills) in enumerate(zip(studies, shares, strict=True)):
        drawn = 1000 * seed + place
        with tempfile.TemporaryDirectory() as folder:
            found.append(kill_study(context, name, kills, Path(folder), seed=drawn, made=studies[name]))
    done = sum(f.count for f in found)
    return [*found, verdict("kills", "kill -9 in all", done, done == total, f"{len(studies)} studies")]


def kill_study(
    context: ForkServerContext,
    name: str,
    kills: int,
    folder: Path,
    seed: int,
    made: Callable[[str], dict[str, Any]],
    part: str = "kills",
) -> Finding:
    """Kill a study so many times, then let it end, and compare with a run that nobody disturbed.

    ``made`` writes the study for a model.
    """
    check = f"{name}: same tables, no answered call asked again"
    with StallingServer(moody, latency=LATENCY, record=False) as server:
        study = made(server.model)
        calm = start(context, study, folder / "calm")
        calm.join(300)
        calls = server.count
        if calm.exitcode != 0:
            return verdict(part, check, 0, False, f"undisturbed it ended with {calm.exitcode}")
        chance = random.Random(seed)
        spare = calls
        for left in range(kills, 0, -1):
            # Each session may make a fair part of the calls, so that the last one still has something to do. Some
            # die before the first reply: while the journal is made, opened or replayed.
            quota = 0 if chance.random() < 0.15 else 1 + chance.randrange(max(1, spare // (left + 1)))
            spare -= quota
            if not kill_once(context, server, study, folder / "killed", quota, chance):
                return verdict(part, check, kills - left, False, "it ended before it was killed")
        server.stall_at = None
        last = start(context, study, folder / "killed")
        last.join(300)
        asked = server.count - calls
    if last.exitcode != 0:
        return verdict(part, check, kills, False, f"the last session ended with {last.exitcode}")
    before, after = answered(folder / "calm" / "run"), answered(folder / "killed" / "run")
    same = tables(folder / "killed" / "run", folder / "a") == tables(folder / "calm" / "run", folder / "b")
    note = f"{len(before)} calls; {asked - len(before)} more were under way at a kill and asked again"
    if not same:
        note = f"tables differ; {note}"
    if before != after:
        note = f"{sum((after - before).values())} answered calls repeated; {note}"
    return verdict(part, check, kills, same and before == after and max(after.values(), default=1) == 1, note)


def kill_once(
    context: ForkServerContext,
    server: StallingServer,
    study: dict[str, Any],
    runs: Path,
    quota: int,
    chance: random.Random,
    **more: Any,
) -> bool:
    """Start a session and kill it after so many of its calls; False if it came to its end first."""
    enough = server.count + quota
    server.stall_at = max(enough, server.count + 1)
    process = start(context, study, runs, **more)
    if quota == 0:
        time.sleep(chance.random() * 0.15)
    while server.count < enough and process.is_alive():
        time.sleep(0.0005)
    time.sleep(chance.random() * 0.008)
    process.kill()
    process.join()
    return process.exitcode == -9
