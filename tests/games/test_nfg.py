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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1, column 1: expected 'NFG', found the end of the file"),
        ("EFG 2 R", "line 1, column 1: expected 'NFG', found 'EFG'"),
        ("NFG 2 R", "line 1, column 5: expected version '1', found '2'"),
        ("NFG 1 X", "expected 'R' or 'D', found 'X'"),
        ('NFG 1 R "t" { }', "expected at least one of the players"),
        ('NFG 1 R "t" { "A" 3 }', "expected a name of the players in quotes or '}', found '3'"),
        ('NFG 1 R "t" { "A" } { 2 2 } 1 2', "expected strategies of 1 players, not of 2"),
        ('NFG 1 R "t" { "A" } { 0 }', "expected a number of strategies (a whole number from 1), found '0'"),
        ('NFG 1 R "t" { "A" } { -1 }', "a whole number from 1"),
        ('NFG 1 R "t" { "A" "B" } { 2 { "x" } }', "numbers of strategies, or a list of names per player"),
        ('NFG 1 R "t" { "A" } { { "x" "x" } } 1 2', "names an action twice"),
        ('NFG 1 R "t" { "A" } { 2 }\n\n1', "line 3, column 2: expected payoff 2 of 2"),
        ('NFG 1 R "t" { "A" } { 2 }\n\n1 x', "line 3, column 3: expected payoff 2 of 2"),
        ('NFG 1 R "t" { "A" } { 2 } 1 1/0', "found '1/0'"),
        ('NFG 1 R "t" { "A" } { 2 } 1 1e999', "found '1e999'"),
        ('NFG 1 R "t" { "A" } { 2 } 1 nan', "found 'nan'"),
        ('NFG 1 R "t" { "A" } { 2 } 1 2 3', "expected nothing after the last payoff, found '3'"),
        ('NFG 1 R "t" { "A" } { 2 } { { "" 1 } } 1 2', "outcome number 2 of 2 (a whole number from 0 to 1)"),
        ('NFG 1 R "t" { "A" } { 2 } { { "" 1 2 } } 1 1', "expected '}', found '2'"),
        ('NFG 1 R "t" { "A" } { 2 } { { 1 } } 1 1', "expected the outcome's name in quotes"),
        ('NFG 1 R\n  "t', "line 2, column 3: expected a closing quote"),
        ('NFG 1 R "t" { "A" "B" } { 99999999 99999999 } 1', "profiles are more than 1000000"),
        ('NFG 1 R "t" { "A" } { 99999999999999 }', "a whole number from 1"),
        ('NFG 1 R "t" { ' + '"A" ' * 40 + "} { " + "1 " * 40 + "} 1", "40 seats are more than 30"),
        ('NFG 1 R "t" { "A" } { 1 } 1/' + "9" * 5000, "found '1/999"),
    ],
)
def test_a_wrong_file_is_one_line_with_the_place(text: str, says: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_nfg(text, file="g.nfg")
    message = str(caught.value)
    assert says in message and "\n" not in message and message.startswith("g.nfg: ") and len(message) < 300


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
