"""Scripted null studies: real runs of players whose true rates are known, cut into studies of a few seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ostrom.analysis.estimate import Estimate, contrast, estimate, trend
from ostrom.analysis.rundata import RunData, run_data
from ostrom.engine.runner import Options
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


def excluded(studies: int, seeds: int, rounds: int) -> dict[str, tuple[int, int]]:
    """How many intervals exclude the truth, and of how many, by question."""
    counts: dict[str, tuple[int, int]] = {}
    for batch in range(0, studies, TOGETHER):
        for question, found, truth in _asked(min(TOGETHER, studies - batch), seeds, rounds, batch * seeds):
            if found.low is not None:
                out, of = counts.get(question, (0, 0))
                counts[question] = out + (truth not in found), of + 1
    return counts


def _asked(studies: int, seeds: int, rounds: int, first: int) -> Iterator[tuple[str, Estimate, float]]:
    """All questions to some studies, which are played as one run."""
    with TemporaryDirectory() as folder:
        play(null_study(studies * seeds, rounds, first), runs=Path(folder), options=Options())
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
