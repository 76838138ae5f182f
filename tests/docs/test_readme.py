"""README prints what its commands print, fits its length, and says the same figures as other pages."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import caller

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAME: dict[str, dict[str, str]] = {
    "parameters of the embedded model": {
        "README.md": r"a model of (\d+) million parameters",
        "docs/compatibility.md": r"embedded model of (\d+) million parameters",
        "Makefile": r"The embedded model has (\d+) million parameters",
    },
    "oldest Python": {
        "README.md": r"needs Python ([\d.]+) or newer",
        "pyproject.toml": r'requires-python = ">=([\d.]+)"',
        "Makefile": r"Ostrom needs Python ([\d.]+) or newer",
        "CONTRIBUTING.md": r"Python ([\d.]+) to 3",
    },
    "shortest beginning that a prompt cache keeps": {
        "BENCHMARKS.md": r"beginnings of at least ([\d,]+) tokens",
        "docs/batch.md": r"long enough: ([\d,]+) tokens",
    },
    "exit code of an undecided gate": {
        "docs/gates.md": r"(\d) if none fails and one is undecided",
        "src/ostrom/features/gates/command.py": r"(\d) one is undecided and none fails",
    },
}
"""Figures that stand in several places: the group of each pattern must say the same wherever it is found."""


def printed() -> Iterator[tuple[str, list[str]]]:
    """The commands of README's consoles, with the lines that are printed below each."""
    for block in CONSOLE.findall(README):
        for part in re.sub(r"\\\n *", "", block).split("$ ")[1:]:
            command, *lines = part.rstrip().splitlines()
            yield command, lines


@pytest.mark.slow
def test_readme_prints_what_its_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    shown = list(printed())
    assert len(shown) >= 2 and all(lines for _, lines in shown)
    for command, lines in shown:
        words = shlex.split(re.sub(r"> \S+", "", command), comments=True)
        done = call(*words[1:])
        assert words[0] == "ostrom" and done.code == 0, done.err
        told = done.err if ">" in command else done.out  # what goes to a file is not seen
        assert [line.rstrip() for line in told.splitlines()][-len(lines) :] == lines


def test_readme_has_eighty_lines() -> None:
    assert len(README.splitlines()) <= 80


@pytest.mark.parametrize("figure", SAME)
def test_a_figure_is_the_same_wherever_it_stands(figure: str) -> None:
    said = {
        page: set(re.findall(pattern, (ROOT / page).read_text(encoding="utf-8")))
        for page, pattern in SAME[figure].items()
    }
    assert all(said.values()) and len(set.union(*said.values())) == 1, said
