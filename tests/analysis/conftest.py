"""Real runs of scripted players for analysis to read."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

PlayedRun = Callable[..., RunData]


def study(**changes: Any) -> StudyFile:
    """Two players by chance and two without, in two games at two history lengths."""
    return StudyFile.model_validate(
        {
            "name": "small",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": 10},
            "types": {"kind": "cooperator", "coin": "random:0.5", "mostly": "random:0.9", "tft": "tit_for_tat"},
            "vary": {"game": ["prisoners_dilemma", "stag_hunt"], "k": {"set": "agent.memory.k", "to": [1, 4, 16]}},
            "agent": {"memory": {"name": "window", "k": 1}},
            "seeds": 3,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def play_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedRun]:
    """Play a study and open its tables."""
    with ExitStack() as open_runs:

        def make(limit: int | None = None, **changes: Any) -> RunData:
            folder = tmp_path_factory.mktemp("runs")
            made = study(**changes)
            play(made, runs=folder, options=PlayOptions(limit=limit))
            run = open_runs.enter_context(open_run(Path(folder) / made.name))
            return open_runs.enter_context(run_data(run.rows, run.folder.path, run.manifest))

        yield make


@pytest.fixture(scope="module")
def small(play_run: PlayedRun) -> RunData:
    """The study as it is."""
    return play_run()
