"""Conformance checks for strategies: run them on your own as we run them on ours.

from ostrom.testing.check_strategy import check_strategy
check_strategy("tit_for_tat")
check_strategy(lambda: MyStrategy(patience=3))
check_strategy("my_strategy", games=["my_auction", build_game("trust")])
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import chain, count, product
from typing import Any

import numpy as np

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Strategy
from ostrom.answers import Answer, Choice
from ostrom.answers.random_answers import random_answer
from ostrom.games import build_game
from ostrom.games.game import Game, Profile
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import Decision, History, Round, View

Make = Callable[[], Strategy]
_CD = ("cooperate", "defect")

PRISONERS_DILEMMA = TensorGame("prisoners_dilemma", (_CD, _CD), np.array([[[3, 3], [0, 5]], [[5, 0], [1, 1]]]), (0, 0))
THREE_PLAYERS = TensorGame(
    "public_goods",
    (_CD, _CD, _CD),
    np.array([[[[(3 - i - j - k) / 2 + a for a in (i, j, k)] for k in (0, 1)] for j in (0, 1)] for i in (0, 1)]),
    (0, 0, 0),
)
NO_COOPERATION = TensorGame(
    "battle_of_the_sexes", (("J", "F"), ("J", "F")), np.array([[[10, 7], [0, 0]], [[0, 0], [7, 10]]])
)
GAMES = (PRISONERS_DILEMMA, THREE_PLAYERS, NO_COOPERATION)
AMOUNT_GAMES = ("public_goods_amounts:3", "common_pool", "ultimatum")
"""Games in which strategies about amounts are checked."""


def view_of(game: Game, profiles: Sequence[Profile], seat: int = 0) -> View:
    """Return a seat's view after these action profiles."""
    rounds = _rounds(game, profiles)
    return View(game, seat, "repetition", len(rounds) + 1, History(rounds))


def _rounds(game: Game, profiles: Sequence[Profile]) -> list[Round]:
    return [Round(n, tuple(p), game.payoff(p)) for n, p in enumerate(profiles, 1)]


def check_strategy(
    strategy: str | Mapping[str, Any] | Strategy | Make,
    *,
    games: Sequence[str | Mapping[str, Any] | Game] = GAMES,
    histories: int = 12,
    seed: int = 0,
) -> None:
    """Raise AssertionError with one line if a strategy breaks the contract.

    ``strategy`` is a name, a specification, the object before its first match, or a function that makes one.
    ``games`` are names, specifications or objects; in games by a rule it is played at every seat, also beside
    others who move by chance.
    """
    if isinstance(strategy, Strategy):
        make: Make = partial(deepcopy, strategy)
    elif isinstance(strategy, str | Mapping):
        make = partial(strategies.build, strategy)
    else:
        make = strategy
    check_metadata(make())
    tried = [game if isinstance(game, Game) else build_game(game) for game in games]
    tabled, by_rule = ([game for game in tried if game.has_table], [game for game in tried if not game.has_table])
    if make().about_amounts:
        for game in tabled:
            check_refusal(make(), game)
        for game in (*map(build_game, AMOUNT_GAMES), *by_rule):
            check_by_rule(make, game)
        return
    answers = sum(check_by_rule(make, game) for game in by_rule)
    if not tabled:
        assert answers, f"{make().name}: plays none of the games it was tried in"
        return
    rng = np.random.default_rng(seed)
    playable = [game for game in tabled if _can_play(make(), game)]
    try:
        make().odds(view_of(playable[0] if playable else tabled[0], []))
    except NotImplementedError:
        raise AssertionError(
            f"{make().name}: has no rule for games with a payoff table (move): one that answers games by a rule alone "
            "(choose) is tried in those: games=[...]"
        ) from None
    except StudyError:
        pass  # a refusal, which is checked below
    for game in (game for game in tabled if game not in playable):
        check_refusal(make(), game)
    for game in playable:
        for seat in range(game.seats):
            samples = [_random_profiles(game, length, rng) for length in range(histories)]
            check_pure(make, game, seat, samples)
            check_incremental(make, game, seat, samples)
            check_looking_back(make, game, seat, samples)
            check_memory_depth(make, game, seat, samples, rng)
        samples = [_random_profiles(game, length, rng) for length in range(histories)]
        check_forks(make, game, samples, rng)
        check_seats_alike(make, game, samples)
        check_automaton(make, game, rng)
    assert playable or answers, f"{make().name}: plays none of the games it was tried in"
    if playable:
        check_stochastic(make, playable[0])


def check_metadata(strategy: Strategy) -> None:
    """Check title, citation, one-line rule, memory depth and stochasticity."""
    kind = type(strategy)
    for what in ("title", "citation"):
        assert isinstance(getattr(kind, what, None), str) and getattr(kind, what), f"{kind.__name__}: no {what}"
    assert kind.__doc__ and kind.__doc__ != Strategy.__doc__, f"{kind.__name__}: no docstring states the rule"
    depth = getattr(strategy, "memory_depth", None)
    assert isinstance(depth, int | float) and depth >= 0, f"{strategy.name}: memory_depth is {depth!r}"
    assert isinstance(strategy.stochastic, bool), f"{strategy.name}: stochastic is {strategy.stochastic!r}"


def check_refusal(strategy: Strategy, game: Game) -> None:
    """Check that the strategy refuses an unsuitable game in one line that names both."""
    try:
        strategy.odds(view_of(game, []))
    except StudyError as error:
        assert game.name in str(error), f"{strategy.name}: the refusal does not name game {game.name}: {error}"
        assert strategy.name in str(error), f"{strategy.name}: the refusal does not name it: {error}"
    else:
        raise AssertionError(f"{strategy.name}: plays {game.name}, against what it declares")


def check_pure(make: Make, game: Game, seat: int, samples: Sequence[Sequence[Profile]]) -> None:
    """Check that the odds are probabilities that sum to 1, equal for every instance and call."""
    for profiles in samples:
        view = view_of(game, profiles, seat)
        strategy = make()
        odds = list(strategy.odds(view))
        where = f"{strategy.name} in {game.name}, seat {seat + 1}, after {list(profiles)}"
        assert len(odds) == len(game.actions[seat]), f"{where}: {len(odds)} odds"
        assert min(odds) >= 0 and abs(sum(odds) - 1) < 1e-12, f"{where}: {odds} are no odds"
        assert list(strategy.odds(view)) == odds, f"{where}: asked again it answers otherwise"
        assert list(make().odds(view)) == odds, f"{where}: another instance answers otherwise"
        assert list(make().odds(view_of(game, profiles, seat))) == odds, f"{where}: odds depend on more than moves"


def check_incremental(make: Make, game: Game, seat: int, samples: Sequence[Sequence[Profile]]) -> None:
    """Check that an instance that has seen the match grow, or other matches, answers like a new one."""
    veteran = make()
    for profiles in samples:
        rounds: list[Round] = []
        for number, profile in enumerate([*profiles, None], 1):
            view = View(game, seat, "repetition", number, History(rounds))
            grown, fresh = list(veteran.odds(view)), list(make().odds(view))
            assert grown == fresh, (
                f"{veteran.name} in {game.name}, seat {seat + 1}, after {[r.actions for r in rounds]}: "
                f"{grown} with a memory of its own, {fresh} from scratch"
            )
            if profile is not None:
                rounds.append(Round(number, tuple(profile), game.payoff(profile)))


def check_looking_back(make: Make, game: Game, seat: int, samples: Sequence[Sequence[Profile]]) -> None:
    """Check that a view of an earlier round gets the same answer after later rounds."""
    for profiles in samples:
        strategy = make()
        rounds = _rounds(game, profiles)
        for length in reversed(range(len(rounds))):
            again = list(strategy.odds(View(game, seat, "repetition", length + 1, History(rounds, length))))
            then = list(make().odds(view_of(game, profiles[:length], seat)))
            assert again == then, (
                f"{strategy.name} in {game.name}, seat {seat + 1}: after {list(profiles)}, asked again about "
                f"round {length + 1}, it says {again}; then it said {then}"
            )


def check_forks(make: Make, game: Game, samples: Sequence[Sequence[Profile]], rng: np.random.Generator) -> None:
    """Check that an instance that sees a match from every seat, and branches, answers like a new one."""
    veteran = make()
    for profiles in samples:
        trunk = _rounds(game, profiles)
        branch = trunk[: len(trunk) // 2]
        for profile in _random_profiles(game, len(trunk) - len(branch) + 2, rng):
            branch.append(Round(len(branch) + 1, profile, game.payoff(profile)))
        for seat in range(game.seats):
            for rounds in (trunk, branch, trunk):
                view = View(game, seat, "repetition", len(rounds) + 1, History(rounds))
                seasoned, fresh = list(veteran.odds(view)), list(make().odds(view))
                assert seasoned == fresh, (
                    f"{veteran.name} in {game.name}, seat {seat + 1}, after {[r.actions for r in rounds]}: "
                    f"{seasoned} after having seen another branch or seat, {fresh} from scratch"
                )


def check_memory_depth(
    make: Make, game: Game, seat: int, samples: Sequence[Sequence[Profile]], rng: np.random.Generator
) -> None:
    """Check that pasts with equal last ``memory_depth`` rounds get the same answer."""
    strategy = make()
    if strategy.memory_depth == float("inf"):
        return
    depth = int(strategy.memory_depth)
    for profiles in samples:
        if len(profiles) < depth:
            continue
        other = [*_random_profiles(game, int(rng.integers(0, 6)), rng), *profiles[len(profiles) - depth :]]
        one, two = (list(make().odds(view_of(game, p, seat))) for p in (profiles, other))
        assert one == two, (
            f"{strategy.name} declares memory_depth {depth}, but plays {one} after {list(profiles)} "
            f"and {two} after {other}"
        )


def check_seats_alike(make: Make, game: Game, samples: Sequence[Sequence[Profile]]) -> None:
    """Check that the strategy plays the same from symmetric seats."""
    for seat in (seat for seat in range(1, game.seats) if _is_symmetric(game, seat)):
        for profiles in samples:
            one, two = (
                list(make().odds(view_of(game, p, s)))
                for p, s in ((profiles, 0), ([_swap(p, seat) for p in profiles], seat))
            )
            assert one == two, (
                f"{make().name} in {game.name} after {list(profiles)}: {one} in seat 1, {two} in seat {seat + 1}"
            )


def check_automaton(make: Make, game: Game, rng: np.random.Generator) -> None:
    """Check that a strategy's automaton plays as the strategy."""
    for seat in range(game.seats):
        automaton, c = make().automaton(game, seat), game.cooperative[seat]
        if automaton is None or c is None:
            continue
        for profiles in [*_all_profiles(game, 3), *(_random_profiles(game, 40, rng) for _ in range(10))]:
            pairs = [
                (game.cooperates(seat, p[seat]) is True, game.cooperates(1 - seat, p[1 - seat]) is True)
                for p in profiles
            ]
            by_rule, by_automaton = make().odds(view_of(game, profiles, seat))[c], automaton.after(pairs)
            assert by_rule == by_automaton, (
                f"{make().name}: {by_rule} by its rule, {by_automaton} by its automaton after {list(profiles)}"
            )


def check_stochastic(make: Make, game: Game) -> None:
    """Check that ``stochastic`` is true exactly if some move is random."""
    strategy = make()
    some_random = any(
        0 < p < 1
        for seat in range(game.seats)
        for profiles in _all_profiles(game, 3)
        for p in make().odds(view_of(game, profiles, seat))
    )
    assert some_random == strategy.stochastic, (
        f"{strategy.name} declares stochastic {strategy.stochastic}, but its odds are "
        f"{'not ' if some_random else ''}all certain"
    )


def _can_play(strategy: Strategy, game: Game) -> bool:
    """Return whether the strategy, by its declarations, can play the game."""
    return not (
        (strategy.games_of_two and game.seats != 2) or (strategy.needs_cooperation and None in game.cooperative)
    )


def _random_profiles(game: Game, length: int, rng: np.random.Generator) -> list[Profile]:
    # Each past has its own odds, so that some are mostly cooperative: uniform moves rarely reach the states of
    # patient strategies.
    second_action_odds = rng.random(2)
    return [
        tuple(
            int(rng.random() < second_action_odds[min(s, 1)]) if len(a) == 2 else int(rng.integers(len(a)))
            for s, a in enumerate(game.actions)
        )
        for _ in range(length)
    ]


def _all_profiles(game: Game, longest: int) -> Iterator[tuple[Profile, ...]]:
    return chain.from_iterable(product(list(game.profiles()), repeat=length) for length in range(longest + 1))


def _is_symmetric(game: Game, seat: int) -> bool:
    """Return whether the game is symmetric in seat 1 and this seat."""
    same = game.actions[0] == game.actions[seat] and game.cooperative[0] == game.cooperative[seat]
    return same and all(_swap(game.payoff(p), seat) == game.payoff(_swap(p, seat)) for p in game.profiles())


def _swap(values: tuple[Any, ...], seat: int) -> tuple[Any, ...]:
    """Return the values with seat 1 and this seat exchanged."""
    changed = list(values)
    changed[0], changed[seat] = changed[seat], changed[0]
    return tuple(changed)


def check_by_rule(make: Make, game: Game) -> int:
    """Check that the strategy's answers in a game by a rule are allowed; return their number.

    It is played at every seat at once, and at each seat beside others who move by chance.
    """
    seats = range(game.seats)
    return sum(
        _play(make, game, Streams(seed, 1), own)
        for seed in range(4)
        for own in [set(seats), *({seat} for seat in seats)]
    )


def _play(make: Make, game: Game, streams: Streams, own: Set[int]) -> int:
    """Play one match with the strategy at its seats; return how often it answered."""
    veteran, answers = make(), 0

    def decide(decision: Decision, step: int) -> Answer:
        nonlocal answers
        view, at = decision.view, (step, decision.player)
        if view.seat not in own:
            return random_answer(decision.form, streams.generator(*at, "random"))

        def answer_of(strategy: Strategy, rounds: Sequence[Round] | None = None) -> Answer:
            return ScriptedAgent(strategy).decide(decision, lambda: streams.chance(*at), rounds)

        where = f"{veteran.name} in {game.name}, seat {view.seat + 1}, step {step}"
        try:
            answer = answer_of(veteran)
        except StudyError as error:
            refuses = isinstance(decision.form, Choice) or not veteran.about_amounts
            assert refuses and "is not an option here" not in str(error) and veteran.name in str(error), (
                f"{where}: {error}"
            )
            return random_answer(decision.form, streams.generator(*at, "random"))
        answers += 1
        assert answer_of(veteran) == answer, f"{where}: asked again it answers otherwise"
        assert answer_of(make()) == answer, f"{where}: another instance answers otherwise"
        if len(view.history) > veteran.memory_depth:
            recent = view.history.played_rounds()[len(view.history) - int(veteran.memory_depth) :]
            assert answer_of(make(), recent) == answer, (
                f"{where}: declares memory_depth {veteran.memory_depth}, but answers otherwise by its last rounds alone"
            )
        if answer.probabilities is not None and not veteran.stochastic:
            assert max(answer.probabilities.values()) == 1, (
                f"{where}: declares stochastic False, but leaves the move to chance"
            )
        return answer

    play = mechanisms.build({"name": "repetition", "rounds": 4}).play(game, streams)
    due = next(play)
    with suppress(StopIteration):
        for step in count():
            due = play.send([decide(decision, step) for decision in due])
    return answers
