"""A policy that answers from outside, such as one in training: ``outside/NAME``.

It takes a seat of a study like any model and is never called: ``ostrom.environment`` hands its questions out. It is
asked for nothing but text: no constraint, no log-probabilities, no tools.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from ostrom.ground.errors import ModelError, UsageError
from ostrom.models.base import Abilities, Reply, Request

PREFIX = "outside/"


class OutsideModel:
    """The client of a policy whose questions are answered outside."""

    abilities = Abilities()
    connections = 1

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002
        """Refuse: there is nobody to call."""
        raise ModelError(_refusal(self.name))

    async def close(self) -> None:
        """Nothing to release."""

    def describe(self) -> Mapping[str, Any]:
        """Its name; who answered is not known here."""
        return {"name": self.name, "wire": "outside"}


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:  # noqa: ARG001
    """What every such policy can be asked for: text."""
    return OutsideModel.abilities


def _open(model: str) -> NoReturn:
    raise UsageError(_refusal(PREFIX + model))


def _refusal(name: str) -> str:
    return f"{name}: answers from outside, through ostrom.environment (docs/seats.md), and cannot be called"


PROVIDER = _open
