"""Answers to usual mistakes name what to write instead."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ostrom.agents.strategy import Strategy
from ostrom.agents.styles.logprob import Logprob
from ostrom.models.base import Abilities
from ostrom.people.commands import people
from ostrom.testing import check_strategy


def test_a_server_without_log_probabilities_is_told_of_its_dialect() -> None:
    assert "settings.dialect" in str(Logprob().missing_ability(Abilities()))


@pytest.mark.parametrize("words", [["list", "nowhere"], ["nowhere", "list"]])
def test_people_takes_the_run_before_and_after_the_command(words: list[str], tmp_path: Path) -> None:
    app = typer.Typer()
    app.add_typer(people, name="people")
    ended = CliRunner().invoke(app, ["people", *words, "--help"])
    assert ended.exit_code == 0 and "--ids" in ended.output, ended.output


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
