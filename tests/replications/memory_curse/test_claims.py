"""A model that plays as the paper says agrees with every claim of the first screen; turned round it differs."""

from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

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


SMALLER = {
    "Longer histories lower cooperation",
    "The first two rounds of memory raise cooperation",
    "Longer histories lower what players earn in Public Goods",
    "Longer histories lower what players earn in the Traveler's Dilemma",
    "Longer histories lower what players earn in the Trust Game",
    "Sanitized memory restores cooperation in the Trust Game",
    "The more of a long history is real, the lower cooperation in the Trust Game",
    "A pair with unequal memories cooperates less than two short ones, in the Trust Game",
}


@pytest.mark.slow
def test_half_of_the_effect_does_not_agree(tmp_path: Path) -> None:
    """Claims with about half of the mean of the paper's models, or less, where half is more than the margin."""
    halved = set()
    for effect in (0.25, 0.1):
        for line in judged(tmp_path / str(effect), effect).claims:
            if line.estimate is None or line.direction_alone or line.claim.kind != "direction":
                continue
            mean = fmean(other.value for other in line.published)
            if line.estimate.value / mean <= 0.55 and abs(mean) / 2 > line.claim.smallest:
                assert line.verdict.answer != "agrees", line.claim.claim
                halved.add(line.claim.claim)
    assert halved >= SMALLER


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
