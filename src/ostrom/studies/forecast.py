"""What a study will take: cells, matches, and an upper bound of calls, tokens and money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from ostrom.agents.style import styles
from ostrom.engine.plan import Seated, Unit
from ostrom.framing import Voice
from ostrom.memory import Shown, memories
from ostrom.models.base import Usage
from ostrom.models.prices import price_of
from ostrom.studies.plan import StudyPlan
from ostrom.studies.rehearsal import rehearse

CHARACTERS_PER_TOKEN = 3.5
"""Rather few, so that the bound holds for the tokenisers in use."""
QUESTIONS = 3
"""So many questions to a player are looked at for the length of its prompts."""


@dataclass(slots=True)
class Forecast:
    """Upper bounds; replies that have to be asked for again come on top, as the retries say."""

    cells: int = 0
    matches: int = 0
    decisions: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0
    unpriced: tuple[str, ...] = ()
    retries_per_decision: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def forecast(plan: StudyPlan, prices: Mapping[str, Any] | None = None) -> Forecast:
    """Bound a study without playing it: one unit of each seating is looked at, seeds multiply."""
    total = Forecast(cells=plan.cells, matches=len(plan), retries_per_decision=plan.retries)
    units = (plan.unit(index) for index in range(len(plan) // plan.study.seeds))
    return add_up(total, units, partial(_tokens, plan), prices, times=plan.study.seeds)


def add_up(
    total: Forecast,
    units: Iterable[Unit],
    tokens_of: Callable[[Unit, Seated, int], float],
    prices: Mapping[str, Any] | None = None,
    times: int = 1,
) -> Forecast:
    """Add what units take, each so many times; ``tokens_of`` a unit, a player and its number is a prompt's length."""
    unpriced: dict[str, None] = {}
    usd = 0.0
    for unit in units:
        decisions = unit.mechanism.most_decisions(unit.game)
        total.decisions += decisions * times
        for player, seated in enumerate(unit.players):
            if seated.config.model is None:
                continue
            per_call = tokens_of(unit, seated, player)
            notes = memories.build(seated.config.memory).most_notes(unit.mechanism.longest_history(unit.game))
            asked = unit.mechanism.decisions_of(unit.game, player, len(unit.players))
            calls = asked * styles.build(seated.config.style).calls + notes
            tokens_in = calls * per_call
            tokens_out = calls * int(seated.config.params.get("max_tokens", 2000))
            total.calls += round(calls * times)
            total.tokens_in += round(tokens_in * times)
            total.tokens_out += round(tokens_out * times)
            price = price_of(seated.config.model, Usage(round(tokens_in), round(tokens_out)), prices)
            if price is None:
                unpriced[seated.config.model] = None
            else:
                usd += price * times
    total.unpriced = tuple(unpriced)
    total.usd = None if unpriced else usd
    return total


def _tokens(plan: StudyPlan, unit: Unit, seated: Seated, player: int) -> float:
    """Mean prompt length over a match: the fixed part plus the lines that memory shows, which grow.

    The fixed part is that of the player's first questions in a match that scripts play.
    """
    config = seated.config
    voice = Voice(config.framing, plan.library, config.style, config.persona)
    asked = rehearse(plan, unit, enough=QUESTIONS)
    questions = asked[player] or [decision for others in asked.values() for decision in others]
    texts = [voice.prompt(decision, Shown(span=0), None, config.facts).text for decision in questions]
    memory = memories.build(config.memory)
    rounds = unit.mechanism.longest_history(unit.game)
    lines = sum(memory.most_lines(t) for t in range(rounds + 1)) / (rounds + 1) if rounds else 0
    line = 12 + 9 * unit.game.seats + 8
    return (sum(map(len, texts)) / len(texts) + lines * line) / CHARACTERS_PER_TOKEN
