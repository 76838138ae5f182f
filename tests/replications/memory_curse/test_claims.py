"""A model that plays as the paper says agrees with every claim of the first screen; turned round it differs."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.replications.memory_curse.obedient import obedient

from ostrom.data.rundata import run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.features.replicate.papers import paper_plan
from ostrom.features.replicate.results import PaperRun, Replication, replication
from ostrom.models.providers import scripted
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run, play

MODEL = "scripted/obedient"
ONE = PlayOptions(max_connections=1)
"""One call at a time: the model draws in the order of its calls."""
# Three matches a cell, as the paper; fewer rounds and lengths, which only makes it harder.
PLAYED = {
    "memory": ["mechanism.rounds=16", "vary.history_length={set: agent.memory.k, to: [0, 2, 10, 20, 80]}"],
    "memory-sanitized": [
        "mechanism.rounds=16",
        "vary.sanitization={trust ideal: {game: trust_symmetric, agent.memory.mode: ideal}}",
        "vary.real_rounds={set: agent.memory.real, to: [2, 10, 80]}",
    ],
    "memory-asymmetric": ["mechanism.rounds=16"],
}
NEEDS_TRAINING = {"An adapter trained on Public Goods raises cooperation at history length 80 in the other games"}


def judged(folder: Path, effect: float, *chosen: str) -> Replication:
    """The paper judged by runs of a model with so much of its effect."""
    scripted.register("obedient", obedient(effect))
    with ExitStack() as stack:
        runs = []
        for name, changes in PLAYED.items():
            found = resolve(name, changes=changes, models=[MODEL], seeds=3, options=ONE)
            play(found.plan.study, runs=folder, options=ONE)
            opened = stack.enter_context(open_run(name, folder))
            data = stack.enter_context(run_data(opened.rows, opened.folder.path, opened.manifest))
            runs.append(PaperRun(data, 1, 0.0))
        return replication("memory-curse", runs, chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "answer"), [(1.0, "agrees"), (-1.0, "differs")])
def test_every_claim_is_judged_rightly(effect: float, answer: str, tmp_path: Path) -> None:
    made = judged(tmp_path, effect)
    answers = {line.claim.claim: line.verdict.answer for line in made.claims}
    assert {claim for claim, verdict in answers.items() if verdict == "not comparable"} == NEEDS_TRAINING
    assert {claim: verdict for claim, verdict in answers.items() if verdict != answer} == dict.fromkeys(
        NEEDS_TRAINING, "not comparable"
    )
    assert len(answers) == len(made.claims) == 19


@pytest.mark.slow
def test_beside_one_model_the_margin_decides(tmp_path: Path) -> None:
    made = judged(tmp_path, 0.5, f"{MODEL}=GPT-OSS-20B")
    lines = {line.claim.claim: line for line in made.claims}
    for claim in (
        "Longer histories lower cooperation",
        "Longer histories lower what players earn in the Traveler's Dilemma",
    ):
        line = lines[claim]
        (printed,) = line.published
        assert line.estimate is not None and 0.25 < line.estimate.value / printed.value < 0.6
        assert abs(printed.value) / 2 > line.claim.smallest
        assert (line.verdict.answer, line.verdict.why) == (
            "differs", "The direction is that of the paper, the effect is smaller.",
        )  # fmt: skip
    assert lines["Immune pairs look forward more than cursed ones at history length 80"].verdict.answer == "differs"
    assert lines["Sanitized memory restores cooperation in the Trust Game"].verdict.answer != "agrees"
    assert {claim for claim, line in lines.items() if line.estimate and line.direction_alone} == {
        "Forward-looking words decline as histories grow"  # Figure 3a, not printed as numbers
    }


def test_only_claims_that_need_training_or_the_papers_models_are_not_judged() -> None:
    _, plan = paper_plan("memory-curse")
    assert {claim.claim for claim in plan.claims if claim.run in plan.further} == NEEDS_TRAINING
    assert [one.claim for one in plan.not_judged] == [
        "General benchmarks stay as they are after training",
        "Stronger models mention defections and cooperate all the same",
    ]
