"""What a seat is told is what is scored, for every game, seat and outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.games import Game, build_game, games
from ostrom.games.describe import describe, describe_counts
from ostrom.games.summary import payoff_table
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError

EVERY = [
    *(name for name in games.names() if isinstance(build_game(name), TensorGame)),
    *(f"ordinal_2x2:{n}" for n in range(1, 145)),
    "prisoners_dilemma:memory_curse",
    "public_goods:5,2",
    "coordination:2,1,0,4",
    "travelers_dilemma:2,9",
]


@pytest.mark.sample(105)
@pytest.mark.parametrize("spec", EVERY)
def test_the_description_equals_the_scoring(spec: str) -> None:
    game = build_game(spec)
    for seat in range(game.seats):
        told = {}
        for line in describe(game, seat):
            profile = [-1] * game.seats
            profile[seat] = line.own
            for other, action in line.others:
                profile[other] = action
            told[tuple(profile)] = line
            assert line.profile == tuple(profile)
        assert sorted(told) == sorted(game.profiles())
        for at in game.profiles():
            assert list(told[at].payoffs) == game.payoffs[at].tolist()
            assert told[at].payoff == game.payoffs[(*at, seat)]


def test_off_diagonal_cells_are_transposed_for_seat_two() -> None:
    game = build_game("trust")
    lines = [(line.own, dict(line.others)[0], line.payoff) for line in describe(game, 1)]
    assert lines == [(0, 0, 10), (0, 1, 2), (1, 0, 20), (1, 1, 4)]


def test_each_seat_of_matching_pennies_is_told_its_own_side() -> None:
    game = build_game("matching_pennies")
    wins = [{line.profile for line in describe(game, seat) if line.payoff > 0} for seat in (0, 1)]
    assert wins == [{(0, 0), (1, 1)}, {(0, 1), (1, 0)}]


def test_interchangeable_seats_read_the_same_description() -> None:
    for spec in ("prisoners_dilemma", "trust_symmetric", "stag_hunt", "travelers_dilemma"):
        game = build_game(spec)
        one, two = (
            [(line.own, line.others[0][1], line.payoff, line.payoffs[1 - seat]) for line in describe(game, seat)]
            for seat in (0, 1)
        )
        assert one == two


@st.composite
def anonymous_games(draw: st.DrawFn) -> Game:
    """Two-action games in which payoffs depend on the own action and how many others play the first one."""
    n = draw(st.integers(2, 5))
    paid = draw(st.lists(st.lists(st.integers(-9, 9), min_size=n, max_size=n), min_size=2, max_size=2))
    payoffs = np.empty((2,) * n + (n,))
    for profile in np.ndindex(*(2,) * n):
        payoffs[profile] = [paid[a][profile.count(0) - (a == 0)] for a in profile]
    return TensorGame("g", (("a", "b"),) * n, payoffs)


@given(anonymous_games())
def test_the_short_description_equals_the_scoring(game: Game) -> None:
    for seat in range(game.seats):
        lines = describe_counts(game, seat)
        assert lines is not None and len(lines) == 2 * game.seats
        told = {(line.own, line.counts): line for line in lines}
        for profile in game.profiles():
            others = [a for s, a in enumerate(profile) if s != seat]
            line = told[profile[seat], (others.count(0), others.count(1))]
            assert line.payoff == game.payoff(profile)[seat]
            for s, a in enumerate(profile):
                assert s == seat or line.other_payoffs[a] == game.payoff(profile)[s]


def test_there_is_no_short_description_where_it_matters_who_does_what() -> None:
    payoffs = np.zeros((2, 2, 2, 3))
    payoffs[0, 0, 1] = (1, 0, 0)
    assert describe_counts(TensorGame("g", (("a", "b"),) * 3, payoffs), 0) is None
    assert describe_counts(TensorGame("g", (("a", "b"),), np.zeros((2, 1))), 0) is None


def test_a_seat_that_does_not_exist_is_refused() -> None:
    with pytest.raises(GameError, match="no seat 3, the game has 2"):
        describe(build_game("chicken"), 2)


def test_the_table_for_terminals() -> None:
    assert payoff_table(build_game("trust")) == (
        ("", "share", "keep"),
        ("invest", "10, 10", "0, 20"),
        ("withhold", "6, 2", "4, 4"),
    )
    rows = payoff_table(build_game("public_goods"))
    assert rows[0] == ("seat 1", "seat 2", "seat 3", "payoffs") and len(rows) == 9
    assert rows[2] == ("contribute", "contribute", "free_ride", "1, 1, 2")


def test_a_game_by_a_rule_is_never_enumerated() -> None:
    with pytest.raises(GameError, match="public_goods_amounts: its payoffs follow from a rule"):
        describe(build_game({"name": "public_goods_amounts", "n": 10}), 0)
