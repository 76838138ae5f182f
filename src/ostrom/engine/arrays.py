"""Scripted matches as arrays: units in which only finite-state strategies play are computed with numpy.

The result is exactly that of playing the units one by one, because random draws are keyed by the match and not by
the order of play. So the journal stores only the moves, and replaying them gives all the rest.

A strategy is a table of states, and a round is one array operation over all matches. The draws are those of
``Streams.chance``, as in a match that is played by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, product
from math import fsum
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ostrom.agents.automaton import Automaton
from ostrom.agents.config import AgentConfig
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.kept_rounds import KeptRounds
from ostrom.engine.match import ReplayDiffers
from ostrom.engine.plan import Unit
from ostrom.engine.unit_rows import NOTHING_CAME, UnitRows, said_of
from ostrom.games.game import Game
from ostrom.ground.streams import Streams, chances, chances_along
from ostrom.ground.values import grouped
from ostrom.mechanisms.base import ArrayRules, match_score

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Machines:
    """Several automata in one table; states are numbered consecutively."""

    cooperate: NDArray[np.float64]
    transitions: NDArray[np.int32]
    """The next state by state and outcome (CC, CD, DC, DD, own move first)."""
    initial: NDArray[np.int32]
    """The first state of each automaton."""

    @property
    def random(self) -> bool:
        """Return whether some state plays a random move."""
        return bool(((self.cooperate > 0) & (self.cooperate < 1)).any())


def machines(automata: Sequence[Automaton]) -> Machines:
    """One table for all automata."""
    offsets = np.cumsum([0, *(len(a.cooperate) for a in automata)])
    return Machines(
        np.concatenate([np.array(a.cooperate, dtype=np.float64) for a in automata]),
        np.concatenate(
            [
                np.array(a.transitions, dtype=np.int32) + np.int32(start)
                for a, start in zip(automata, offsets[:-1], strict=True)
            ]
        ),
        np.array([start + a.initial for a, start in zip(automata, offsets[:-1], strict=True)], dtype=np.int32),
    )


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves of all matches: True for cooperation, by round, seat and match; entries beyond ``lengths`` are unused."""

    intended: Bools
    played: Bools
    lengths: NDArray[np.int64]


def play_arrays(
    table: Machines,
    seats: NDArray[np.intp],
    rules: ArrayRules,
    streams: Sequence[Streams] = (),
    first_is_cooperative: tuple[bool, bool] = (True, True),
) -> Moves:
    """Play all matches: ``seats[s, m]`` is the automaton at seat s of match m.

    ``streams`` are needed only with random draws; ``first_is_cooperative`` says for each seat whether its
    cooperative action is the one named first, because options are drawn in the order in which they are named.
    """
    pairs = table.initial[seats[0]] * len(table.cooperate) + table.initial[seats[1]]
    following = _pair_transitions(table)
    if table.random or rules.noise:
        intended, played = _with_chance(table, pairs, following, rules, streams, first_is_cooperative)
    else:
        intended = played = _without_chance(table, pairs, following, rules.rounds)
    return Moves(intended, played, _lengths(rules, streams, seats.shape[1]))


def _pair_transitions(table: Machines) -> NDArray[np.int64]:
    """Return the next pair of states by pair (state 1 x states + state 2) and outcome, seat 1 first."""
    size = len(table.cooperate)
    return (
        table.transitions[:, None, :].astype(np.int64) * size
        + table.transitions[:, [0, 2, 1, 3]].astype(np.int64)[None, :, :]
    ).reshape(size * size, 4)


def _without_chance(table: Machines, pairs: NDArray[np.int64], following: NDArray[np.int64], rounds: int) -> Bools:
    """Play without random moves: each pair of states has one successor, one look-up per round and match."""
    size = len(table.cooperate)
    cooperates = table.cooperate > 0.5
    one, two = np.repeat(cooperates, size), np.tile(cooperates, size)
    successor = following[np.arange(size * size), 3 - 2 * one.astype(np.intp) - two]
    visited = np.empty((rounds, len(pairs)), dtype=np.int64)
    for t in range(rounds):
        visited[t] = pairs
        pairs = successor.take(pairs)
    moves = np.empty((rounds, 2, len(pairs)), dtype=np.bool_)
    one.take(visited, out=moves[:, 0], mode="clip")
    two.take(visited, out=moves[:, 1], mode="clip")
    return moves


def _with_chance(
    table: Machines,
    pairs: NDArray[np.int64],
    following: NDArray[np.int64],
    rules: ArrayRules,
    streams: Sequence[Streams],
    first_is_cooperative: tuple[bool, bool],
) -> tuple[Bools, Bools]:
    size = len(table.cooperate)
    odds = (np.repeat(table.cooperate, size), np.tile(table.cooperate, size))
    move_roots = _roots(streams, "") if table.random else None
    slip_roots = _roots(streams, "tremble") if rules.noise else None
    intended = np.empty((rules.rounds, 2, len(pairs)), dtype=np.bool_)
    played = intended if slip_roots is None else np.empty_like(intended)
    flat = following.ravel()
    for t in range(rules.rounds):
        for seat in (0, 1):
            chance_of_c = odds[seat].take(pairs)
            if move_roots is None:
                intended[t, seat] = chance_of_c > 0.5
            elif first_is_cooperative[seat]:
                intended[t, seat] = chances(move_roots, t, seat) < chance_of_c
            else:
                intended[t, seat] = chances(move_roots, t, seat) >= 1.0 - chance_of_c
            if slip_roots is not None:
                played[t, seat] = intended[t, seat] ^ (chances(slip_roots, t + 1, seat) < rules.noise)
        pairs = flat.take(4 * pairs + 3 - 2 * played[t, 0].astype(np.int64) - played[t, 1])
    return intended, played


def _roots(streams: Sequence[Streams], purpose: str) -> NDArray[np.uint64]:
    return np.array([s.base_key(purpose) for s in streams], dtype=np.uint64)


def _lengths(rules: ArrayRules, streams: Sequence[Streams], count: int) -> NDArray[np.int64]:
    """Return the number of rounds of each match: all, or until a random end."""
    lengths = np.full(count, rules.rounds, dtype=np.int64)
    if rules.continuation is None:
        return lengths
    roots = _roots(streams, "continue")
    going = np.ones(count, dtype=np.bool_)
    for number in range(1, rules.rounds):
        ends = going & (chances(roots, number, 0) >= rules.continuation)
        lengths[ends] = number
        going &= ~ends
    return lengths


MOST_STATES = 512
"""The most states of a table, which grows with their square: larger groups are split; a strategy with more than half as
many states is played step by step."""
MOST_MOVES = 8_000_000
"""The most moves (rounds times seats times matches) of one batch, which bounds memory."""


@dataclass(frozen=True, slots=True)
class ArrayMatch:
    """One match of a batch."""

    unit: Unit
    rounds: int
    intended: bytes
    scores: tuple[float, float]


class ArrayPlayer:
    """Decides which units can be played as arrays, and plays them."""

    def __init__(self) -> None:
        self._automata: dict[tuple[bytes, int, int], Automaton | None] = {}
        self._games: dict[int, Game] = {}  # keeps games alive, so that their ids stay unique

    def can_play(self, unit: Unit) -> bool:
        """Return whether every seat is a finite-state strategy and the rules are plain repetition."""
        if unit.kind != "match" or unit.needs or len(unit.players) != 2 or unit.streams.origin is not None:
            return False
        repeated = unit.mechanism.array_rules(unit.game) is not None and len(unit.game.actions) == 2
        return repeated and all(
            self.automaton(p.config, unit.game, seat) is not None for seat, p in enumerate(unit.players)
        )

    def automaton(self, config: AgentConfig, game: Game, seat: int) -> Automaton | None:
        """Return the automaton of a strategy at a seat of a game (cached); None if it has none."""
        if config.strategy is None or config.memory != "full":
            return None
        key = (orjson.dumps(config.strategy, option=orjson.OPT_SORT_KEYS), id(game), seat)
        if key not in self._automata:
            self._games[id(game)] = game
            machine = strategies.build(config.strategy).automaton(game, seat)
            self._automata[key] = machine if machine is None or len(machine.cooperate) <= MOST_STATES // 2 else None
        return self._automata[key]

    def play(self, units: Sequence[Unit]) -> Iterator[ArrayMatch]:
        """Play units that ``can_play`` accepted, grouped by game and rules."""
        groups = grouped(((id(unit.game), unit.mechanism.array_rules(unit.game)), unit) for unit in units)
        for (_, rules), group in groups.items():
            assert rules is not None
            size = max(1, MOST_MOVES // (2 * rules.rounds))
            for start in range(0, len(group), size):
                yield from self._batch(group[start : start + size], rules)

    def _batch(self, units: Sequence[Unit], rules: ArrayRules) -> Iterator[ArrayMatch]:
        game = units[0].game
        numbers: dict[Automaton, int] = {}
        seats = np.empty((2, len(units)), dtype=np.intp)
        for m, unit in enumerate(units):
            for seat, player in enumerate(unit.players):
                machine = self.automaton(player.config, game, seat)
                assert machine is not None
                seats[seat, m] = numbers.setdefault(machine, len(numbers))
        table = machines(list(numbers))
        if len(table.cooperate) > MOST_STATES and len(units) > 1:
            half = len(units) // 2
            yield from self._batch(units[:half], rules)
            yield from self._batch(units[half:], rules)
            return
        has_chance = table.random or rules.noise or rules.continuation is not None
        streams = [unit.streams for unit in units] if has_chance else ()
        moves = play_arrays(table, seats, rules, streams, (game.cooperative[0] == 0, game.cooperative[1] == 0))
        scores = _scores(game, moves, rules.discount)
        for m, unit in enumerate(units):
            length = int(moves.lengths[m])
            yield ArrayMatch(
                unit, length, np.packbits(moves.intended[:length, :, m]).tobytes(), (scores[0][m], scores[1][m])
            )

    def answers(self, unit: Unit, rounds: int, intended: bytes) -> dict[Place, Journaled]:
        """Return the answers behind packed moves, as the journal of a match played step by step would hold them."""
        if rounds < 0 or len(intended) != -(-2 * rounds // 8):
            raise ReplayDiffers(f"match {unit.index}: {len(intended)} bytes of moves do not make {rounds} rounds")
        moves, played = _unpacked(unit, rounds, intended)
        answers: dict[Place, Journaled] = {}
        for seat, player in enumerate(unit.players):
            options, c = unit.game.actions[seat], unit.game.cooperative[seat]
            machine = self.automaton(player.config, unit.game, seat)
            if machine is None or c is None or unit.mechanism.array_rules(unit.game) is None:
                raise ReplayDiffers(
                    f"match {unit.index}, player {seat + 1}: was journaled as moves of a finite-state strategy in "
                    "plain repetition, and is none any more"
                )
            answer = cache(partial(_answer, unit.game, seat))
            for step, state in enumerate(_states(machine, played[:, seat], played[:, 1 - seat]).tolist()):
                cooperates, p = bool(moves[step, seat]), machine.cooperate[state]
                if p == 1.0 - cooperates:
                    took, now = (options[c], options[1 - c]) if cooperates else (options[1 - c], options[c])
                    raise ReplayDiffers(
                        f"match {unit.index}, step {step}, player {seat + 1}: the strategy decides otherwise than it "
                        f"did: journaled {took!r}, rebuilt {now!r}"
                    )
                answers[step, seat, ""] = (answer(cooperates, p), 0, None)
        return answers

    def rows(self, unit: Unit, rounds: int, intended: bytes, *, drawn: bool = False) -> tuple[UnitRows, list[float]]:
        """Return rows and scores from packed moves, equal to those of a replay, without an object for each decision.

        With ``drawn`` every random move is drawn again, and one that differs is refused.
        """
        rules = unit.mechanism.array_rules(unit.game)
        machines = [self.automaton(p.config, unit.game, seat) for seat, p in enumerate(unit.players)]
        if rules is None or None in machines or rounds < 1 or len(intended) != -(-2 * rounds // 8):
            self.answers(unit, rounds, intended)  # raises the error with its reason
            raise ReplayDiffers(f"match {unit.index}: {rounds} rounds are none that its rules play")
        if _length(unit, rules) != rounds:
            raise ReplayDiffers(
                f"match {unit.index}: is journaled with {rounds} rounds, and its rules play {_length(unit, rules)}"
            )
        game, c = unit.game, [int(x or 0) for x in unit.game.cooperative]
        moves, played = _unpacked(unit, rounds, intended)
        answers: list[tuple[Any, ...]] = []
        answer_codes = np.empty((rounds, 2), dtype=np.int64)
        for seat, machine in enumerate(machines):
            assert machine is not None
            states = _states(machine, played[:, seat], played[:, 1 - seat])
            if (np.array(machine.cooperate)[states] == 1.0 - moves[:, seat]).any():
                self.answers(unit, rounds, intended)  # raises the error at the move that differs
            if drawn and (_decided(unit, seat, np.array(machine.cooperate)[states]) != moves[:, seat]).any():
                raise ReplayDiffers(f"match {unit.index}, player {seat + 1}: its moves are not those that are drawn")
            kinds, codes = np.unique(2 * states + moves[:, seat], return_inverse=True)
            answer_codes[:, seat] = codes + len(answers)
            for state, move in (divmod(int(kind), 2) for kind in kinds):
                answers.append(said_of(game, seat, _answer(game, seat, move, machine.cooperate[state]), 0, act=True))
        actions = np.where(played == 1, c, 1 - np.array(c))
        came = [
            (game.actions[seat][profile[seat]], game.cooperates(seat, profile[seat]), game.payoff(profile)[seat])
            for seat in (0, 1)
            for profile in product((0, 1), repeat=2)
        ]
        came_codes = (2 * actions[:, :1] + actions[:, 1:]) + np.array([0, 4])
        paid = np.array([result[2] for result in came])[came_codes].T.tolist()
        players = [(rounds, fsum(paid[seat]), None, int(played[:, seat].sum()) / rounds, 0, 0, 0) for seat in (0, 1)]
        steps = np.repeat(np.arange(rounds), 2)
        rows = UnitRows(
            steps, steps + 1, [(seat, seat, seat, "act", "", None) for seat in (0, 1)], np.tile([0, 1], rounds),
            answers,
            answer_codes.ravel(), [(*result, *NOTHING_CAME[3:]) for result in came], came_codes.ravel(), players,
            KeptRounds(0, 0),
        )  # fmt: skip
        return rows, [match_score(one, rules.discount) for one in paid]


def _answer(game: Game, seat: int, cooperates: int, p: float) -> Answer:
    """Return the answer of a finite-state strategy that cooperates with probability ``p``."""
    options, c = game.actions[seat], game.cooperative[seat] or 0
    return Answer(options[c if cooperates else 1 - c], "scripted", {options[c]: p, options[1 - c]: 1.0 - p})


def _length(unit: Unit, rules: ArrayRules) -> int:
    """Return the number of rounds of a match: all, or until a random end."""
    if rules.continuation is None:
        return rules.rounds
    ends = chances_along(unit.streams.base_key("continue"), np.arange(1, rules.rounds), 0) >= rules.continuation
    return int(ends.argmax()) + 1 if ends.any() else rules.rounds


def _states(machine: Automaton, own: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the states of an automaton before each round, from the moves."""
    outcomes = (3 - 2 * own.astype(np.int64) - other).tolist()
    after = accumulate(outcomes, lambda state, outcome: machine.transitions[state][outcome], initial=machine.initial)
    return np.fromiter(after, np.int64)[:-1]


def _decided(unit: Unit, seat: int, cooperate: NDArray[np.float64]) -> Bools:
    """Return the moves at a seat, drawn as in play, from the chance of cooperation in each round."""
    draws = chances_along(unit.streams.base_key(""), np.arange(len(cooperate)), seat)
    return draws < cooperate if unit.game.cooperative[seat] == 0 else draws >= 1.0 - cooperate


def _unpacked(unit: Unit, rounds: int, intended: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the moves by round and seat, as intended and as played: random slips are drawn again."""
    rules = unit.mechanism.array_rules(unit.game)
    moves = np.unpackbits(np.frombuffer(intended, dtype=np.uint8), count=2 * rounds).reshape(rounds, 2)
    played = moves.copy()
    if rules is not None and rules.noise:
        root, numbers = unit.streams.base_key("tremble"), np.arange(1, rounds + 1)
        for seat in (0, 1):
            played[:, seat] ^= chances_along(root, numbers, seat) < rules.noise
    return moves, played


def _scores(game: Game, moves: Moves, discount: float | None) -> tuple[list[float], list[float]]:
    """Return the scores of both seats, bit for bit equal to those of ``match_score``."""
    # Action index by cooperation: index 1 where the machine cooperates.
    rows = [(1 - c, c) for c in (cooperative or 0 for cooperative in game.cooperative)]
    one, two = moves.played[:, 0], moves.played[:, 1]
    scores: tuple[list[float], list[float]] = ([], [])
    for seat in (0, 1):
        pay = np.array([[game.payoff((rows[0][a], rows[1][b]))[seat] for b in (0, 1)] for a in (0, 1)])
        paid = pay.ravel().take(2 * one.astype(np.intp) + two)
        if discount is None and bool((pay == np.round(pay)).all() and np.abs(pay).max(initial=0) * len(one) < 2**53):
            totals = np.where(np.arange(len(one))[:, None] < moves.lengths[None, :], paid, 0.0).sum(axis=0)
            scores[seat].extend((totals / moves.lengths).tolist())
        else:
            scores[seat].extend(
                match_score(paid[: moves.lengths[m], m].tolist(), discount) for m in range(paid.shape[1])
            )
    return scores
