"""The page of each paper: every command parses, every name in it exists, every exhibit has a line."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from tools.site import reference

from ostrom.analysis.measure import measures
from ostrom.analysis.references import doubts_in, published_rows
from ostrom.cli.app import app
from ostrom.reports.declared import panels
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.studies.files import builtin_names, presets_of

PAGES = sorted((Path(__file__).parents[2] / "docs" / "replications").glob("*.md"))


def commands(page: Path) -> list[list[str]]:
    found = r"(?:^    |^|`)(ostrom [a-z][^`\n]*)"
    lines = re.findall(found, page.read_text(encoding="utf-8"), re.MULTILINE)
    words = [shlex.split(line, comments=True)[1:] for line in lines]
    return [one for one in words if len(one) > 2 or (one[0] == "compare" and len(one) > 1)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_parses_and_names_what_there_is(page: Path) -> None:
    group = typer.main.get_command(app)
    assert commands(page)
    for args in commands(page):
        context = group.make_context("ostrom", list(args), resilient_parsing=False)
        with context:
            name, command, rest = group.resolve_command(context, list(args))  # type: ignore[attr-defined]
            parsed = command.make_context(name, rest, parent=context).params
        if args[0] == "run":
            study = args[1]
            assert study in builtin_names() or study.endswith(".yaml"), args
            if (preset := parsed.get("preset")) is not None:
                assert preset in presets_of(study), args
        if args[0] in ("estimate", "test"):
            told = [part for part in args[1:] if not part.startswith("-")]
            assert any(part.partition(":")[0] in measures for part in told), args


def test_every_exhibit_has_a_line_and_every_panel_of_a_page_exists() -> None:
    lines = reference.pages()["exhibits"].splitlines()
    for replication in ("coopeval", "memory_curse", "personas", "repeated_games"):
        start = lines.index(f"## {replication}")
        for one in exhibits_of(replication):
            line = next(line for line in lines[start:] if line.startswith(f"| {one.name} |"))
            assert all(study in line for study in one.study) and ("Not given: " in line) == bool(one.without)
    for page in PAGES:
        for name in re.findall(r"panels? (?:`(\w+)`(?:, )?)+", page.read_text(encoding="utf-8")):
            assert name in panels, name


def test_the_page_of_the_memory_paper_counts_the_doubts_of_its_figures() -> None:
    notes = [row["note"] for row in published_rows("memory_curse")]
    contradicted = sum("CONFLICT:" in note for note in notes)
    lazily_verified = sum(bool(doubts_in(note)) for note in notes)
    text = " ".join((PAGES[0].parent / "memory-curse.md").read_text(encoding="utf-8").split())
    assert f"Of {len(notes):,} printed figures {contradicted} are contradicted" in text
    assert (
        f"and {lazily_verified - contradicted} more look wrong" in text
        and f"marks these {lazily_verified} as doubts" in text
    )
