"""kill -9 at 20 moments of every game by a rule, and of the studies made of them: identical tables every time."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from chaos.finding import Finding, verdict
from chaos.kills import kill_study, small
from chaos.player import processes
from ostrom.games import build_game, games
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game

KILLS = 20
STUDIES = ("commons", "sharing")
CALLS = 120
"""About so many calls make enough moments to be killed at."""


def rule_games() -> list[str]:
    """The games of the catalog that are played by a rule."""
    return [name for name in games.names() if isinstance(build_game(name), FunctionGame)]


def played(name: str, model: str) -> dict[str, Any]:
    """A few rounds of a game with talk, by a model."""
    game: Game = build_game(name)
    assert isinstance(game, FunctionGame)
    return {
        "name": name,
        "game": name,
        "mechanism": {"name": "repetition", "rounds": 3, "talk": {"length": 80}},
        "seeds": max(2, -(-CALLS // (3 * (game.turns + game.seats)))),
        "agent": {"model": model, "style": "direct", "memory": "window:2"},
        "invalid": {"retries": 9, "policy": "skip-match"},
    }


def run(short: bool, seed: int) -> list[Finding]:
    """Kill each of them."""
    context = processes()
    made = {name: partial(played, name) for name in rule_games()}
    made |= {name: partial(small, name) for name in STUDIES}
    kills = 2 if short else KILLS
    found = []
    for place, (name, study) in enumerate(made.items()):
        with tempfile.TemporaryDirectory() as folder:
            drawn = 1000 * seed + 100 + place
            found.append(kill_study(context, name, kills, Path(folder), seed=drawn, made=study, part="rules"))
    done = sum(f.count for f in found)
    whole = done == kills * len(made)
    return [*found, verdict("rules", "kill -9 in all", done, whole, f"{len(made)} games and studies")]
