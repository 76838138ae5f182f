"""The payoffs of a game from one seat's side: own action, the others' actions, and payoffs.

This is structure, not text: the framing puts it into words. Everything here is read off the payoff tensor, so
what a seat is told is what is scored.
"""

from dataclasses import dataclass
from itertools import pairwise, product

from ostrom.games.formula import ClaimFormula, Formula, Term
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game, Profile
from ostrom.games.tensor import interchangeable
from ostrom.ground.errors import GameError


@dataclass(frozen=True)
class OutcomeLine:
    """One outcome from a seat's side."""

    seat: int
    own: int
    others: tuple[tuple[int, int], ...]
    """(seat, action) of every other seat, in seat order."""
    payoffs: tuple[float, ...]
    """The payoffs of all seats, in seat order."""

    @property
    def payoff(self) -> float:
        """Return the reader's payoff."""
        return self.payoffs[self.seat]

    @property
    def profile(self) -> Profile:
        """The outcome as a profile in seat order."""
        actions = dict(self.others) | {self.seat: self.own}
        return tuple(actions[seat] for seat in range(len(actions)))


@dataclass(frozen=True)
class CountLine:
    """All outcomes with the same own action and the same numbers of others per action."""

    seat: int
    own: int
    counts: tuple[int, ...]
    """The number of others per action."""
    payoff: float
    """The reader's payoff."""
    other_payoffs: tuple[float | None, ...]
    """The payoff of others with each action; None if nobody plays it."""


def describe(game: Game, seat: int) -> tuple[OutcomeLine, ...]:
    """Return every outcome for a seat: own actions in order, then all actions of the others.

    >>> from ostrom.games import games
    >>> build = games.get("trust")
    >>> [(line.own, line.others, line.payoff) for line in describe(build(), 1)][:2]
    [(0, ((0, 0),), 10.0), (0, ((0, 1),), 2.0)]
    """
    rest = _others(game, seat)
    if isinstance(game, FunctionGame):
        game.profiles()  # refused: a game by a rule may have more outcomes than memory holds
    return tuple(
        OutcomeLine(
            seat, own, tuple(zip(rest, others, strict=True)), game.payoff((*others[:seat], own, *others[seat:]))
        )
        for own in range(len(game.actions[seat]))
        for others in product(*(range(len(game.actions[other])) for other in rest))
    )


def describe_counts(game: Game, seat: int) -> tuple[CountLine, ...] | None:
    """Return the short description by numbers of others; None for games where identities matter.

    The lines go by own action, then from most others on the first action to most on the last.

    >>> from ostrom.games.catalog._groups import public_goods
    >>> [(line.own, line.counts, line.payoff) for line in describe_counts(public_goods(), 0)][:3]
    [(0, (2, 0), 1.5), (0, (1, 1), 1.0), (0, (0, 2), 0.5)]
    """
    rest = _others(game, seat)
    if not rest or not all(interchangeable(game.actions, game.payoffs, a, b) for a, b in pairwise(rest)):
        return None
    width = len(game.actions[rest[0]])
    lines = []
    for own, counts in product(range(len(game.actions[seat])), _counts(len(rest), width)):
        # The others are interchangeable, so any outcome with these numbers represents all.
        others = [action for action, n in enumerate(counts) for _ in range(n)]
        payoffs = game.payoff((*others[:seat], own, *others[seat:]))
        paid = {action: payoffs[other] for other, action in zip(rest, others, strict=True)}
        lines.append(CountLine(seat, own, counts, payoffs[seat], tuple(paid.get(a) for a in range(width))))
    return tuple(lines)


def _others(game: Game, seat: int) -> list[int]:
    if not 0 <= seat < game.seats:
        raise GameError(f"game {game.name}: no seat {seat + 1}, the game has {game.seats}")
    return [other for other in range(game.seats) if other != seat]


def _counts(total: int, width: int) -> list[tuple[int, ...]]:
    if width == 1:
        return [(total,)]
    return [(n, *rest) for n in range(total, -1, -1) for rest in _counts(total - n, width - 1)]


def formula_of(game: Game, seat: int) -> Formula | ClaimFormula | None:
    """Return the formula of a seat's payoffs, given by the game or read off its table; None if there is none.

    >>> from ostrom.games import build_game
    >>> formula_of(build_game("stag_hunt"), 0) is not None
    True
    """
    if game.formula is not None:
        return game.formula
    counted = next((c for c in game.cooperative if c is not None), 0)
    if game.seats < 2 or len(set(game.actions)) > 1 or len(game.actions[0]) != 2:
        return None
    terms = []
    for own in range(2):
        ends = [_paid(game, seat, own, counted, many) for many in (0, game.seats - 1)]
        slope = (ends[1] - ends[0]) / (game.seats - 1)
        terms.append(Term(ends[0] - slope * (own == counted), slope))
    formula = Formula(counted, tuple(terms))
    return formula if formula.fits(game.payoffs, seat) else None


def _paid(game: Game, seat: int, own: int, counted: int, others: int) -> float:
    """Return a seat's payoff if all others choose the counted action, or none does."""
    rest = counted if others else 1 - counted
    return game.payoff([own if s == seat else rest for s in range(game.seats)])[seat]
