"""Own games from YAML: read back exactly, refused in one line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.games import Game, build_game
from ostrom.games.comparison import differences
from ostrom.games.tensor import TensorGame
from ostrom.games.yaml_file import parse_yaml, write_yaml
from ostrom.ground.errors import OstromError, StudyError

DILEMMA = """
name: mine
title: "Mine: a dilemma"
actions: [cooperate, defect]
cooperative: cooperate
payoffs:
  cooperate, cooperate: [3, 3]
  cooperate, defect: [0, 1/4]
  defect, cooperate: [1e1, .5]
  defect, defect: [1, -1.5]
"""


@st.composite
def any_games(draw: st.DrawFn) -> Game:
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)
    size = int(np.prod(shape)) * len(shape)
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip)
    actions = tuple(tuple(draw(st.lists(names, min_size=n, max_size=n, unique=True))) for n in shape)
    marked = tuple(draw(st.none() | st.integers(0, n - 1)) for n in shape)
    roles = tuple(f"role_{i}" for i in range(len(shape)))
    payoffs = np.array(values).reshape(*shape, len(shape))
    return TensorGame("g", actions, payoffs, marked, roles=roles, title=draw(names), citation=draw(names))


@settings(max_examples=60)
@given(any_games())
def test_every_game_survives_the_round_trip(game: Game) -> None:
    assert differences(game, parse_yaml(write_yaml(game))) == []


def test_rare_line_breaks_survive_and_plain_unicode_stays_readable() -> None:
    game = TensorGame("g", (("a\x85b", "\u2028c"),), np.zeros((2, 1)), title="\ufefft")
    assert differences(game, parse_yaml(write_yaml(game))) == []
    assert "Hörsaal" in write_yaml(TensorGame("g", (("Hörsaal",),), np.zeros((1, 1))))


def test_outcomes_by_name_with_fractions_and_exponents() -> None:
    game = parse_yaml(DILEMMA)
    assert game.payoffs.tolist() == [[[3, 3], [0, 0.25]], [[10, 0.5], [1, -1.5]]]
    assert (game.name, game.title, game.cooperative, game.defective) == ("mine", "Mine: a dilemma", (0, 0), (1, 1))


def test_shared_actions_for_any_number_of_seats() -> None:
    game = parse_yaml("{seats: 3, actions: [a], cooperative: [a, null, a], payoffs: [[[[1, 2, 3]]]]}")
    assert game.seats == 3 and game.cooperative == (0, None, 0) and game.payoff((0, 0, 0)) == (1, 2, 3)


def test_a_file_is_found_beside_the_study_and_named_after_itself(tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "my-game.yaml").write_text(DILEMMA.replace("name: mine", ""), encoding="utf-8")
    study = str(tmp_path / "study.yaml")
    assert build_game("games/my-game.yaml", file=study).name == "my_game"
    assert build_game({"file": "games/my-game.yaml", "title": "Other"}, file=study).title == "Other"
    assert build_game(tmp_path / "games" / "my-game.yaml").seats == 2


@given(st.text(max_size=60) | st.text("{}[]:,&*!|>'\"ab1 \n-", max_size=40).map(lambda t: f"actions: {t}"))
def test_no_text_makes_the_reader_crash(text: str) -> None:
    try:
        parse_yaml(text, file="g.yaml")
    except OstromError as error:
        assert str(error).startswith("g.yaml: ")


def test_unreadable_files_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.nfg").mkdir()
    for name, says in (
        ("binary.yaml", "is not UTF-8 text"),
        ("folder.nfg", "is not a game file"),
        ("absent.yml", "no such game file"),
    ):
        with pytest.raises(StudyError, match=says):
            build_game(str(tmp_path / name))
    with pytest.raises(StudyError, match=r"must end in .yaml, .yml or .nfg"):
        build_game({"file": "game.txt"})
    with pytest.raises(StudyError, match=r"unknown key 'payoffs' \(allowed: file"):
        build_game({"file": "game.yaml", "payoffs": []})
