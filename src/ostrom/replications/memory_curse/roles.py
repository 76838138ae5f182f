"""Unequal memories in one match: the forgiver, who sees few rounds, and the grudge-holder, who sees many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.replications.memory_curse.episodes import Episode, grouped
from ostrom.replications.memory_curse.estimates import Estimate, difference, estimate

FORGIVER, GRUDGE_HOLDER = "forgiver", "grudge-holder"


@dataclass(frozen=True, slots=True)
class Company:
    """One agent in one game and composition of memories."""

    agent: str
    game: str
    style: str | None
    lengths: tuple[int, ...]
    """The history lengths around the table, shortest first."""
    overall: Estimate
    forgiver: Estimate | None
    grudge_holder: Estimate | None
    gap: Estimate | None
    """Forgiver minus grudge-holder."""
    seats: dict[int, Estimate]
    seat_gaps: dict[int, Estimate]
    """Each seat minus the mean of the other seats."""

    @property
    def name(self) -> str:
        """The composition as text."""
        return composition(self.lengths)


def composition(lengths: Sequence[int]) -> str:
    """What a composition is called.

    >>> composition((2, 2, 80))
    '2 x HL 2 + 1 x HL 80'
    """
    return " + ".join(f"{list(lengths).count(n)} x HL {n}" for n in sorted(set(lengths)))


def role(row: Episode) -> str | None:
    """Forgiver or grudge-holder by the shortest and longest memory at the table; None where all are alike."""
    lengths = [n for n in row.company if n is not None]
    if len(lengths) != len(row.company) or len(set(lengths)) < 2 or row.length is None:
        return None
    if row.length == min(lengths):
        return FORGIVER
    return GRUDGE_HOLDER if row.length == max(lengths) else None


def companies(rows: Sequence[Episode], *, mixed_only: bool = True) -> list[Company]:
    """Every agent, game, style and composition of memories; by default those with unequal memories."""
    found = []
    fixed = [row for row in rows if all(n is not None for n in row.company)]
    groups = grouped(
        fixed, lambda r: (r.agent, r.game, r.style, tuple(sorted(n for n in r.company if n is not None)))
    )
    for (agent, game, style, lengths), of in groups.items():
        if mixed_only and len(set(lengths)) < 2:
            continue
        overall = estimate(of)
        if overall is None:
            continue
        roles = grouped(of, role)
        short, long = roles.get(FORGIVER, []), roles.get(GRUDGE_HOLDER, [])
        by_seat = dict(sorted(grouped(of, lambda r: r.seat).items()))
        seats = {seat: e for seat, of_seat in by_seat.items() if (e := estimate(of_seat)) is not None}
        gaps = {
            seat: gap
            for seat, of_seat in by_seat.items()
            if (gap := difference(of_seat, [r for r in of if r.seat != seat])) is not None
        }
        found.append(
            Company(
                agent, game, style, lengths, overall, estimate(short), estimate(long),
                difference(short, long), seats, gaps,
            )
        )  # fmt: skip
    return found
