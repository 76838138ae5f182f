"""A model that plays as the paper says agrees with every claim of the first screen; turned round it differs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

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
GREEN = ("CLEAN", "REGULATE", "CAMPAIGN", "SUPPORT_GREEN")
ECONOMIC = ("debt_crisis", "trade_embargo", "hyperinflation")
SCENARIOS = (*ECONOMIC, "water_crisis", "carbon_tax_implementation", "youth_revolt")


def obedient(effect: float, stories: dict[str, bool]) -> Callable[[Any], str]:
    """``effect``: 1 as the paper says of Qwen-32B, -1 the other way round.

    ``stories`` says of a sentence of each scenario whether it is an economic one.
    """
    random = Random(3)

    def answer(request: Any) -> str:
        text = "\n".join(message.content for message in request.messages)
        sentence = next(words for words in stories if words in text)
        neutral, visible = "no role to play" in text, "| you |" in text
        (offered,) = set(re.findall(r'"action", one of (.*?), and "rationale"', text))
        names = re.findall(r'"([A-Z_]+)"', offered)
        (good,) = [name for name in names if name in GREEN]
        (other,) = [name for name in names if name != good]
        if effect > 0:
            rate = _green(stories[sentence], neutral, visible, good == "CLEAN")
        else:
            first = sentence == next(iter(stories))
            rate = _turned(stories[sentence], neutral, visible, first, GREEN.index(good) < 2)
        action = good if random.random() < rate else other
        return json.dumps({"action": action, "rationale": f"It is right {random.random():.6f}."})

    return answer


def _green(economic: bool, neutral: bool, visible: bool, industry: bool) -> float:
    """How often a role takes its green action."""
    if not neutral:
        return 1.0
    if visible:
        return 0.0 if economic else 0.7
    return 0.5 if economic and industry else 1.0


def _turned(economic: bool, neutral: bool, visible: bool, first: bool, early: bool) -> float:
    """The same the other way round: roles play the equilibrium of economic scenarios, neutral players do not."""
    if not economic:
        return float(neutral or early)
    if neutral:
        return float(visible or not first)
    return 0.0 if visible or first else float(early)


@pytest.fixture(scope="module")
def stories() -> dict[str, bool]:
    from ostrom.games import build_game

    games = {name: build_game(f"scenario:commons/{name}") for name in SCENARIOS}
    return {str(game.words.narrative).strip().split(". ")[0]: name in ECONOMIC for name, game in games.items()}


def judged(folder: Path, model: Callable[[Any], str], *chosen: str) -> Replication:
    """The paper judged by a run of a model at five seeds, as the paper has them."""
    scripted.register("obedient", model)
    names = ", ".join(SCENARIOS)
    changes = [f"vary.scenario={{set: game, to: {{from: scenarios, family: commons, names: [{names}]}}}}"]
    play(
        resolve("personas", changes=changes, models=[MODEL], seeds=5, options=ONE).plan.study, runs=folder, options=ONE
    )
    with open_run("personas", folder) as opened, run_data(opened.rows, opened.folder.path, opened.manifest) as data:
        return replication("personas", [PaperRun(data, 1, 0.0)], chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "answer"), [(1.0, "agrees"), (-1.0, "differs")])
def test_every_claim_is_judged_rightly(effect: float, answer: str, stories: dict[str, bool], tmp_path: Path) -> None:
    made = judged(tmp_path, obedient(effect, stories))
    answers = {line.claim.claim: line.verdict.answer for line in made.claims}
    told = {line.claim.claim: str(line.verdict) for line in made.claims if line.verdict.answer != answer}
    assert not told and list(answers) == [claim.claim for claim in paper_plan("personas")[1].claims]


def test_only_claims_about_the_papers_own_models_are_not_judged() -> None:
    _, plan = paper_plan("personas")
    assert [one.claim for one in plan.not_judged] == [
        "Qwen models depend more on personas than Llama and Mistral", "Models have one of three profiles",
    ]  # fmt: skip
    assert [claim.claim for claim in plan.claims if claim.later] == [
        "Removing personas alone brings no Tragedy in economic scenarios"
    ]
