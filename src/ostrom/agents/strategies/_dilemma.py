"""Reciprocal strategies that no table can state: with internal state, or odds from a dilemma's payoffs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Machine, Reciprocator, Strategy, Tolerance
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Finite, Ge, Gt, Share, checked
from ostrom.mechanisms.parameters import share


def chance(name: str, value: Any) -> float:
    """Return ``value`` if it is a number from 0 to 1; for strategies of other packages without annotations."""
    return share(name, value)


@dataclass(frozen=True, slots=True)
class Dilemma:
    """Payoffs of one seat when it and all the others cooperate or defect."""

    reward: float
    sucker: float
    temptation: float
    punishment: float

    @classmethod
    def from_game(
        cls, game: Game, seat: int, strategy: str, payee: int | None = None, deviation: int | None = None
    ) -> Dilemma:
        """Build it for ``seat``: sucker is its payoff as the only cooperator, temptation as the only defector.

        With a ``payee`` the same four outcomes, as they pay another seat; with a ``deviation`` the seat defects by it.
        """
        if None in game.cooperative or None in game.defective:
            raise StudyError(
                f"strategy {strategy} needs a cooperative action for every seat, game {game.name} has none"
            )

        def paid(own: bool, others: bool) -> float:
            profile = [
                cast(int, game.cooperative[s] if (own if s == seat else others) else game.defective[s])
                for s in range(game.seats)
            ]
            if not own and deviation is not None:
                profile[seat] = deviation
            return game.payoff(profile)[seat if payee is None else payee]

        return cls(paid(True, True), paid(True, False), paid(False, True), paid(False, False))


class Grim(Machine[bool]):
    """Cooperate until the other defects, then defect for good."""

    name = "grim"
    title: ClassVar[str] = "Grim"
    citation: ClassVar[str] = "Friedman (1971)"
    initial = True

    def step(self, state: bool, own: bool, others: bool) -> bool:  # noqa: ARG002
        """Whether no other player has defected so far."""
        return state and others

    def cooperate(self, state: bool) -> float:
        """Cooperate for certain until another player has defected, then defect."""
        return C if state else D


GoodStanding = tuple[bool, bool]
"""Whether this seat and the others are in good standing."""


class ContriteTitForTat(Machine[GoodStanding]):
    """Tit for tat that accepts punishment for its own slips: defect only when good and the other is not.

    Whoever cooperates is in good standing. Whoever defects loses it, unless the defection was due: from good
    standing against an other in bad standing. The strategy itself defects only when that is due, so
    without noise it is tit for tat; after a slip it makes up for it by cooperating, and does not
    answer the punishment.
    """

    name = "contrite_tit_for_tat"
    title: ClassVar[str] = "Contrite Tit for Tat"
    citation: ClassVar[str] = "Sugden (1986); Boyd (1989); Wu and Axelrod (1995)"
    initial = (True, True)

    def step(self, state: GoodStanding, own: bool, others: bool) -> GoodStanding:
        """Return both sides' standing after a round."""
        mine, theirs = state
        return own or (mine and not theirs), others or (theirs and not mine)

    def cooperate(self, state: GoodStanding) -> float:
        """Return 0 if a defection is due, else 1."""
        mine, theirs = state
        return D if mine and not theirs else C


class GenerousTitForTat(Reciprocator):
    """Tit for tat that forgives a defection with chance g.

    Without ``g`` it is the most generous that defectors cannot exploit, from the game's payoffs:
    min(1 - (T - R) / (R - S), (R - P) / (T - P)), the least over all ways to defect that tempt.
    """

    name = "generous_tit_for_tat"
    title: ClassVar[str] = "Generous Tit for Tat"
    citation: ClassVar[str] = "Nowak and Sigmund (1992)"
    memory_depth = 1
    stochastic = True

    @checked
    def __init__(self, g: Share | None = None, *, tolerance: Tolerance = 0) -> None:
        self.tolerance = tolerance
        self.g = None if g is None else float(g)
        self.stochastic = self.g is None or 0 < self.g < 1
        self._cache: dict[tuple[Game, int], float] = {}

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        forgiving = not past or past.cooperated(-1)
        return C if forgiving else self._generosity(past.game, past.seat) if self.g is None else self.g

    def _fit(self, game: Game, seat: int) -> None:
        """Refuse an unsuitable game before the first move, not at the first defection."""
        super()._fit(game, seat)
        if self.g is None:
            self._generosity(game, seat)

    def _generosity(self, game: Game, seat: int) -> float:
        if (game, seat) not in self._cache:
            options = game.actions[seat]
            deviations = [
                Dilemma.from_game(game, seat, self.name, deviation=action)
                for action in (range(len(options)) if isinstance(options, tuple) else [None])
                if action is None or action != game.cooperative[seat]
            ]
            tempting = [d for d in deviations if d.temptation > d.reward]
            if not tempting or any(not d.reward > max(d.punishment, d.sucker) for d in deviations):
                raise StudyError(
                    f"strategy {self.name}: game {game.name} is no dilemma with T > R > P and R > S; give g"
                )
            g = min(
                min(
                    1 - (d.temptation - d.reward) / (d.reward - d.sucker),
                    (d.reward - d.punishment) / (d.temptation - d.punishment),
                )
                for d in tempting
            )
            if g < 0:
                raise StudyError(f"strategy {self.name}: no generosity is safe in game {game.name}; give g")
            self._cache[game, seat] = g
        return self._cache[game, seat]


Odds = tuple[float, float, float, float]
"""The chance of cooperating after CC, CD, DC and DD, the own move first."""


class ZDExtortion(Strategy):
    """Hold the own surplus over mutual defection at chi times that of the other, on average.

    The odds follow from the game's payoffs. ``phi`` sets how fast it reacts; without it, half of the largest
    value that keeps all odds between 0 and 1. Opens with cooperation.
    """

    name = "zd_extortion"
    title: ClassVar[str] = "Zero-Determinant Extortion"
    citation: ClassVar[str] = "Press and Dyson (2012)"
    memory_depth = 1
    stochastic = True
    games_of_two: ClassVar[bool] = True

    @checked
    def __init__(
        self, chi: Annotated[float, Finite(), Ge(1)] = 3.0, phi: Annotated[float, Finite(), Gt(0)] | None = None
    ) -> None:
        self.chi, self.phi = chi, phi
        self._cache: dict[tuple[Game, int], Odds] = {}

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        odds = self.memory_one(past.game, past.seat)
        return C if not past else odds[2 * (not past.i_cooperated(-1)) + (not past.cooperated(-1))]

    def memory_one(self, game: Game, seat: int) -> Odds:
        """The chances of cooperating after CC, CD, DC and DD in a game of two."""
        if (game, seat) not in self._cache:
            self._cache[game, seat] = self._solved(game, seat)
        return self._cache[game, seat]

    def _solved(self, game: Game, seat: int) -> Odds:
        mine, its = Dilemma.from_game(game, seat, self.name), Dilemma.from_game(game, seat, self.name, payee=1 - seat)

        def pull(own: float, other: float) -> float:
            return (own - mine.punishment) - self.chi * (other - its.punishment)

        cc = pull(mine.reward, its.reward)
        cd = pull(mine.sucker, its.sucker)
        dc = pull(mine.temptation, its.temptation)
        if cc > 0 or cd >= 0 or dc <= 0:
            raise StudyError(
                f"strategy {self.name}: the payoffs of game {game.name} allow no extortion", actual=self.chi
            )
        # Each term moves a chance away from 1 (after C) or 0 (after D), by at most 1.
        most = 1 / max(-cc, -cd, dc)
        phi = most / 2 if self.phi is None else self.phi
        if phi > most * (1 + 1e-12):
            raise StudyError(
                f"strategy {self.name}: phi must be at most {most:.6g} with chi {self.chi:g} in game {game.name}",
                actual=phi,
            )
        return 1 + phi * cc, max(0.0, 1 + phi * cd), min(1.0, phi * dc), 0.0
