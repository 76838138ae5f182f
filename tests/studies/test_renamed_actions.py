"""Actions that were renamed: files may use the old names, and runs that were begun with them go on in them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.games import Game, build_game
from ostrom.games.tensor import TensorGame
from ostrom.games.yaml_file import parse_yaml, write_yaml
from ostrom.ground.errors import GameError, StudyError
from ostrom.studies.run import open_run

STUDY = """\
name: places
game: battle_of_the_sexes
mechanism: {name: repetition, rounds: 2, missed: "default:match"}
types: {first: "constant:opera", second: "constant:match"}
seating: ordered
seeds: 1
"""


def actions_of(folder: Path) -> set[str]:
    with open_run(folder / "runs" / "places") as run:
        return {str(row["action"]) for row in run.rows.decisions()}


def in_old_names(self: TensorGame, questions: Iterable[str]) -> Game:
    return replace(self, actions=(self.formerly,) * self.seats, formerly=()) if self.formerly else self


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "places.yaml").write_text(STUDY)
    return caller(monkeypatch, tmp_path)


def test_no_action_of_the_catalog_is_called_as_a_part_of_a_run_is() -> None:
    assert build_game("battle_of_the_sexes").actions == (("opera", "football"),) * 2


def test_an_old_name_stands_for_the_action_in_files(call: Call, tmp_path: Path) -> None:
    assert call("run", "places.yaml").code == 0
    assert actions_of(tmp_path) == {"opera", "football"}


@pytest.mark.slow
def test_a_run_that_was_begun_with_the_old_names_keeps_them(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(TensorGame, "as_journaled", in_old_names)
        assert call("run", "places.yaml").code == 0
    assert actions_of(tmp_path) == {"opera", "match"}
    assert call("run", "places.yaml", "--seeds", "2").code == 0  # plays on from the file, not from the manifest
    with open_run(tmp_path / "runs" / "places") as run:
        assert len(run.plan) == 8
    assert actions_of(tmp_path) == {"opera", "match"}
    assert call("resume", "places", "--seeds", "3").code == 0
    assert actions_of(tmp_path) == {"opera", "match"}


def test_other_names_are_refused_with_those_of_today() -> None:
    game = build_game("battle_of_the_sexes")
    assert (game.index(0, "match"), game.index(1, "football")) == (1, 1)
    with pytest.raises(GameError, match=r"no action 'ballet' .allowed: opera, football"):
        game.index(0, "ballet")


def test_a_game_file_can_say_what_its_actions_were_called() -> None:
    game = parse_yaml("{actions: [a, b], formerly: [x, y], payoffs: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}")
    assert game.payoff((game.index(0, "y"), game.index(1, "x"))) == (5.0, 6.0)
    assert parse_yaml(write_yaml(game)).formerly == ("x", "y")


@pytest.mark.parametrize("names", ["[x]", "[x, y, z]", "[x, x]"])
def test_old_names_are_as_many_as_the_actions(names: str) -> None:
    with pytest.raises(StudyError, match="formerly needs one name for each of 2 actions"):
        parse_yaml(f"{{actions: [a, b], formerly: {names}, payoffs: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}}")
