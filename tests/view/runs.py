"""Small runs with words in them, played by scripted models."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.models.base import Reply, Request, Usage
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.studies.load import load_study
from ostrom.studies.run import play

Script = Callable[[Request], Reply]


def said(request: Request) -> Reply:
    """An answer with a reason: the first option, with other words in later rounds."""
    text = request.messages[-1].content
    return Reply("[A0]", f"I trust them. {len(text)} letters were asked.", "raw", usage=Usage(100, 10))


def talk(runs: Path, script: Script = said, *, name: str = "talk", rounds: int = 3, **changes: Any) -> Path:
    """Two models in two cells, played; the folder of the run."""
    data = {
        "name": "talk",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": {"anna": {"model": "scripted/anna", "style": "direct"}, "tft": "tit_for_tat"},
        "seating": "ordered",
        "vary": {"rounds": {"set": "mechanism.rounds", "to": [rounds - 1, rounds]}},
        "seeds": 1,
        "invalid": {"retries": 1, "policy": "uniform"},
        **changes,
    }
    play(
        load_study(data),
        name=name,
        runs=runs,
        options=PlayOptions(retry=RetryPolicy(tries=2, first=0.0)),
        open_models=lambda model, _: ScriptedModel(model, script),
    )
    return runs / name


@contextmanager
def paused(runs: Path) -> Iterator[threading.Event]:
    """A run whose first call waits until the event is set."""
    begun, go = threading.Event(), threading.Event()

    def waits(request: Request) -> Reply:
        begun.set()
        assert go.wait(300)
        return said(request)

    player = threading.Thread(target=talk, args=(runs, waits))
    player.start()
    assert begun.wait(300)
    yield go
    player.join()
