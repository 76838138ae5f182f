"""What a seat alone is paid, laid out in the ways that the files in payoffs/ present it.

Everything is read off the payoff tensor, and numbers are written exactly: what is shown is what is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from ostrom.games.describe import formula_of
from ostrom.games.equilibria.best_responses import best_responses
from ostrom.games.formula import Term
from ostrom.games.game import Game
from ostrom.games.parameters import shown
from ostrom.ground.errors import StudyError

T = TypeVar("T")


def _plain(number: float) -> float:
    """A number without the last digits that subtracting and dividing leave behind."""
    return float(f"{number:.12g}")


@dataclass(frozen=True)
class OwnPayoffs:
    """The payoffs of one seat; ``order`` is that of its actions, ``arranged`` that of rows."""

    game: Game
    seat: int
    order: Sequence[int]
    labels: Sequence[Sequence[str]]
    names: Sequence[str]
    arranged: Callable[[list[Any]], list[Any]] = list

    @property
    def options(self) -> list[str]:
        """The own actions as shown."""
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
                        self.labels[self.seat][i]
                        for i in self.order
                        if i in best_responses(self.game, self.seat, rest)
                    ],
                }
                for rest in self._rests()
            ]
        )

    def matrices(self) -> list[dict[str, Any]]:
        """Per co-player and combination of all the rest: own actions by the co-player's actions."""
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
                                self._paid(own, self._rest({**fixed, other: action}))
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
        """The payoffs as constant + factor x k / over for each own action; refused where they follow no formula."""
        found = formula_of(self.game, self.seat)
        if found is None or len({seat[found.counted] for seat in self.labels}) > 1:
            raise StudyError(
                "a formula needs payoffs that are linear in how many players choose one of two actions, which all call "
                f"the same (game {self.game.name})",
                key="agent.framing.payoffs",
            )
        terms = [Term(_plain(t.constant), _plain(t.factor), t.over) for t in found.terms]
        return {
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

    def _rest(self, by_seat: dict[int, int]) -> tuple[int, ...]:
        return tuple(by_seat[s] for s in self._others)

    def _named(self, rest: Sequence[int], only: dict[int, int] | None = None) -> list[dict[str, str]]:
        actions = dict(zip(self._others, rest, strict=True)) if only is None else only
        return [{"name": self.names[s], "label": self.labels[s][a]} for s, a in actions.items()]

    def _paid(self, own: int, rest: Sequence[int]) -> str:
        return shown(self._value(own, rest))

    def _value(self, own: int, rest: Sequence[int]) -> float:
        return float(self.game.payoff((*rest[: self.seat], own, *rest[self.seat :]))[self.seat])
