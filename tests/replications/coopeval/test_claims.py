"""Every claim of the paper is judged: a model that does as reported agrees, its contrary differs."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.replications.coopeval.rules import CAPABLE, CONTRARY, LONER, Ruled

from ostrom.data.rundata import run_data
from ostrom.features.replicate.papers import paper_plan
from ostrom.features.replicate.results import PaperRun, Replication, released_as, replication
from ostrom.models.providers import scripted
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

PLAN = paper_plan("coopeval")[1]
EVOLUTION = "Mechanisms are more effective under evolution"
LENGTH = "Referee: a longer text does not"


def judged(folders: Sequence[Path], *chosen: str) -> Replication:
    """What runs say about the paper."""
    with ExitStack() as stack:
        runs = []
        for folder in folders:
            opened = stack.enter_context(open_run(folder))
            data = stack.enter_context(run_data(opened.rows, folder, opened.manifest))
            runs.append(PaperRun(data, 0, 0.0, released_as(PLAN, data)))
        return replication("coopeval", runs, chosen)


def verdicts(made: Replication, agent: str | None = None) -> dict[str, set[str]]:
    """The verdicts of every claim that a run was about."""
    found: dict[str, set[str]] = {}
    for line in made.claims:
        if line.run is not None and agent in (None, line.agent):
            found.setdefault(line.claim.claim, set()).add(line.verdict.answer)
    return found


def played(home: Path, rules: dict[str, Ruled], parts: Sequence[str]) -> list[Path]:
    """The parts of the paper at their default size."""
    for name, rule in rules.items():
        scripted.register(name, rule)
    for part in PLAN.parts:
        if part.name in parts:
            models = [f"scripted/{name}" for name in rules]
            study = load_study(part.study, preset=part.preset, models=models, changes=part.set, seeds=part.least)
            play(study, runs=home, name=part.name)
    for name in rules:
        scripted.unregister(name)
    return [home / name for name in parts]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "answer"), [(CAPABLE, "agrees"), (CONTRARY, "differs")])
def test_who_does_as_reported_agrees_and_its_contrary_differs(rule: Ruled, answer: str, tmp_path: Path) -> None:
    made = judged(played(tmp_path, {"ruled": rule}, ("mechanisms", "direct", "controls", "phrasing")))
    found = verdicts(made)
    assert found.pop(EVOLUTION) == {"not comparable"}  # one type alone cannot evolve
    assert found.pop(LENGTH) == {"agrees"}  # neither minds the length of a text
    assert len(found) == len(PLAN.claims) - 2
    assert set(map(tuple, found.values())) == {(answer,)}, found


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "answers"), [(CAPABLE, {"agrees"}), (Ruled(reciprocal=False), {"agrees", "differs"})])
def test_evolution_helps_where_cooperation_is_kept_from_defectors(
    rule: Ruled, answers: set[str], tmp_path: Path
) -> None:
    made = judged(played(tmp_path, {"ruled": rule, "loner": LONER}, ("mechanisms",)))
    lines = [line for line in made.claims if line.claim.claim == EVOLUTION]
    found = {str(line.estimate.key["mechanism"]): line for line in lines if line.estimate is not None}
    assert set(found) == {"repetition", "mediation", "contracting"} and {line.agent for line in lines} == {"all agents"}
    assert {line.verdict.answer for line in lines} == answers
    # Whoever cooperates with defectors is driven out of a repetition.
    assert (found["repetition"].verdict.answer == "differs") is not rule.reciprocal
