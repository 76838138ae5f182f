"""Many matches at once: finite-state strategies as tables, rounds as array operations over all matches.

The draws are those of ``Streams.chance``, so every match comes out exactly as it does when played by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostrom.agents.automaton import Automaton
from ostrom.ground.streams import Streams, chances
from ostrom.mechanisms.base import ArrayRules

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Machines:
    """Several automata in one table: states are numbered through."""

    cooperate: NDArray[np.float64]
    transitions: NDArray[np.int32]
    """Next state by state and what both did: CC, CD, DC, DD, own move first."""
    initial: NDArray[np.int32]
    """The first state of each automaton."""

    @property
    def random(self) -> bool:
        """Whether some state leaves the move to chance."""
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
    """What happened: True for cooperation, by round, seat and match. Beyond ``lengths`` nothing counts."""

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

    ``streams`` are needed where chance has a say; ``first_is_cooperative`` tells for each seat whether its
    cooperative action is the one named first, because options are drawn in the order in which they are named.
    """
    size = len(table.cooperate)
    pairs = table.initial[seats[0]] * size + table.initial[seats[1]]
    following = _pair_transitions(table)
    if table.random or rules.noise:
        intended, played = _with_chance(table, pairs, following, rules, streams, first_is_cooperative)
    else:
        intended = played = _without_chance(table, pairs, following, rules.rounds)
    return Moves(intended, played, _lengths(rules, streams, seats.shape[1]))


def _pair_transitions(table: Machines) -> NDArray[np.int64]:
    """The next pair of states by pair (state 1 x states + state 2) and what both did, seat 1 first."""
    size = len(table.cooperate)
    mirrored = table.transitions[:, [0, 2, 1, 3]].astype(np.int64)
    return (table.transitions[:, None, :].astype(np.int64) * size + mirrored[None, :, :]).reshape(size * size, 4)


def _without_chance(table: Machines, pairs: NDArray[np.int64], following: NDArray[np.int64], rounds: int) -> Bools:
    """Each pair of states has one successor: a single look-up per round and match."""
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
    return np.array([s.root(purpose) for s in streams], dtype=np.uint64)


def _lengths(rules: ArrayRules, streams: Sequence[Streams], count: int) -> NDArray[np.int64]:
    """How many rounds each match has: all, or until chance ends it."""
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
