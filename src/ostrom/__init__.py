"""Ostrom: a laboratory for cooperation between language-model agents.

    import ostrom

    study = ostrom.study("memory", preset="small", models=["openai/some-model"])
    run = ostrom.play(study, budget_usd=5)
    run.estimate("cooperation", by=["game", "style"])

Nothing is loaded before it is used: importing the package costs next to nothing.
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
    "game",
    "open_run",
    "play",
    "play_async",
    "study",
]

if TYPE_CHECKING:
    from ostrom.api import (
        Game,
        Measure,
        Run,
        Strategy,
        Study,
        commands,
        game,
        open_run,
        play,
        play_async,
        study,
    )


find_moved_modules()


def __getattr__(name: str) -> Any:
    if name in __all__ and sys.platform == "win32":
        raise ImportError(NO_WINDOWS)
    if name == "commands":
        return import_module("ostrom.api.commands")
    if name in __all__:
        return getattr(import_module("ostrom.api"), name)
    raise AttributeError(f"module 'ostrom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
