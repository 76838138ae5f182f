"""What comes out of reading a reply: an answer, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.ground.values import value

Reading = Literal[
    "exact",
    "loose",
    "constrained",
    "logprob",
    "scripted",
    "person",
    "policy",
    "refused",
    "imported",
    "assigned",
    "missed",
]


@value
class Answer:
    """A valid answer. ``value`` is plain data (an option's key, a mapping, a text).

    ``probabilities`` are there when the answer was drawn from a distribution that is known: a stated mixed
    strategy, log-probabilities of the options, or a stochastic strategy that tells its odds.
    ``note`` says what befell the answer (for example which policy replaced an invalid one).
    A decision that nobody answered in time has the reading ``missed`` and no value: the mechanism decides what
    that means, and no agent ever puts an action in its place.
    """

    value: Any
    reading: Reading = "scripted"
    probabilities: Mapping[str, float] | None = None
    note: str | None = None
    facts: Mapping[str, Any] | None = None
    """What is worth keeping about the asking, for example which label stood for which option."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """No answer: ``reason`` is short, lower case, and shown to the model when it is asked again."""

    reason: str
