"""Strategies about amounts, for games by a rule."""

from abc import abstractmethod
from collections.abc import Mapping
from math import fsum
from typing import ClassVar

from ostrom.agents.automaton import Automaton
from ostrom.agents.past import Past
from ostrom.agents.strategy import Strategy
from ostrom.answers import Choice, Form, Number
from ostrom.games.amounts import Value
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Amount, Share, checked
from ostrom.ground.parameters import Number as Finite


class ByAmount(Strategy):
    """A strategy that names an amount, and has nothing to say among named options."""

    needs_cooperation = False
    about_amounts: ClassVar[bool] = True

    @abstractmethod
    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:
        """The amount to name after this past."""

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """Return the amount; refuse a stage that asks for a named option."""
        if not isinstance(form, Number):
            raise StudyError(
                f"strategy {self.name} names an amount; game {past.game.name} asks for one of some options at the "
                f"stage {past.view.facts['stage']} (`constant` and `script` take an answer for each stage)"
            )
        return self.amount(past, form)

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:  # noqa: ARG002
        """Return None: amounts have no automaton."""
        return None

    def move(self, past: Past) -> float:
        """Refuse: the strategy is about amounts."""
        raise StudyError(f"strategy {self.name} names an amount; game {past.game.name} has named actions")


def named_by_others(past: Past) -> list[float]:
    """Return the others' amounts at this stage of the last round; empty if there is none."""
    if not past:
        return []
    stage = past.view.facts.get("stage")
    return [
        float(move["value"])
        for move in past.rounds[-1].facts.get("moves", ())
        if move["seat"] != past.seat and move["stage"] == stage and not isinstance(move["value"], str)
    ]


def last_amount(past: Past) -> float | None:
    """Return the last amount that another player named in this round; None if there is none."""
    named = [
        move["value"]
        for move in past.view.facts.get("moves", ())
        if move["seat"] != past.seat and not isinstance(move["value"], str)
    ]
    return float(named[-1]) if named else None


class Proportional(ByAmount):
    """Name the same share of what may be named, whatever the others do: of the endowment, the pie or the stock."""

    name = "proportional"
    title: ClassVar[str] = "Proportional"
    citation: ClassVar[str] = "Ledyard (1995)"
    memory_depth = 0

    @checked
    def __init__(self, share: Share = 0.5) -> None:
        self.share = float(share)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The amount nearest to the share."""
        return form.amounts.nearest(form.low + self.share * (form.high - form.low))


class ConditionalCooperator(ByAmount):
    """Name the others' mean of the last round times ``slope``; at first a share ``first`` of the most allowed."""

    name = "conditional_cooperator"
    title: ClassVar[str] = "Conditional Cooperator"
    citation: ClassVar[str] = "Fischbacher, Gächter and Fehr (2001)"
    memory_depth = 1

    @checked
    def __init__(self, slope: Amount = 1.0, first: Share = 0.5) -> None:
        self.slope, self.first = float(slope), float(first)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:
        """Return the others' mean, within what is allowed."""
        seen = named_by_others(past)
        at_first = form.low + self.first * (form.high - form.low)
        return form.amounts.nearest(self.slope * fsum(seen) / len(seen) if seen else at_first)


class Threshold(ByAmount):
    """Take the first option (accept) if the amount just named is at least ``least``, else the second one.

    Where it names an amount itself, it names ``names``, by default ``least`` too.
    """

    name = "threshold"
    title: ClassVar[str] = "Threshold"
    citation: ClassVar[str] = "Güth, Schmittberger and Schwarze (1982)"
    memory_depth = 0

    @checked
    def __init__(self, least: Finite = 0, names: Finite | None = None) -> None:
        self.least, self.names = least, least if names is None else names

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """Return the allowed amount nearest to the parameter ``names``."""
        return form.amounts.nearest(self.names)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """Return the first option if the threshold is reached."""
        if not isinstance(form, Choice):
            return super().choose(past, form)
        offered = last_amount(past)
        if offered is None or len(form.options) != 2:
            raise StudyError(
                f"strategy {self.name} answers an amount by one of two options; game {past.game.name} asks otherwise"
            )
        return form.options[0] if offered >= self.least else form.options[1]
