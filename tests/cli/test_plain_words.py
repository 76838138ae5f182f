"""Answers to usual mistakes name what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ostrom.agents.strategy import Strategy
from ostrom.agents.styles.logprob import Logprob
from ostrom.cli.commands.estimate import _clean, estimate
from ostrom.framing.config import Framing
from ostrom.framing.filters import FILTERS
from ostrom.games import build_game
from ostrom.ground.errors import GameError, StudyError, UsageError
from ostrom.models.base import Abilities
from ostrom.people.commands import people
from ostrom.testing import check_strategy


def test_a_language_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="must be the code of a language") as refused:
        Framing(language="german")
    assert "^[a-z]" not in str(refused.value)


def test_an_outcome_that_lacks_a_seat_is_told_of_lists_per_seat(tmp_path: Path) -> None:
    file = tmp_path / "three.yaml"
    file.write_text("name: three\nseats: 3\nactions: [a, b]\npayoffs:\n  a, a: [1, 1, 1]\n")
    with pytest.raises(
        (StudyError, GameError), match=r"names 2 actions, and the game has 3 seats.*one list per seat"
    ):
        build_game(str(file))


def test_a_measure_in_front_is_told_to_come_last() -> None:
    with pytest.raises(UsageError, match="the measure comes last, `ostrom estimate RUN cooperation`"):
        estimate(["cooperation", "history"])


def test_a_server_without_log_probabilities_is_told_of_its_dialect() -> None:
    assert "settings.dialect" in str(Logprob().lacks(Abilities()))


@pytest.mark.parametrize("words", [["list", "nowhere"], ["nowhere", "list"]])
def test_people_takes_the_run_before_and_after_the_command(words: list[str], tmp_path: Path) -> None:
    app = typer.Typer()
    app.add_typer(people, name="people")
    ended = CliRunner().invoke(app, ["people", *words, "--help"])
    assert ended.exit_code == 0 and "--ids" in ended.output, ended.output


def test_conjunctions_stand_before_the_last_name_alone() -> None:
    join, names = FILTERS["join"], [f"Player {n}" for n in range(2, 6)]
    assert join(names, " and ") == "Player 2, Player 3, Player 4 and Player 5"
    assert join(names[:3], " und ") == "Player 2, Player 3 und Player 4"
    assert join(names[:2], " y ") == "Player 2 y Player 3"
    assert join(names[:3], " or ") == "Player 2 or Player 3 or Player 4"


def test_a_difference_of_zero_is_printed_as_zero() -> None:
    assert [_clean(v) for v in (-2.1e-17, 0.0, 1e-9, -0.5, None)] == [0.0, 0.0, 1e-9, -0.5, None]


class _Named(Strategy):
    """Answers with the first of several options."""

    name, title, citation = "named", "Named", "own"
    memory_depth = 0

    def move(self, past: Any) -> Any:
        """No rule for a table."""
        raise NotImplementedError

    def choose(self, past: Any, form: Any) -> Any:
        """The first option."""
        return form.options[0]


def test_a_strategy_over_named_options_is_told_what_is_tried() -> None:
    with pytest.raises(AssertionError, match="named: has no rule for games with a payoff table"):
        check_strategy(_Named())
