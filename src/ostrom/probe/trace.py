"""Traces: one reasoned decision of a model, with its scores once judged."""

from dataclasses import dataclass
from typing import Any

from ostrom.ground.streams import key_of

PREFIX = 50
"""The length of the prefix that defines a family of replies (Liu et al. 2026, Appendix I.1)."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores that one judge gave a trace, each from 0 to 10."""

    forward: int
    quality: int
    specificity: int

    @property
    def weight(self) -> float:
        """The weight of the trace in the training loss (Liu et al. 2026, Appendix I.2).

        >>> Scores(9, 10, 7).weight
        0.63
        """
        return self.forward * self.specificity / 100


@dataclass(frozen=True, slots=True)
class Trace:
    """One reply: its place, prompt and answer."""

    run: str
    match: int
    step: int
    seat: int
    """Counted from 1, as in the tables."""
    model: str
    game: str
    history_length: int | None
    action: str
    cooperative: bool | None
    messages: tuple[tuple[str, str], ...]
    """The prompt: (role, text) pairs."""
    reply: str
    """The complete reply, with its answer."""
    reasoning: str
    """The reply without its answer, in which terms are counted."""
    scores: tuple[Scores, ...] = ()
    """The scores, one per judge."""

    @property
    def place(self) -> tuple[str, int, int, int]:
        """Run, match, step and seat."""
        return self.run, self.match, self.step, self.seat

    @property
    def order(self) -> int:
        """Return a number that depends on the place alone: sorting by it is a fixed shuffle."""
        return key_of(":".join(map(str, self.place)))

    @property
    def prompt(self) -> str:
        """Return the prompt as one text."""
        return "\n\n".join(text for _, text in self.messages)

    @property
    def family(self) -> str:
        """Return the beginning of the reply."""
        return self.reply.strip()[:PREFIX]

    @property
    def words(self) -> int:
        """Return the number of words of the reply."""
        return len(self.reply.split())

    @property
    def weight(self) -> float:
        """The mean weight over the judges."""
        return sum(score.weight for score in self.scores) / len(self.scores)

    def provenance(self) -> dict[str, Any]:
        """Return the place of the trace as plain data."""
        return dict(zip(("run", "match", "step", "seat"), self.place, strict=True))
