"""Stated and actual play: stated policies evaluated on the histories that occurred.

A statement becomes a machine over rounds whose chances are those of the first action in the list. It is walked along
the rounds as they were played, so that a slip moves it like any other move.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from ostrom.agents.automaton import Automaton
from ostrom.analysis.statistics.means import pearson
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.data.rundata import RunData
from ostrom.features.inference.repeated_play import DEFAULT_CANDIDATES, build_candidates, by_actions, prescribed_moves
from ostrom.games.game import Game
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Round
from ostrom.mechanisms.statements import PLACES, STATES, place_key

LEAST_CHANCE = 0.01
"""The lowest chance used in the log-loss, so that a move that a statement excludes does not make it infinite."""
LOG_LOSS_BOUNDS = (0.0, -math.log(LEAST_CHANCE))
STATED = (
    "SELECT match, player, seat, agent, kind, round, step, answer FROM decisions WHERE kind IN ('state', 'code') "
    "AND state = 'done' AND NOT invalid AND NOT missed AND seat IS NOT NULL ORDER BY match, step, player"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of one player, and the rounds of its match as seen by that player."""

    match: int
    player: int
    agent: str
    when: str
    policy: Automaton
    """The stated policy; its chances are those of the first action."""
    game: Game
    seat: int
    rounds: tuple[tuple[int, int], ...]
    """The own and the other's action, by round."""

    @property
    def chances(self) -> list[float]:
        """Return the stated chance of the first action in each round, given the rounds before."""
        moves = (2 * own + other for own, other in self.rounds[:-1])
        states = accumulate(moves, lambda at, move: self.policy.transitions[at][move], initial=self.policy.initial)
        return [self.policy.cooperate[state] for state in states]

    @property
    def taken(self) -> list[float]:
        """Return the stated chance of the action taken, by round."""
        return [c if own == 0 else 1 - c for c, (own, _) in zip(self.chances, self.rounds, strict=True)]

    @property
    def agreement(self) -> float:
        """Return the mean stated chance of the actions taken."""
        return math.fsum(self.taken) / len(self.rounds)

    @property
    def log_loss(self) -> float:
        """Return the mean negative logarithm of the stated chance of the actions taken."""
        return math.fsum(-math.log(max(p, LEAST_CHANCE)) for p in self.taken) / len(self.rounds)

    @property
    def divergence(self) -> int:
        """Return the first round whose action was stated as the less likely one; without one, the last round plus 1."""
        return next((number for number, p in enumerate(self.taken, 1) if p < 0.5), len(self.rounds) + 1)

    @property
    def earned(self) -> float:
        """Return the player's mean payoff over the rounds."""
        return math.fsum(self._paid(own, other) for own, other in self.rounds) / len(self.rounds)

    @property
    def would_have_earned(self) -> float:
        """Return the mean payoff of the stated policy against the other player's actual moves."""
        weights, total = {self.policy.initial: 1.0}, 0.0
        for _, other in self.rounds:
            following: dict[int, float] = {}
            for state, weight in weights.items():
                chance = self.policy.cooperate[state]
                for own, p in ((0, chance), (1, 1 - chance)):
                    total += weight * p * self._paid(own, other)
                    after = self.policy.transitions[state][2 * own + other]
                    following[after] = following.get(after, 0.0) + weight * p
            weights = {state: w for state, w in following.items() if w > 0}
        return total / len(self.rounds)

    def situations(self) -> Iterator[tuple[str, float, float]]:
        """Yield each situation that occurred: its key, and the stated chance and actual share of the first action."""
        places = ["first", *(place_key(own + 1, other + 1) for own, other in self.rounds[:-1])]
        moves = [(chance, own == 0) for chance, (own, _) in zip(self.chances, self.rounds, strict=True)]
        for key, met in grouped(zip(places, moves, strict=True)).items():
            yield key, math.fsum(c for c, _ in met) / len(met), sum(a for _, a in met) / len(met)

    def same_strategy(self) -> bool:
        """Return whether the catalog strategies that best fit the statement and the moves have one in common."""
        game = self.game if None not in self.game.cooperative else by_actions(self.game)
        good = game.cooperative[self.seat]
        rounds = [Round(n, self._profile(*pair), (0.0, 0.0)) for n, pair in enumerate(self.rounds, 1)]
        prescribed = prescribed_moves(build_candidates(DEFAULT_CANDIDATES), game, self.seat, rounds)
        stated = [c if good == 0 else 1 - c for c in self.chances]
        return bool(_nearest(prescribed, stated) & _nearest(prescribed, [float(own == good) for own, _ in self.rounds]))

    def _profile(self, own: int, other: int) -> tuple[int, ...]:
        return (own, other) if self.seat == 0 else (other, own)

    def _paid(self, own: int, other: int) -> float:
        return self.game.payoff(self._profile(own, other))[self.seat]


def _nearest(candidates: Mapping[str, Sequence[float]], wanted: Sequence[float]) -> set[str]:
    far = {name: math.fsum(abs(a - b) for a, b in zip(of, wanted, strict=True)) for name, of in candidates.items()}
    least = min(far.values())
    return {name for name, distance in far.items() if distance <= least + 1e-9}


def policy_of(value: Mapping[str, Any], actions: Sequence[str]) -> Automaton:
    """Convert a stated table or automaton to an automaton.

    >>> tit_for_tat = {"first": 100, "after_1_1": 100, "after_1_2": 0, "after_2_1": 100, "after_2_2": 0}
    >>> policy_of(tit_for_tat, ("C", "D")).after([(True, False)])
    0.0
    """
    if "first" in value:
        chances = [value["first"], *(value[place_key(own, other)] for own, other in PLACES)]
        return Automaton(tuple(c / 100 for c in chances), ((1, 2, 3, 4),) * 5)
    return Automaton(
        tuple(float(value[f"state_{n}_action"] == actions[0]) for n in range(1, STATES + 1)),
        tuple(
            (one, two, one, two)
            for n in range(1, STATES + 1)
            for one, two in [(value[f"state_{n}_after_1"] - 1, value[f"state_{n}_after_2"] - 1)]
        ),
    )


def statements(data: RunData) -> Iterator[Statement]:
    """Yield the statements that can be played: tables, automata, and words that were converted to a table."""
    moves = data.records(
        "SELECT match, round, seat, player, action FROM rounds WHERE action IS NOT NULL ORDER BY match, round, player"
    )
    by_match = grouped((row["match"], row) for row in moves)
    met = {
        row["match"]: orjson.loads(row["facts"])["met"]
        for row in data.records("SELECT match, facts FROM matches WHERE player = 1 AND facts LIKE '%\"met\":%'")
    }
    for row in data.records(STATED):
        value = orjson.loads(row["answer"]) if str(row["answer"]).startswith("{") else None
        own = by_match.get(row["match"], [])
        if row["match"] in met:
            played = _met(
                met[row["match"]],
                {(act["round"], act["player"]): act["action"] for act in own},
                int(row["player"]),
                int(row["seat"]),
            )
        else:
            seats = grouped((act["round"], (act["seat"], act["action"])) for act in own)
            played = {number: dict(of) for number, of in seats.items()}
        game, seat = data.game(row["match"]), int(row["seat"]) - 1
        pairs = [
            (game.index(seat, of[seat + 1]), game.index(1 - seat, of[2 - seat]))
            for _, of in sorted(played.items() if game.seats == 2 else ())
            if len(of) == 2
        ]
        if value is None or not pairs:
            continue
        number = int(row["round"] or 1)
        when = "before" if number == 1 else "after" if number > max(played) else "during"
        policy = policy_of(value, game.actions[seat])
        yield Statement(row["match"], row["player"], row["agent"], when, policy, game, seat, tuple(pairs))


def _met(
    met: Sequence[Sequence[int]], acts: Mapping[tuple[int, int], str], player: int, seat: int
) -> dict[int, dict[int, str]]:
    """Return, for a member of a society, the actions of both sides in each round in which it met another one."""
    return {
        number: {seat: acts[number, player], 3 - seat: acts[number, two if one == player else one]}
        for number, one, two in ([number, *(p + 1 for p in who)] for number, *who in met)
        if player in (one, two) and {(number, one), (number, two)} <= acts.keys()
    }


MEASURES: Mapping[str, Callable[[Statement], float]] = {
    "agreement": lambda s: s.agreement,
    "log_loss": lambda s: s.log_loss,
    "divergence": lambda s: s.divergence,
    "gain": lambda s: s.would_have_earned - s.earned,
    "same_strategy": lambda s: s.same_strategy(),
}
"""The quantities computed for a statement, by name."""


def said_values(data: RunData, of: str) -> Iterator[dict[str, Any]]:
    """Yield the quantity ``of`` for every statement, as a row."""
    return (
        {"match": s.match, "player": s.player, "stated": s.when, "value": float(MEASURES[of](s))}
        for s in statements(data)
    )


class Situation(NamedTuple):
    """The chance of the first action in one situation, as stated and as played, averaged over statements."""

    agent: str
    stated: str
    situation: str
    said: float
    done: float
    statements: int


class SaidCorrelation(NamedTuple):
    """The correlation of stated and actual chances over statements and situations; ``note`` says why it is missing."""

    agent: str
    stated: str
    r: float | None
    low: float | None
    high: float | None
    n: int
    note: str


class SaidAndDone(NamedTuple):
    """Stated and actual chances by situation, with their correlations."""

    situations: list[Situation]
    correlations: list[SaidCorrelation]


def said_and_done(data: RunData) -> SaidAndDone:
    """Return stated and actual chances in every situation, and their correlation by agent and time of stating."""
    pairs = grouped(
        ((statement.agent, statement.when, key), (stated, done))
        for statement in statements(data)
        for key, stated, done in statement.situations()
    )
    times = grouped(((agent, when), pair) for (agent, when, _), met in pairs.items() for pair in met)
    situations = [
        Situation(*key, sum(a for a, _ in met) / len(met), sum(b for _, b in met) / len(met), len(met))
        for key, met in pairs.items()
    ]
    correlations = []
    for group, met in times.items():
        try:
            r = pearson([a for a, _ in met], [b for _, b in met], unit="situation")
            line = SaidCorrelation(*group, r.value, r.low, r.high, len(met), "")
        except StatisticsError as problem:
            line = SaidCorrelation(*group, None, None, None, len(met), str(problem))
        correlations.append(line)
    return SaidAndDone(situations, correlations)
