"""Games may carry words: read from files, kept on the way back, refused when they do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostrom.games import build_game
from ostrom.games.scenarios import scenarios, shipped_scenario
from ostrom.games.yaml_file import parse_yaml, write_yaml
from ostrom.ground.errors import OstromError

LAKE = """
name: lake
actions: [[rest, fish], [rest, fish, sell]]
payoffs: [[[1, 1], [0, 2], [0, 0]], [[2, 0], [0, 0], [1, 1]]]
words:
  narrative: Two families fish one lake.
  titles: [Owner, Neighbour]
  personas: [You own the boat., You came last year.]
  actions: [[leave it alone, go out], [leave it alone, go out, sell the nets]]
"""


def test_words_are_read_and_written_back() -> None:
    game = parse_yaml(LAKE)
    assert game.words.titles == ("Owner", "Neighbour")
    assert game.words.actions[1][2] == "sell the nets"
    assert parse_yaml(write_yaml(game)).words == game.words


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[Owner, Neighbour]", "[Owner]", "words.titles has 1 entries for 2 seats"),
        (", sell the nets", "", "words.actions explains 2 of the 3 actions of seat 2"),
        ("titles:", "names:", "words.names: unknown key"),
        ("[Owner, Neighbour]", "[1, 2]", "words.titles[0]: must be text"),
    ],
)
def test_words_that_do_not_fit_are_refused(old: str, new: str, complaint: str) -> None:
    with pytest.raises(OstromError, match=complaint.replace("[", r"\[").replace("]", r"\]")):
        parse_yaml(LAKE.replace(old, new))


def test_a_scenario_is_a_game_with_its_story() -> None:
    game, scenario = build_game("scenario:commons/debt_crisis"), shipped_scenario("commons", "debt_crisis")
    assert game.words.narrative == scenario.narrative
    assert game.words.personas == tuple(role.persona for role in scenario.roles)
    assert game.params["class"] == "economic"
    assert game.payoff((1, 1, 1, 1)) == (15, 9, 2.5, 7)


def test_a_scenario_file_is_a_game_file(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "src/ostrom/games/scenarios/families/commons/debt_crisis.yaml"
    mine = tmp_path / "debt_crisis.yaml"
    mine.write_text(source.read_text())
    assert build_game(str(mine)).words == build_game("scenario:commons/debt_crisis").words


def test_unknown_scenarios_are_named() -> None:
    with pytest.raises(OstromError, match="unknown scenario of commons 'debt'"):
        build_game("scenario:commons/debt")
    with pytest.raises(OstromError, match="write FAMILY/NAME"):
        build_game("scenario:debt_crisis")
    assert len(scenarios("commons")) == 61
