"""Nothing that a user meets is without a golden output: commands, JSON, lists, pages, export formats."""

import re
import shlex
from collections.abc import Iterator
from typing import get_type_hints

import pytest
import typer.main
from tests.golden.cases import BOTH, ERRORS, KEYED, KINDS, SHOWN, SUBCOMMANDS, commands
from tests.golden.conftest import OUTPUTS
from tests.golden.test_commands import SINGLE
from tests.golden.test_exports import EXPORTS
from tests.golden.test_pages import PAGES
from tests.golden.test_view import PAGES as VIEW_PAGES

from ostrom.cli.app import app
from ostrom.cli.commands.catalog import KINDS as ALL_KINDS

CALLS = [
    command
    for command in (
        *(one for many in (*SINGLE.values(), *PAGES.values()) for one in many),
        *(command for command, _ in KEYED.values()),
        *EXPORTS.values(),
    )
    if "--help" not in command
]
REFUSED = list(ERRORS.values())
NO_OUTPUT = {
    "serve": "runs until it is stopped: its pages are in test_people.py",
    "view": "runs until it is stopped: its pages are in test_view.py",
    "seat": "speaks MCP on its standard streams: tests/features/seats",
    "more openenv": "runs until it is stopped: tests/features/environments",
    "more train": "needs torch: tests/probe",
    "more regress": "needs a model with weights: tests/probe",
}
"""Commands whose success prints nothing that could be kept here, with where it is tested; their errors are kept."""
MOST = 8 * 2**20
"""Bytes of all outputs together."""


def begins(command: str, name: str) -> bool:
    """Whether a call is one of this command."""
    words = shlex.split(command)
    return words[: len(name.split())] == name.split()


def with_json() -> Iterator[str]:
    """Commands with ``--json``."""
    root = typer.main.get_command(app)
    for name in commands():
        found = root
        for word in name.split():
            found = found.commands[word]  # type: ignore[attr-defined]
        if any("--json" in parameter.opts for parameter in found.params):
            yield name


@pytest.mark.parametrize("name", commands())
def test_every_command_has_an_output(name: str) -> None:
    calls = REFUSED if name in NO_OUTPUT else CALLS
    assert any(begins(call, name) for call in calls), f"`ostrom {name}` has no case in tests/golden/cases.yaml"


def test_every_command_with_json_has_a_document() -> None:
    calls = [*CALLS]
    missing = [
        name
        for name in with_json()
        if name not in NO_OUTPUT and not any(begins(call, name) and "--json" in call for call in calls)
    ]
    assert missing == [], "no case in tests/golden/cases.yaml prints JSON of these commands"


def test_every_command_has_an_error() -> None:
    missing = [name for name in commands() if not any(begins(call, name) for call in REFUSED)]
    assert missing == []


def test_every_kind_of_part_is_listed_and_shown() -> None:
    assert set(ALL_KINDS.values()) == set(KINDS)
    assert set(ALL_KINDS) - set(SHOWN) == {"run"}  # which is shown by its report


def test_every_page_of_participants_is_kept() -> None:
    kept = "".join(path.read_text() for path in (OUTPUTS / "test_people").iterdir())
    for page in ("Begin", "Consent", "Step 2 of 4", "<fieldset", "leave", "admin", "Log in"):
        assert page in kept, f"no golden output of test_people.py holds {page!r}"


def test_every_page_of_the_viewer_is_kept() -> None:
    from importlib import import_module

    from ostrom.view.viewer import PAGES as MODULES

    asked = [address.partition("?")[0] for address in VIEW_PAGES.values()]
    missing = []
    for module in MODULES:
        for path, _, methods in import_module(f"ostrom.view.{module}").ROUTES:
            pattern = re.sub(r"\{\w+(:path)?\}", "[^/]+", path)
            if "GET" in methods and not any(re.fullmatch(pattern, one) for one in asked):
                missing.append(path)
    assert sorted(missing) == sorted(STREAMS)


STREAMS = ("/events",)
"""A stream that ends with the page."""


def test_every_export_format_is_kept() -> None:
    from ostrom.features.exporting.command import export

    option = get_type_hints(export, include_extras=True)["format"].__metadata__[0]
    formats = option.help.partition(" (see")[0].split(" | ")
    kept = {shlex.split(command)[3] for command in EXPORTS.values()}
    assert set(formats) == kept


def test_all_outputs_together_are_small() -> None:
    assert sum(path.stat().st_size for path in OUTPUTS.rglob("*.txt")) <= MOST


def test_no_case_is_a_copy_of_another() -> None:
    assert len(set(BOTH.values())) == len(BOTH) and len(set(ERRORS.values())) == len(ERRORS)
    assert len(SUBCOMMANDS) == 10
