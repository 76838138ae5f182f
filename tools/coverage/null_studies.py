"""Scripted null studies: real runs of players whose true rates are known.

One study is made here and cut into many of a few seeds; built-in studies are played whole, at their own presets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ostrom.analysis.estimate import Estimate, contrast, estimate, trend
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

RATES = {"coin": 0.5, "mostly": 0.9, "nearly": 0.97}
LENGTHS = (1, 4, 16)
TOGETHER = 5
"""How many studies are played at once."""


def null_study(seeds: int, rounds: int, seed: int = 0) -> StudyFile:
    """Players that neither remember nor deliberate, at several history lengths in two games."""
    return StudyFile.model_validate(
        {
            "name": "null",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": rounds},
            "types": {name: f"random:{p}" for name, p in RATES.items()},
            "vary": {
                "game": ["prisoners_dilemma", "stag_hunt"],
                "k": {"set": "agent.memory.k", "to": list(LENGTHS)},
            },
            "agent": {"memory": {"name": "window", "k": 1}},
            "seeds": seeds,
            "seed": seed,
        }
    )


Counts = dict[str, tuple[int, int]]
"""How many intervals exclude the truth, and of how many, by question."""


def excluded(studies: int, seeds: int, rounds: int) -> Counts:
    """The intervals of many small null studies."""
    counts: Counts = {}
    for batch in range(0, studies, TOGETHER):
        _count(counts, _asked(min(TOGETHER, studies - batch), seeds, rounds, batch * seeds))
    return counts


def excluded_at_preset(name: str, preset: str) -> Counts:
    """The intervals of a built-in study whose players draw at random, whatever it varies."""
    counts: Counts = {}
    types = ", ".join(f"{agent}: 'random:{p}'" for agent, p in RATES.items())
    with TemporaryDirectory() as folder:
        study = load_study(name, preset=preset, changes=[f"types={{{types}}}"])
        play(study, runs=Path(folder))
        with (
            open_run(Path(folder) / study.name) as run,
            run_data(run.rows, run.folder.path, run.manifest) as data,
        ):
            _count(counts, _of_every_factor(data))
    return counts


def _count(counts: Counts, answers: Iterable[tuple[str, Estimate, float]]) -> None:
    for question, found, truth in answers:
        if found.low is not None:
            out, of = counts.get(question, (0, 0))
            counts[question] = out + (truth not in found), of + 1


def _of_every_factor(data: RunData) -> Iterator[tuple[str, Estimate, float]]:
    """Levels of all cells, every level against the first one, and slopes over numbers."""
    for question, by in (("level of a cell", [*data.factors, "agent"]), ("level over all cells", ["agent"])):
        for found in estimate(data, "cooperation", by):
            yield question, found, RATES[found.key["agent"]]
    for factor in data.factors:
        first, *others = data.levels[factor]
        rest = [*(name for name in data.factors if name != factor), "agent"]
        for level in others:
            for found in contrast(data, "cooperation", factor, (level, first), rest):
                yield "difference of two cells", found, 0.0
            for found in contrast(data, "cooperation", factor, (level, first), ["agent"]):
                yield "difference over all cells", found, 0.0
        if others and all(isinstance(level, int | float) for level in (first, *others)):
            for found in trend(data, "cooperation", factor, rest, log="1+x"):
                yield "slope over ln k", found, 0.0


def _asked(studies: int, seeds: int, rounds: int, first: int) -> Iterator[tuple[str, Estimate, float]]:
    """All questions to some studies, which are played as one run."""
    with TemporaryDirectory() as folder:
        play(null_study(studies * seeds, rounds, first), runs=Path(folder), options=PlayOptions())
        with (
            open_run(Path(folder) / "null") as run,
            run_data(run.rows, run.folder.path, run.manifest) as data,
        ):
            start = int(data.records("SELECT min(seed) AS s FROM matches")[0]["s"])
            for low in range(start, start + studies * seeds, seeds):
                yield from _questions(data, f"seed >= {low} AND seed < {low + seeds}")


def _questions(data: RunData, where: str) -> Iterator[tuple[str, Estimate, float]]:
    for found in estimate(data, "cooperation", ["agent", "game", "k"], where=where):
        yield "level of a cell", found, RATES[found.key["agent"]]
    for found in estimate(data, "cooperation", ["agent"], where=where):
        yield "level over all cells", found, RATES[found.key["agent"]]
    for found in contrast(data, "cooperation", "k", (16, 1), ["agent", "game"], where=where):
        yield "difference of two cells", found, 0.0
    for found in contrast(
        data, "cooperation", "game", ("stag_hunt", "prisoners_dilemma"), ["agent"], where=where
    ):
        yield "difference over all cells", found, 0.0
    for found in trend(data, "cooperation", "k", ["agent", "game"], log=True, where=where):
        yield "slope over ln k", found, 0.0
