"""How a scripted player answers questions that are not about its action, when its strategy does not say.

Only kinds of decision with one sensible answer for every rule of play are here. A strategy speaks for itself
by a method named after the kind (``def vote(self, view, form)``); for all else it has no answer, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ostrom.agents.strategies._actions import favourite
from ostrom.agents.strategy import Strategy
from ostrom.answers import Choice, Form, Text
from ostrom.errors import StudyError
from ostrom.mechanisms.protocol import View

Conduct: TypeAlias = Callable[[Strategy, View, Form], Any]


def message(strategy: Strategy, view: View, form: Form) -> str:  # noqa: ARG001
    """A script has nothing to say: the empty message."""
    if not isinstance(form, Text):
        raise StudyError(f"strategy {strategy.name} can only answer a 'message' decision with text")
    return ""


def predict(strategy: Strategy, view: View, form: Form) -> str:
    """Expect the co-player to repeat its last action; at first, to cooperate or to play for its favourite."""
    game, other = view.game, 1 - view.seat
    if game.seats != 2 or not isinstance(form, Choice):
        raise StudyError(f"strategy {strategy.name} can only predict one co-player's choice")
    if view.history:
        return game.actions[other][view.history[-1].actions[other]]
    cooperative = game.cooperative[other]
    return game.actions[other][favourite(game, other, other) if cooperative is None else cooperative]


CONDUCT: Mapping[str, Conduct] = {"message": message, "predict": predict}
