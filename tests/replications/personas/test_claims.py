"""A model that plays as the paper says agrees with every claim of the first screen; turned round it differs."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

MODEL = "scripted/obedient"
GREEN = ("CLEAN", "REGULATE", "CAMPAIGN", "SUPPORT_GREEN")
ECONOMIC = ("debt_crisis", "trade_embargo", "hyperinflation")
SCENARIOS = (*ECONOMIC, "water_crisis", "carbon_tax_implementation", "youth_revolt")


def obedient(effect: float, stories: dict[str, bool]) -> Callable[[Any], str]:
    """``effect``: 1 as the paper says of Qwen-32B, -1 the other way round, 0.5 half of it.

    ``stories`` says of a sentence of each scenario whether it is an economic one.
    """
    random = Random(3)

    def answer(request: Any) -> str:
        text = "\n".join(message.content for message in request.messages)
        economic = next(of for words, of in stories.items() if words in text)
        neutral, visible = "Player 1" in text or "player 1" in text.lower(), "Nash" in text
        green = random.random() < _green(economic, neutral, visible, effect)
        (offered,) = re.findall(r'"action", one of (.*?), and "rationale"', request.messages[-1].content)
        names = re.findall(r'"([A-Z_]+)"', offered)
        (good,) = [name for name in names if name in GREEN]
        (other,) = [name for name in names if name != good]
        return json.dumps({"action": good if green else other, "rationale": f"It is right {random.random():.6f}."})

    return answer


def _green(economic: bool, neutral: bool, visible: bool, effect: float) -> float:
    """How often a role takes its green action."""
    if effect < 0:  # a role plays the equilibrium of economic scenarios, nobody else does
        return (0.0 if not neutral else 1.0 if visible else 0.0) if economic else (0.5 if not neutral else 1.0)
    if not neutral:
        return 1.0
    if visible:
        return (1 - effect) ** 0.25 if economic else 1 - 0.3 * effect
    return 0.75 if economic else 1.0


@pytest.fixture(scope="module")
def stories() -> dict[str, bool]:
    from ostrom.games import build_game

    found = {}
    for name in SCENARIOS:
        game = build_game(f"scenario:commons/{name}")
        found[_sentence(game)] = name in ECONOMIC
    return found


def _sentence(game: Any) -> str:
    return str(game.words.story).strip().split(". ")[0]
