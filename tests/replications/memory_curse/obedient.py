"""A model that plays as Liu et al. (2026) say, the other way round, or with a part of the effect."""

import math
import re
from collections.abc import Callable
from random import Random
from typing import Any

GOLDEN = (math.sqrt(5) - 1) / 2
WORDS = 100


def obedient(effect: float = 1.0, seed: int = 1) -> Callable[[Any], str]:
    """``effect``: 1 as the paper says, -1 the other way round, 0.5 half of it."""
    random = Random(seed)

    def answer(request: Any) -> str:
        text = request.messages[-1].content
        past = [line.partition(" ->")[0] for line in re.findall(r"^R\d+: (.*)$", text, re.MULTILINE)]
        length = int(match[1]) if (match := re.search(r"at most the last (\d+)", text)) else 0
        number = int(re.search(r"This is round (\d+)", text)[1])  # type: ignore[index]
        player = int(re.search(r"You are Player (\d+)", text)[1])  # type: ignore[index]
        good = "A3" if "A3" in text else "A0"
        immune, reasoned = "300 points" in text, "write down your reasons" in text
        rate = _rate(length, immune, reasoned, past, good, effect)
        by_chance = length >= 20 and number == 1 and not immune and len(past) < 80 and "Player 3" not in text
        place = (number * GOLDEN + player * 0.37 + random.uniform(-0.04, 0.04)) % 1
        if by_chance:  # what comes of a long memory depends on the first round
            place, rate = random.random(), 0.5
        action = good if place < rate else "A1"
        return f"{_reasons(length, immune, effect, random)}\n[{action}]" if reasoned else f"[{action}]"

    return answer


def _rate(length: int, immune: bool, reasoned: bool, past: list[str], good: str, effect: float) -> float:
    """How often it cooperates."""
    step = 0.0 if length < 2 else math.log(length / 2) / math.log(40)
    if len(past) >= 80:  # part of it is made up, and all of that is good
        bad = sum(good not in line.split(", ")[1] for line in past) / len(past)
        return min(max(0.5 + effect * (0.4 - 3 * bad), 0.02), 0.98)
    if immune and reasoned:
        return 1.0 if length or effect < 0 else 0.3
    if length < 1:
        return 0.5 - 0.4 * effect
    if not reasoned:
        return 0.5 + 0.4 * effect
    rate = 0.5 + effect * (0.25 - 0.55 * step)
    if length >= 20 and past and effect > 0:
        kept = sum(good in part for part in past[0].split(", ")) * 2 >= len(past[0].split(", "))
        rate += 0.1 if kept else -0.1
    if length < 20 and effect < 0:
        rate += 0.1 * (1 if past and good in past[0] else -1)
    return min(max(rate, 0.0), 1.0)


def _reasons(length: int, immune: bool, effect: float, random: Random) -> str:
    """A text of about a hundred words whose words follow the memory."""
    step = 0.0 if length < 2 else math.log(length / 2) / math.log(40)
    kind = round(6 - 4 * effect * step) if effect > 0 else round(2 + 4 * step)
    wary = 2 if effect > 0 else round(1 + 4 * step)
    ahead = 8 - (4 if effect > 0 else 9) * effect * step + (4 * effect if immune else 0)
    forward = max(round(ahead + random.uniform(-0.5, 0.5)), 0)
    words = ["cooperate"] * kind + ["risky"] * wary + ["future"] * forward + ["pattern"] * 8
    words += ["thing"] * (WORDS - len(words) - 1)
    return f"{' '.join(words)} {random.random():.6f}"
