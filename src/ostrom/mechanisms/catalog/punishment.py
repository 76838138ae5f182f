"""Punishment: after each round players may pay to take points from others (Fehr and Gächter 2000)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from ostrom.answers import Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Amount, Count, Ge, Le, PositiveShare, checked
from ostrom.mechanisms.base import TwoStepRounds, act, closed_object, profile_of, seat_key
from ostrom.mechanisms.missing import missed_by, void_round
from ostrom.mechanisms.protocol import Decision, History, Round, RoundPlay, View


class Punishment(TwoStepRounds):
    """Play a round, learn what all did, then punish at the same time; repeat.

    Every unit of punishment costs the punisher ``cost`` and takes ``fine`` from its target; ``most`` bounds
    the units per co-player and round. Who punished whom is public. The players are told the number of
    ``rounds``; payoffs of a round are those after punishment, and ``discount`` weighs the score. A round
    is void also if only the question about punishment was missed; where missed decisions have a default action, a
    missed punishment is none.
    """

    name: ClassVar[str] = "punishment"
    may_miss: ClassVar[bool] = True
    listed: ClassVar[str] = "punishments"

    @checked
    def __init__(
        self,
        rounds: Count = 10,
        cost: Amount = 1.0,
        fine: Amount = 3.0,
        most: Annotated[int, Ge(1), Le(1000)] = 1,
        discount: PositiveShare | None = None,
    ) -> None:
        self.rounds, self.most, self.discount = rounds, most, discount
        self.cost, self.fine = float(cost), float(fine)
        self.told: dict[str, Any] = {
            "repeated": True,
            "rounds": rounds,
            "cost": self.cost,
            "fine": self.fine,
            "most": most,
            "last_punishments": [],
        }

    def check(self, game: Game) -> None:
        """Refuse a game with one seat."""
        super().check(game)
        if game.seats < 2:
            raise GameError(f"mechanism {self.name}: game {game.name} has one seat, nobody could be punished")

    def play_round(self, game: Game, number: int, history: History) -> RoundPlay:
        """Act, then punish."""
        missing, facts, seats = self.missing, self.told, range(game.seats)
        if history:
            facts = {**facts, "last_punishments": history[-1].facts["punishments"]}
        answers = yield [act(View(game, seat, self.name, number, history, facts)) for seat in seats]
        late = missed_by(answers) if missing is not None else ()
        played: tuple[int, ...] = ()
        if missing is None or not late or not missing.voids:
            played = profile_of(game, answers if missing is None else missing.filled(answers))
            base = game.payoff(played)
            seen = {**facts, "played": {"actions": list(played), "payoffs": list(base)}}
            answers = yield [
                Decision(
                    seat,
                    "punish",
                    View(game, seat, self.name, number, history, seen),
                    punishment_form(game, seat, self.most),
                )
                for seat in seats
            ]
            late = tuple(sorted({*late, *missed_by(answers)}))
        if missing is not None and late and missing.voids:
            return void_round(game, number, late, facts={"before": [0.0] * game.seats, "punishments": []})
        units = [[0 if a.reading == "missed" else a.value.get(seat_key(s), 0) for s in seats] for a in answers]
        deductions = [{"by": by, "to": to, "units": n} for by, row in enumerate(units) for to, n in enumerate(row) if n]
        payoffs = self.payoffs_after(base, units)
        fines = tuple(after - before for after, before in zip(payoffs, base, strict=True))
        return Round(
            number, played, payoffs, facts={"before": list(base), "punishments": deductions}, missed=late, paid=fines
        )

    def payoffs_after(self, base: Sequence[float], units: Sequence[Sequence[int]]) -> tuple[float, ...]:
        """Return payoffs after punishment; ``units[i][j]`` are the units from seat i to seat j.

        >>> Punishment(cost=1, fine=3).payoffs_after((2.0, 3.0), [[0, 1], [0, 0]])
        (1.0, 0.0)
        """
        return tuple(
            paid - self.cost * sum(units[seat]) - self.fine * sum(row[seat] for row in units)
            for seat, paid in enumerate(base)
        )


def punishment_form(game: Game, seat: int, most: int) -> Record:
    """Return the answer form of a punishment: units from 0 to ``most`` per co-player."""
    return Record(
        "punishment",
        closed_object(
            {
                key: {"type": "integer", "minimum": 0, "maximum": most}
                for key in [seat_key(s) for s in range(game.seats) if s != seat]
            }
        ),
    )


MECHANISM = Punishment
