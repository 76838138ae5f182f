"""A policy that is answered by the caller, such as one in training: ``outside/NAME``.

Such a policy takes a seat of a study like any model, but Ostrom never calls it: ``ostrom.environment`` passes its
questions to the caller. It is asked for plain text only: no constraint, no log-probabilities, no tools.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from ostrom.ground.errors import ModelError, UsageError
from ostrom.models.base import Abilities, Reply, Request

PREFIX = "outside/"


class OutsideModel:
    """The client of a policy that is answered by the caller."""

    abilities = Abilities()
    connections = 1

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002
        """Refuse: there is no server to call."""
        raise ModelError(_refusal(self.name))

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def describe(self) -> Mapping[str, Any]:
        """Return its name; the answering policy is unknown here."""
        return {"name": self.name, "wire": "outside"}


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:  # noqa: ARG001
    """Return the abilities of an outside policy: plain text only."""
    return OutsideModel.abilities


def _open(model: str) -> NoReturn:
    raise UsageError(_refusal(PREFIX + model))


def _refusal(name: str) -> str:
    return f"{name}: answers from outside, through ostrom.environment (docs/seats.md), and cannot be called"


PROVIDER = _open
