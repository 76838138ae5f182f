"""Strategies as finite-state machines, for playing many matches at once."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
PAIRS = ((True, True), (True, False), (False, True), (False, False))
"""The outcomes of a round as (own, other) cooperation, in the order of an automaton's transitions."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """States numbered from 0; ``cooperate[s]`` is the chance of cooperating in state s.

    ``transitions[s]`` holds the next state after CC, CD, DC and DD (own move first) *as carried out*, so that
    a slip of the hand, the own one included, moves the machine like any other move.
    """

    cooperate: tuple[float, ...]
    transitions: tuple[tuple[int, int, int, int], ...]
    initial: int = 0

    def after(self, pairs: list[tuple[bool, bool]]) -> float:
        """The chance of cooperating after these (own, other) moves.

        >>> always = Automaton((1.0,), ((0, 0, 0, 0),))
        >>> always.after([(True, False)])
        1.0
        """
        state = self.initial
        for own, other in pairs:
            state = self.transitions[state][2 * (not own) + (not other)]
        return self.cooperate[state]


def explore(
    initial: S, step: Callable[[S, bool, bool], S], cooperate: Callable[[S], float], most: int = 4096
) -> Automaton | None:
    """Return the smallest automaton of a machine over its reachable states; None if they are too many.

    >>> grim = explore(True, lambda calm, own, other: calm and other, float)
    >>> grim
    Automaton(cooperate=(1.0, 0.0), transitions=((0, 1, 0, 1), (1, 1, 1, 1)), initial=0)
    """
    number: dict[S, int] = {initial: 0}
    queue, moves = [initial], []
    for state in queue:
        row = []
        for own, other in PAIRS:
            following = step(state, own, other)
            if following not in number:
                if len(number) == most:
                    return None
                number[following] = len(number)
                queue.append(following)
            row.append(number[following])
        moves.append(row)
    return _merged([cooperate(state) for state in queue], moves)


def remember(depth: int, cooperate: Callable[[tuple[tuple[bool, bool], ...]], float]) -> Automaton | None:
    """Return the automaton of a rule over the last ``depth`` rounds; ``cooperate`` gets those rounds."""

    def step(state: tuple[tuple[bool, bool], ...], own: bool, other: bool) -> tuple[tuple[bool, bool], ...]:
        return (*state, (own, other))[-depth:] if depth else ()

    nothing: tuple[tuple[bool, bool], ...] = ()
    return explore(nothing, step, cooperate)


def _merged(chances: list[float], moves: list[list[int]]) -> Automaton:
    """Merge equivalent states (Moore 1956); state 0 stays the first."""
    block = _ranks([(p,) for p in chances])
    while True:
        finer = _ranks([(block[s], *(block[t] for t in row)) for s, row in enumerate(moves)])
        if max(finer) == max(block):
            break
        block = finer
    members = [block.index(b) for b in range(max(block) + 1)]
    rows = [[block[t] for t in moves[s]] for s in members]
    return Automaton(tuple(chances[s] for s in members), tuple((r[0], r[1], r[2], r[3]) for r in rows), block[0])


def _ranks(keys: list[tuple[float, ...]]) -> list[int]:
    """Number the distinct keys in order of appearance."""
    seen: dict[tuple[float, ...], int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]
