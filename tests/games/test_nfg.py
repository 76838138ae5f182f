"""Gambit's .nfg files: both forms are read, games survive the round trip, nothing crashes the parser."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.games import Game, build_game, games
from ostrom.games.nfg import parse_nfg, write_nfg
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import OstromError, StudyError

TABLES = [name for name in games.names() if isinstance(build_game(name), TensorGame)]
PAYOFFS = """NFG 1 R "Three by two"
{ "Ann" "Bob" } { 3 2 }

1 1 0 2 0 2
1 1 0 3 2 0
"""
OUTCOMES = """NFG 1 R "Three by two" { "Ann" "Bob" }
{
{ "1" "2" "3" }
{ "1" "2" }
}
"a comment"

{
{ "" 1, 1 }
{ "" 0 2 }
{ "with \\"quotes\\"" 0, 3 }
{ "" 2 0 }
}
1 2 2 1 3 4
"""


def test_the_first_player_changes_fastest() -> None:
    game = parse_nfg(PAYOFFS)
    assert [game.payoff(p) for p in game.profiles()] == [(1, 1), (1, 1), (0, 2), (0, 3), (0, 2), (2, 0)]
    assert game.actions == (("1", "2", "3"), ("1", "2"))
    assert (game.title, game.roles) == ("Three by two", ("Ann", "Bob"))


def test_both_forms_say_the_same() -> None:
    one, two = parse_nfg(PAYOFFS), parse_nfg(OUTCOMES)
    assert np.array_equal(one.payoffs, two.payoffs) and one.actions == two.actions


def test_outcome_zero_pays_nobody() -> None:
    game = parse_nfg('NFG 1 R "t" { "A" "B" } { { "x" "y" } { "z" } } { { "o" 5 6 } } 0 1')
    assert [game.payoff(p) for p in game.profiles()] == [(0, 0), (5, 6)]


def test_three_players_fractions_and_decimals() -> None:
    game = parse_nfg('NFG 1 D "t" { "A" "B" "C" } { 2 1 2 } 1/3 -1/2 .5 2. 1e2 +3 0 0 0 -0.125 7 8')
    assert game.payoff((0, 0, 0)) == (1 / 3, -0.5, 0.5)
    assert game.payoff((1, 0, 0)) == (2, 100, 3)
    assert game.payoff((0, 0, 1)) == (0, 0, 0)
    assert game.payoff((1, 0, 1)) == (-0.125, 7, 8)


def test_quotes_and_backslashes_in_names_survive() -> None:
    names = ('say "hi"', "back\\slash", "ends\\", '\\"', "two\nlines")
    game = TensorGame("g", (names, ("only",)), np.arange(10.0).reshape(5, 1, 2), title='a "title" \\')
    back = parse_nfg(write_nfg(game))
    assert (back.actions, back.title) == (game.actions, game.title)


@st.composite
def any_games(draw: st.DrawFn) -> Game:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    size = int(np.prod(shape)) * len(shape)
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    names = st.text(min_size=1, max_size=6).filter(str.strip)
    actions = tuple(tuple(draw(st.lists(names, min_size=n, max_size=n, unique=True))) for n in shape)
    return TensorGame("g", actions, np.array(values).reshape(*shape, len(shape)), title=draw(names))


@given(any_games())
def test_every_game_survives_the_round_trip(game: Game) -> None:
    back = parse_nfg(write_nfg(game))
    assert np.array_equal(back.payoffs, game.payoffs)
    assert (back.actions, back.roles, back.title) == (game.actions, game.roles, game.title)


@pytest.mark.parametrize("name", [*TABLES, "public_goods:4"])
def test_interchangeable_seats_stay_so_and_others_keep_their_roles(name: str) -> None:
    game = build_game(name)
    assert parse_nfg(write_nfg(game)).roles == game.roles


def test_a_cooperative_action_can_be_said_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pd.nfg"
    path.write_text(write_nfg(build_game("prisoners_dilemma")), encoding="utf-8")
    assert build_game(str(path)).cooperative == (None, None)
    game = build_game({"file": str(path), "cooperative": "cooperate"})
    assert (game.name, game.cooperative, game.defective) == ("pd", (0, 0), (1, 1))
    with pytest.raises(StudyError, match="cooperative: seat 1 has no such action"):
        build_game({"file": str(path), "cooperative": "nope"})


PIECES = st.sampled_from(["NFG", "1", "R", '"t"', "{", "}", ",", "2", '"A"', "1/3", "-.5", '"', "\\", "\n", "é", "1e5"])


@given(st.lists(PIECES, max_size=40).map(" ".join) | st.text(max_size=80))
def test_no_text_makes_the_parser_crash(text: str) -> None:
    for candidate in (text, f'NFG 1 R "t" {{ "A" "B" }} {text}'):
        try:
            parse_nfg(candidate, file="g.nfg")
        except OstromError as error:
            assert str(error).startswith("g.nfg: ") and "\n" not in str(error)


@given(st.integers(0, len(OUTCOMES) - 1), st.integers(0, 12), st.text(max_size=3))
def test_a_damaged_file_is_read_or_refused(place: int, cut: int, put: str) -> None:
    try:
        parse_nfg(OUTCOMES[:place] + put + OUTCOMES[place + cut :], file="g.nfg")
    except OstromError as error:
        assert str(error).startswith("g.nfg: ")


def test_scanning_advances_through_every_character_once() -> None:
    # Linear time, stated without a clock: hostile repetitions of what could backtrack still end at once.
    for hostile in ('"' + "\\" * 300_001, '"' + 'a\\"' * 100_000, "{" * 300_000, " " * 300_000 + "x", "9" * 300_000):
        with pytest.raises(StudyError):
            parse_nfg(f'NFG 1 R "t" {hostile}')


def test_the_order_of_payoffs_is_the_published_one() -> None:
    numbers = " ".join(str(i) for i in range(2 * 3 * 2 * 3))
    game = parse_nfg(f'NFG 1 R "t" {{ "A" "B" "C" }} {{ 2 3 2 }} {numbers}')
    order = [(i, j, k) for k in range(2) for j in range(3) for i in range(2)]
    assert [game.payoff(p)[0] for p in order] == [3.0 * n for n in range(12)]
    assert all(a < b for a, b in pairwise(game.payoff(p) for p in order))
