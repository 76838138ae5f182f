"""The page about the memory paper: every command in its tables parses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from ostrom.cli.app import app

FOLDER = Path(__file__).parents[2] / "docs" / "replications"
PAGES = ("memory-curse",)
COMMANDS = [
    (page, command)
    for page in PAGES
    for command in re.findall(
        r"(?:^ *|`)(ostrom [a-z][^`\n]*)", (FOLDER / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    if "RUN" not in command.split() and len(command.split()) > 2
]


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_every_command_of_a_page_parses(page: str, command: str) -> None:
    name, *arguments = shlex.split(command, comments=True)[1:]
    root = typer.main.get_command(app)
    with root.make_context("ostrom", [], resilient_parsing=True) as context:
        found = root.get_command(context, name)  # type: ignore[attr-defined]
        assert found is not None, f"no command {name}"
        found.make_context(name, arguments, parent=context).close()
