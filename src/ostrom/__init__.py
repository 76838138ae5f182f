"""Ostrom: a laboratory for cooperation between language-model agents.

    import ostrom

    study = ostrom.study("memory", preset="small", models=["openai/some-model"])
    run = ostrom.play(study, budget_usd=5)
    run.estimate("cooperation", by=["game", "style"])

Modules are loaded at their first use, so importing the package takes next to no time.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ostrom.ground.moved import find_moved_modules
from ostrom.ground.version import NO_WINDOWS, __version__

__all__ = [
    "Game",
    "Measure",
    "Run",
    "Strategy",
    "Study",
    "__version__",
    "commands",
    "compare",
    "environment",
    "game",
    "gate",
    "open_run",
    "play",
    "play_async",
    "power",
    "replicate",
    "study",
]

COMMAND_FUNCTIONS = ("compare", "gate", "power", "replicate")
"""Commands that are functions of the package itself: those that answer a question about a study or its runs."""

if TYPE_CHECKING:
    from collections.abc import Callable

    from ostrom.api import Game, Measure, Run, Strategy, Study, commands, game, open_run, play, play_async, study
    from ostrom.features.environments import environment
    from ostrom.ground.results import CommandResult

    compare: Callable[..., CommandResult]
    gate: Callable[..., CommandResult]
    power: Callable[..., CommandResult]
    replicate: Callable[..., CommandResult]


find_moved_modules()


def __getattr__(name: str) -> Any:
    if name in __all__ and sys.platform == "win32":
        raise ImportError(NO_WINDOWS)
    if name == "commands":
        return import_module("ostrom.api.commands")
    if name == "environment":
        return import_module("ostrom.features.environments").environment
    if name in COMMAND_FUNCTIONS:
        return getattr(import_module("ostrom.api.commands"), name)
    if name in __all__:
        return getattr(import_module("ostrom.api"), name)
    raise AttributeError(f"module 'ostrom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
