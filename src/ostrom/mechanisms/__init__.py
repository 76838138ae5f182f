"""Mechanisms: the rules around a game, as generators of decisions. Pure."""

from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.registry import NamedMechanisms

mechanisms = NamedMechanisms(
    "mechanism",
    "ostrom.mechanisms.catalog",
    "MECHANISM",
    "ostrom.mechanisms",
    folder="mechanisms",
    code="ostrom.mechanisms.absent",
)

__all__ = ["Decision", "History", "Mechanism", "Outcome", "Play", "Round", "View", "mechanisms"]
