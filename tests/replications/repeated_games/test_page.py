"""The page about the 2x2 paper: every command in its table can be parsed and names what exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from ostrom.cli.app import app
from ostrom.ground.errors import OstromError
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.load import load_study

PAGE = Path(__file__).parents[3] / "docs" / "replications" / "repeated-games.md"
COMMAND = re.compile(r"`(ostrom [^`]+)`")


def test_every_command_parses_and_names_what_exists() -> None:
    commands = [shlex.split(text)[1:] for text in COMMAND.findall(PAGE.read_text(encoding="utf-8"))]
    assert commands
    group: Any = typer.main.get_command(app)
    context = group.make_context("ostrom", ["--help"], resilient_parsing=True)
    for words in commands:
        command, rest = group.get_command(context, words[0]), words[1:]
        assert command is not None, words
        if hasattr(command, "commands"):
            command, rest = command.get_command(context, rest[0]), rest[1:]
        command.make_context(words[0], list(rest), parent=context)
        if words[0] == "run":
            assert words[1] in builtin_names(), words
            preset = words[words.index("--preset") + 1] if "--preset" in words else None
            assert preset is None or preset in presets_of(words[1]), words
            changes = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
            try:
                load_study(words[1], preset=preset, changes=changes, models=["scripted/m"])
            except OstromError as error:
                pytest.fail(f"{' '.join(words)}: {error}")
