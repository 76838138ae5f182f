"""The payoffs of a game for one reader, in the layouts of the files in payoffs/.

Everything is read off the payoff tensor by the profile in seat order, and numbers are written exactly: what is shown
is what is scored (but for games that declare other stated payoffs of others, ``TensorGame.told``). The own
action comes first in the words, never in the profile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from ostrom.games.describe import formula_of
from ostrom.games.equilibria import best_responses
from ostrom.games.formula import ClaimFormula, Formula, Term
from ostrom.games.game import Game
from ostrom.games.parameters import shown
from ostrom.ground.errors import StudyError


def cells(
    game: Game,
    seat: int,
    orders: Sequence[Sequence[int]],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    words: Callable[[Game, int, float], dict[str, Any]],
    reader: Callable[[Sequence[dict[str, Any]], int], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return every outcome from a seat's side: own action first, then the others by seat.

    ``orders`` is the order in which the actions of each seat are named, ``words`` says what a seat is paid. A cell also
    lists all ``players`` by seat, and as its ``reader`` is told of them (``told``).
    """
    rows = []
    for profile in _profiles(game, seat, orders):
        pay = game.stated_payoff(seat, profile)
        players = [
            {"name": names[s], "label": labels[s][profile[s]], **words(game, s, pay[s])} for s in range(game.seats)
        ]
        rows.append(
            {
                **{name: value for name, value in players[seat].items() if name not in ("name", "label")},
                "own": players[seat]["label"],
                "others": [p for s, p in enumerate(players) if s != seat],
                "players": players,
                "told": reader(players, seat),
            }
        )
    return rows


def by_payoff(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by own action, then by own payoff, highest first; ties keep their order.

    >>> [r["value"] for r in by_payoff([{"own": a, "value": v} for a, v in [("B", 1), ("B", 2), ("A", 5)]])]
    [2, 1, 5]
    """
    if any("value" not in row for row in rows):
        raise StudyError(
            "needs a presentation of payoffs with one outcome per row, such as rows, profiles or own_sentences",
            key="agent.framing.rows", actual="sorted",
        )  # fmt: skip
    place = {own: i for i, own in enumerate(dict.fromkeys(row["own"] for row in rows))}
    return sorted(rows, key=lambda row: (place[row["own"]], -row["value"]))


def _profiles(game: Game, seat: int, orders: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    others = [s for s in range(game.seats) if s != seat]
    for own, rest in product(orders[seat], product(*(orders[s] for s in others))):
        profile = dict(zip(others, rest, strict=True)) | {seat: own}
        yield tuple(profile[s] for s in range(game.seats))


@lru_cache(maxsize=4096)
def _payoffs(game: Game, seat: int) -> tuple[float, ...]:
    """Return the distinct payoffs of a seat, best first."""
    return tuple(sorted({float(x) for x in game.payoffs[..., seat].ravel()}, reverse=True))


def standing(game: Game, seat: int, payoff: float) -> tuple[int, int]:
    """Return how many of a seat's payoffs are better than this one, and the number of distinct ones.

    >>> from ostrom.games import build_game
    >>> [standing(build_game("prisoners_dilemma"), 0, x) for x in (5, 3, 1, 0)]
    [(0, 4), (1, 4), (2, 4), (3, 4)]
    """
    values = _payoffs(game, seat)
    return sum(value > payoff for value in values), len(values)


def _plain(number: float) -> float:
    """Round off floating-point errors of subtraction and division."""
    return float(f"{number:.12g}")


@dataclass(frozen=True)
class OwnPayoffs:
    """The payoffs of one seat; ``order`` is that of its actions, ``arranged`` orders rows."""

    game: Game
    seat: int
    order: Sequence[int]
    labels: Sequence[Sequence[str]]
    names: Sequence[str]
    arranged: Callable[[list[Any]], list[Any]] = list

    @property
    def options(self) -> list[str]:
        """Return the own actions as shown."""
        return [self.labels[self.seat][i] for i in self.order]

    @property
    def others(self) -> list[str]:
        """The names of the others, by seat."""
        return [self.names[s] for s in self._others]

    def rows(self) -> list[dict[str, Any]]:
        """One row per profile: own action, the others' actions by seat, own payoff."""
        return self.arranged(
            [
                {
                    "own": self.labels[self.seat][own],
                    "others": self._named(rest),
                    "payoff": self._paid(own, rest),
                    "value": self._value(own, rest),
                }
                for own, rest in product(self.order, self._rests())
            ]
        )

    def responses(self) -> list[dict[str, Any]]:
        """One row per combination of the others' actions: the payoff of every own action, and the best."""
        return self.arranged(
            [
                {
                    "others": self._named(rest),
                    "payoffs": [self._paid(own, rest) for own in self.order],
                    "best": [
                        self.labels[self.seat][i] for i in self.order if i in best_responses(self.game, self.seat, rest)
                    ],
                }
                for rest in self._rests()
            ]
        )

    def matrices(self) -> list[dict[str, Any]]:
        """Return a matrix of own and co-player actions, per co-player and combination of the rest."""
        return self.arranged(
            [
                {
                    "other": self.names[other],
                    "columns": list(self.labels[other]),
                    "given": self._named(rest, {s: a for s, a in fixed.items() if s != other}),
                    "lines": [
                        {
                            "own": self.labels[self.seat][own],
                            "payoffs": [
                                self._paid(own, tuple({**fixed, other: action}.values()))
                                for action in range(len(self.game.actions[other]))
                            ],
                        }
                        for own in self.order
                    ],
                }
                for other in self._others
                for rest in self._rests()
                for fixed in [dict(zip(self._others, rest, strict=True))]
                if fixed[other] == 0
            ]
        )

    def formula(self) -> dict[str, Any]:
        """Return the payoffs as constant + factor x k / over for each own action, or by two claims; else refused."""
        found = formula_of(self.game, self.seat)
        # All must have the same names for these actions.
        shared: Iterable[int] = (found.counted,) if isinstance(found, Formula) else range(len(self.order))
        if found is None or any(len({seat[action] for seat in self.labels}) > 1 for action in shared):
            raise StudyError(
                "a formula needs payoffs that are linear in how many players choose one of two actions, which all call "
                f"the same, or that the lower of two claims decides (game {self.game.name})",
                key="agent.framing.payoffs",
            )
        if isinstance(found, ClaimFormula):
            return {
                "claims": [
                    {"own": self.labels[self.seat][i], "amount": shown(_plain(found.claims[i]))} for i in self.order
                ],
                "bonus": shown(abs(_plain(found.bonus))),
                "minus": found.bonus < 0,
            }
        terms = [Term(_plain(t.constant), _plain(t.factor), t.over) for t in found.terms]
        return {
            "claims": [],
            "counted": self.labels[self.seat][found.counted],
            "rows": [
                {
                    "own": self.labels[self.seat][i],
                    "constant": shown(terms[i].constant) if terms[i].constant or not terms[i].factor else "",
                    "minus": terms[i].factor < 0,
                    "factor": shown(abs(terms[i].factor)) if terms[i].factor else "",
                    "over": shown(terms[i].over) if terms[i].over != 1 else "",
                }
                for i in self.order
            ],
            "same": all(formula_of(self.game, s) == found for s in range(self.game.seats)),
        }

    @property
    def _others(self) -> list[int]:
        return [s for s in range(self.game.seats) if s != self.seat]

    def _rests(self) -> list[tuple[int, ...]]:
        return list(product(*(range(len(self.game.actions[s])) for s in self._others)))

    def _named(self, rest: Sequence[int], only: dict[int, int] | None = None) -> list[dict[str, str]]:
        return [
            {"name": self.names[s], "label": self.labels[s][a]}
            for s, a in (dict(zip(self._others, rest, strict=True)) if only is None else only).items()
        ]

    def _paid(self, own: int, rest: Sequence[int]) -> str:
        return shown(self._value(own, rest))

    def _value(self, own: int, rest: Sequence[int]) -> float:
        return float(self.game.payoff((*rest[: self.seat], own, *rest[self.seat :]))[self.seat])
