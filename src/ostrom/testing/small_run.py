"""A small run of scripted players, for checks that need one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
"""Players with and without chance, in two games."""

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
"""Games with amounts: in turn, with a stock, with a price."""

PEOPLE: Mapping[str, Any] = {
    "name": "people",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 3},
    "types": {"other": {"strategy": "tit_for_tat"}, "you": {"person": "web"}},
    "seating": "seats",
    "vary": {
        "prompting": {
            "base": {"types.other.strategy": "tit_for_tat"},
            "other": {"types.other.strategy": "grim"},
        }
    },
    "people": {
        "source": {"name": "link", "places": 10},
        "quota": 10,
        "visit": [
            {"match": 1},
            {"ask": {"name": "guess", "text": "A person?", "options": ["person", "artificial"]}},
        ],
        "time": {"decision": 20},
    },
}
"""Simulated people against scripts, who are asked one thing afterwards."""


@contextmanager
def small_run(data: RunData | Sequence[RunData] | None = None) -> Iterator[list[RunData]]:
    """The runs that are given, or a small one that is played now."""
    if data is not None:
        yield [data] if isinstance(data, RunData) else list(data)
        return
    with _played(SMALL) as tables:
        yield [tables]


@contextmanager
def amounts_run() -> Iterator[list[RunData]]:
    """A small run of games with amounts that is played now."""
    with _played(AMOUNTS) as tables:
        yield [tables]


@contextmanager
def _played(study: Mapping[str, Any]) -> Iterator[RunData]:
    with TemporaryDirectory() as folder:
        play(StudyFile.model_validate(dict(study)), runs=Path(folder), options=PlayOptions())
        with (
            open_run(Path(folder) / study["name"]) as opened,
            run_data(opened.rows, opened.folder.path, opened.manifest) as tables,
        ):
            yield tables


@contextmanager
def people_run() -> Iterator[list[RunData]]:
    """A small run of simulated people that is played now."""
    from ostrom.agents.config import AgentConfig
    from ostrom.people.pilot import Crowd, pilot
    from ostrom.studies.plans import plan_of

    with TemporaryDirectory() as folder:
        plan = plan_of(StudyFile.model_validate(dict(PEOPLE)))
        pilot(plan, Crowd(6, AgentConfig(strategy="random"), miss=0.1), name="people", runs=folder)
        with (
            open_run(Path(folder) / "people") as opened,
            run_data(opened.rows, opened.folder.path, opened.manifest) as tables,
        ):
            yield [tables]
