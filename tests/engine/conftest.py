"""Small studies for the engine's tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.ground.validation import validate
from ostrom.studies.schema import StudyFile

QUICK = RetryPolicy(tries=8, first=0.001, longest=0.02)


@pytest.fixture
def quick() -> PlayOptions:
    """Retries without long waits."""
    return PlayOptions(retry=QUICK)


def study(**changes: Any) -> StudyFile:
    """A small Prisoner's Dilemma study; changes replace whole keys."""
    data: dict[str, Any] = {
        "name": "small",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 6},
        "types": {"tft": "tit_for_tat", "chance": "random:0.6"},
        "seating": "ordered",
        "vary": {"rounds": {"set": "mechanism.rounds", "to": [3, 6]}},
        "seeds": 2,
    }
    return validate(StudyFile, {**data, **changes}, "test")


@pytest.fixture
def small() -> Callable[..., StudyFile]:
    """The small study as a function of changes."""
    return study


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder for runs."""
    return tmp_path / "runs"
