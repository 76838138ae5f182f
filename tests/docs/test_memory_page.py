"""The page about the memory paper: every command in its tables parses, every declared exhibit is explained."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from ostrom.cli.app import app
from ostrom.reports.exhibits.declared import exhibits_of

FOLDER = Path(__file__).parents[2] / "docs" / "replications"
PAGES = {"memory-curse": "memory_curse"}
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


@pytest.mark.parametrize("page", PAGES)
def test_every_declared_exhibit_is_on_its_page(page: str) -> None:
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    for one in exhibits_of(PAGES[page]):
        # "Figure 4a, 4b, 4c" names all three.
        short = one.name.rpartition(" ")[2]
        kind = one.name.rpartition(" ")[0]
        assert one.name in text or re.search(rf"\| {kind} [^|]*\b{short}\b", text), (
            f"{one.name} is not on {page}"
        )
