"""Parts of a paper played by scripted models, and the verdicts of its claims on these runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ostrom.data.rundata import run_data
from ostrom.features.replicate.papers import paper_plan
from ostrom.features.replicate.results import PaperRun, Replication, released_as, replication
from ostrom.models.providers import scripted
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def judged(paper: str, folders: Sequence[Path]) -> Replication:
    """What runs say about the paper."""
    with ExitStack() as stack:
        runs = []
        for folder in folders:
            opened = stack.enter_context(open_run(folder))
            data = stack.enter_context(run_data(opened.rows, folder, opened.manifest))
            runs.append(PaperRun(data, 0, 0.0, released_as(paper_plan(paper)[1], data)))
        return replication(paper, runs)


def verdicts(made: Replication) -> dict[str, set[str]]:
    """The verdicts of every claim that a run was about."""
    found: dict[str, set[str]] = {}
    for line in made.claims:
        if line.run is not None:
            found.setdefault(line.claim.claim, set()).add(line.verdict.answer)
    return found


def played(paper: str, home: Path, rules: Mapping[str, Callable[[Any], str]], parts: Sequence[str]) -> list[Path]:
    """The parts of the paper at their default size."""
    for name, rule in rules.items():
        scripted.register(name, rule)
    for part in paper_plan(paper)[1].parts:
        if part.name in parts:
            models = [f"scripted/{name}" for name in rules]
            study = load_study(part.study, preset=part.preset, models=models, changes=part.set, seeds=part.least)
            play(study, runs=home, name=part.name)
    for name in rules:
        scripted.unregister(name)
    return [home / name for name in parts]
