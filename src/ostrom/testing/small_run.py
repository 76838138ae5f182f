"""Small runs for checks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

SMALL: Mapping[str, Any] = {
    "name": "small",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 4},
    "types": {"kind": "cooperator", "coin": "random:0.5", "reciprocal": "tit_for_tat"},
    "vary": {"game": ["prisoners_dilemma", "stag_hunt"]},
    "agent": {"strategy": "cooperator"},
    "seeds": 2,
}
"""Players with and without random moves, in two games."""

AMOUNTS: Mapping[str, Any] = {
    "name": "amounts",
    "game": "ultimatum",
    "mechanism": {"name": "repetition", "rounds": 5},
    "types": {"one": "random", "two": "random"},
    "seating": "seats",
    "vary": {
        "game": [
            "ultimatum",
            "trust_amounts",
            {"name": "common_pool", "n": 2},
            {"name": "second_price_auction", "n": 2},
        ]
    },
    "seeds": 3,
}
"""Games with amounts: sequential, with a stock, with a price."""

PEOPLE: Mapping[str, Any] = {
    "name": "people",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 3},
    "types": {"other": {"strategy": "tit_for_tat"}, "you": {"person": "web"}},
    "seating": "seats",
    "vary": {"prompting": {"base": {"types.other.strategy": "tit_for_tat"}, "other": {"types.other.strategy": "grim"}}},
    "people": {
        "source": {"name": "link", "places": 10},
        "quota": 10,
        "visit": [{"match": 1}, {"ask": {"name": "guess", "text": "A person?", "options": ["person", "artificial"]}}],
        "time": {"decision": 20},
    },
}
"""Simulated people against scripts, with one question afterwards."""


@contextmanager
def small_run(data: RunData | Sequence[RunData] | None = None) -> Iterator[list[RunData]]:
    """Yield the given runs, or a small one that is played now."""
    if data is not None:
        yield [data] if isinstance(data, RunData) else list(data)
        return
    with _played(SMALL) as runs:
        yield runs


def amounts_run() -> AbstractContextManager[list[RunData]]:
    """Play a small run of games with amounts."""
    return _played(AMOUNTS)


@contextmanager
def _played(study: Mapping[str, Any]) -> Iterator[list[RunData]]:
    stated, name = StudyFile.model_validate(dict(study)), study["name"]
    with TemporaryDirectory() as folder:
        if stated.people is None:
            play(stated, runs=Path(folder), options=PlayOptions())
        else:
            from ostrom.agents.config import AgentConfig
            from ostrom.people.pilot import Crowd, pilot
            from ostrom.studies.plan import plan_of

            pilot(plan_of(stated), Crowd(6, AgentConfig(strategy="random"), miss=0.1), name=name, runs=folder)
        with open_run(Path(folder) / name) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            yield [data]


def people_run() -> AbstractContextManager[list[RunData]]:
    """Play a small run of simulated people."""
    return _played(PEOPLE)
