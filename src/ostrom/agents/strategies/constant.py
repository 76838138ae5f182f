"""Constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index, at_stage
from ostrom.agents.strategies._by_action import ByAction
from ostrom.answers import Form
from ostrom.games.amounts import Value
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import checked


class Constant(ByAction):
    """Play one action always, given by its name or its index (a name goes before an index).

    Where actions are amounts it is the amount; where a round has stages, there may be one action for each
    (``{offer: 40, reply: accept}``).
    """

    title: ClassVar[str] = "Constant"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 0
    fixed_rounds = 1

    @checked
    def __init__(self, action: str | float | Mapping[str, str | float]) -> None:
        self.given = action

    def action(self, past: Past) -> int:
        """The given action."""
        if isinstance(self.given, Mapping) or (isinstance(self.given, float) and not self.given.is_integer()):
            raise StudyError(
                f"strategy {self.name}: game {past.game.name} has named actions", found=self.given
            )
        action = int(self.given) if isinstance(self.given, float) else self.given
        return action_index(past.game, past.seat, action, self.name)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The given amount or option, by stage where there are several."""
        return at_stage(self.given, past, self.name) if isinstance(self.given, Mapping) else self.given


STRATEGY = Constant
