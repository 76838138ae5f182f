"""Rules about amounts, for games whose payoffs follow from a rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from ostrom.agents.automaton import Automaton
from ostrom.agents.past import Past
from ostrom.agents.strategy import Strategy
from ostrom.answers import Form, Number
from ostrom.games.amounts import Value
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


class ByAmount(Strategy):
    """A strategy that names an amount, and has nothing to say among named options."""

    needs_cooperation = False
    about_amounts: ClassVar[bool] = True

    @abstractmethod
    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:
        """The amount to name after this past."""

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """The amount."""
        if not isinstance(form, Number):
            raise StudyError(
                f"strategy {self.name} names an amount; game {past.game.name} asks for one of some options at the "
                f"stage {past.view.facts['stage']} (`constant` and `script` take an answer for each stage)"
            )
        return self.amount(past, form)

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:  # noqa: ARG002
        """None: amounts are no states."""
        return None

    def move(self, past: Past) -> float:
        """Refused: the rule is about amounts."""
        raise StudyError(f"strategy {self.name} names an amount; game {past.game.name} has named actions")


def named_by_others(past: Past) -> list[float]:
    """The amounts that the others named at this stage of the last round; none where there is no such round."""
    if not past:
        return []
    stage = past.view.facts.get("stage")
    return [
        float(move["value"])
        for move in past.rounds[-1].facts.get("moves", ())
        if move["seat"] != past.seat and move["stage"] == stage and not isinstance(move["value"], str)
    ]


def last_amount(past: Past) -> float | None:
    """The last amount that somebody else named in the round under way."""
    named = [
        move["value"]
        for move in past.view.facts.get("moves", ())
        if move["seat"] != past.seat and not isinstance(move["value"], str)
    ]
    return float(named[-1]) if named else None
