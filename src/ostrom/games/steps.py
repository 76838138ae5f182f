"""The steps of a round of a game by a rule, found by playing: who decides together, with which options."""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from ostrom.games.amounts import Amounts, Options, Value
from ostrom.games.game import Due, End, Game, Now
from ostrom.ground.streams import Streams

MOST_ROUNDS = 256
"""The number of rounds played to find a game's questions."""
MOST_TRIES = 6
MOST_TRIED_ROUNDS = 40
"""The number of matches, and rounds of each, played to find whether a game can end."""


@lru_cache(maxsize=64)
def steps_of(game: Game) -> tuple[tuple[Due, ...], ...]:
    """Return the distinct steps of a first round, found by playing the first and last option at every step.

    >>> from ostrom.games import build_game
    >>> [[(turn.seat, turn.stage) for turn in step] for step in steps_of(build_game("ultimatum"))]
    [[(0, 'offer')], [(1, 'reply')]]
    """
    steps: dict[tuple[tuple[int, str, Options], ...], tuple[Due, ...]] = {}
    todo: deque[tuple[int, ...]] = deque([()])
    for _ in range(MOST_ROUNDS):
        if not todo:
            break
        prefix = todo.popleft()
        if (due := _after(game, prefix)) is not None:
            steps.setdefault(tuple((turn.seat, turn.stage, _kind(turn.options)) for turn in due), tuple(due))
            todo += [(*prefix, 0), (*prefix, -1)]
    return tuple(steps.values())


def decides_at_once(game: Game) -> bool:
    """Return whether a round is one step: nobody learns of a move before all are made.

    >>> from ostrom.games import build_game
    >>> decides_at_once(build_game("beauty_contest")), decides_at_once(build_game("ultimatum"))
    (True, False)
    """
    return game.has_table or len(steps_of(game)) == 1


@lru_cache(maxsize=64)
def pays_by_profile(game: Game) -> bool:
    """Return whether simultaneous moves alone determine a round: all seats decide, no state, no chance.

    >>> from ostrom.games import build_game
    >>> [pays_by_profile(build_game(name)) for name in ("beauty_contest", "common_pool", "first_price_auction")]
    [True, False, False]
    """
    if game.has_table:
        return True
    if game.stateful or not decides_at_once(game) or len(steps_of(game)[0]) < game.seats:
        return False
    drawn: list[str] = []

    def chance(seat: int, purpose: str) -> float:
        drawn.append(f"{seat} {purpose}")
        return 0.5

    for which in (0, -1):
        stages = game.begin(Now(chance=chance))
        with suppress(StopIteration):
            stages.send([_end(turn.options, which) for turn in next(stages)])
    return not drawn


def named_sets(game: Game) -> dict[tuple[str, ...], str]:
    """Return the sets of named options in a game, each with a stage that uses it."""
    return {
        tuple(turn.options): turn.stage
        for step in steps_of(game)
        for turn in step
        if not isinstance(turn.options, Amounts)
    }


@lru_cache(maxsize=64)
def can_end(game: Game) -> bool:
    """Return whether a trial match ends for good (``End.over``).

    All take their last option in every round, or all their first, or chance decides.

    >>> from ostrom.games import build_game
    >>> can_end(build_game("common_pool")), can_end(build_game("ultimatum"))
    (True, False)
    """
    return not game.has_table and any(_ends(game, seed) for seed in range(MOST_TRIES))


def _ends(game: Game, seed: int) -> bool:
    """Return whether a trial match ends: all take the last option (seed 0), the first (1), or random ones."""
    state: Mapping[str, Any] = {}
    chance = Streams(seed, 0).chance

    def move(turn: Due, number: int) -> Value:
        options, drawn = turn.options, chance(number, turn.seat, turn.stage)
        if seed < 2:
            return _end(options, seed - 1)
        return (
            options.value(int(drawn * options.levels))
            if isinstance(options, Amounts)
            else options[int(drawn * len(options))]
        )

    for number in range(1, MOST_TRIED_ROUNDS + 1):
        stages = game.begin(Now(number, state, partial(chance, number)))
        due = next(stages)
        try:
            while True:
                due = stages.send([move(turn, number) for turn in due])
        except StopIteration as stop:
            end: End = stop.value
        if end.over is not None:
            return True
        state = end.state
    return False


def _after(game: Game, taken: Sequence[int]) -> Sequence[Due] | None:
    """Return what is due after these steps, in which all took their first (0) or last option (-1)."""
    stages = game.begin()
    due = next(stages)
    try:
        for which in taken:
            due = stages.send([_end(turn.options, which) for turn in due])
    except StopIteration:
        return None
    return due


def _end(options: Options, which: int) -> Value:
    if isinstance(options, Amounts):
        return options.high if which else options.low
    return options[which]


def _kind(options: Options) -> Options:
    """Return a key for a set of options: the same for all amounts, the names for named options."""
    return () if isinstance(options, Amounts) else tuple(options)
