"""The blocks of the documentation. Tutorials run from end to end; on other pages commands and options must exist, whole
studies must be valid, and Python runs unless it is marked why not."""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import ostrom  # noqa: F401
from typer.main import get_command

from ostrom.api import study
from ostrom.cli import log_options_first
from ostrom.cli.app import app
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.schema import StudyFile

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SECONDS = {"replicate", "check-a-model"}
"""Tutorials whose commands take seconds: left out by `make test`, run by `make test-all`."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
AROUND = {
    "name": "part",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 5},
    "agent": {"memory": {"name": "window", "k": 2}},
}
"""What a part of a study on a page is put into."""
NOT_RUN = re.compile(r"<!-- not run: [^>]{8,} -->\s*$")
SAVED = re.compile(r"[Ss]ave as `([\w.-]+)`|[Ww]rite `([\w.-]+)`")


def blocks(path: Path) -> Iterator[tuple[str, str, str]]:
    """Language, content, and the text before it."""
    text = path.read_text(encoding="utf-8")
    end = 0
    for found in BLOCK.finditer(text):
        yield found[1], found[2], text[end : found.start()]
        end = found.end()


def lines(content: str) -> Iterator[str]:
    """The commands of a block, continued lines joined, prompts left out."""
    for line in content.replace("\\\n", " ").splitlines():
        plain = line.strip().removeprefix("$ ")
        for part in plain.split(";") if plain.startswith("ostrom ") else []:
            if part.strip().startswith("ostrom "):
                yield part.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SECONDS else [], id=path.stem) for path in TUTORIALS],
)
def test_a_tutorial_runs_from_its_first_block_to_its_last(
    path: Path,
    ostrom: Command,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for language, content, before in blocks(path):
        if NOT_RUN.search(before):
            continue
        ran += 1
        if language == "yaml":
            named = SAVED.findall(before)
            assert named, f"{path.name}: a YAML block that nobody saves"
            (tmp_path / next(filter(None, named[-1]))).write_text(content)
        elif language == "python":
            exec(compile(content, str(path), "exec"), {"__name__": "__main__"})
        else:
            assert language == "sh", f"{path.name}: a block of {language or 'no language'}"
            given = list(lines(content))
            assert len(given) == len(content.strip().splitlines()), f"{path.name}: not all lines are commands"
            for line in given:
                done = ostrom(*shlex.split(line, comments=True)[1:])
                assert done.returncode == 0, f"{line}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    assert ran >= 3


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_exists_its_studies_are_valid_and_its_python_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program: Any = get_command(app)
    for language, content, before in blocks(path):
        if language == "yaml":
            for data in yaml.safe_load_all(content):
                if path in TUTORIALS or not isinstance(data, dict) or NOT_RUN.search(before):
                    continue
                if {"name", "game"} <= set(data):
                    assert study(data, models=["openai/gpt-4o-mini"]).name == data["name"]
                elif {"vary", "agent", "mechanism"} & set(data) and set(data) <= set(StudyFile.model_fields):
                    part = {**AROUND, **data}
                    assert StudyPlan(load_study(part, models=[] if "types" in data else ["openai/gpt-4o-mini"]))
        if language == "python":
            code = compile(content, str(path), "exec")
            if path not in TUTORIALS and not NOT_RUN.search(before):
                exec(code, {"__name__": "__main__"})
        for line in lines(content):
            words = log_options_first(shlex.split(line.partition("|")[0].partition(" > ")[0], comments=True)[1:])
            words = [word for word in words if word not in ("-v", "-vv", "...")]
            if not words or words[0].startswith("-") or words[0].isupper():
                continue
            command = program.commands.get(words[0])
            assert command is not None, f"{path.name}: {line}"
            known = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
            if hasattr(command, "commands"):
                inner = [word for word in words[1:] if word in command.commands]
                inner = inner or [name for name in (getattr(command, "default", None),) if name]
                assert inner or "--help" in words, f"{path.name}: {line}"
                known |= {f for p in command.commands[inner[0]].params for f in (*p.opts, *p.secondary_opts)}
            for word in words[1:]:
                if word.startswith("--"):
                    assert word.partition("=")[0] in known, f"{path.name}: {word} in {line}"


def test_the_study_that_the_page_on_python_begins_with_can_be_played() -> None:
    first = next(text for kind, text in BLOCK.findall((ROOT / "docs" / "python.md").read_text()) if kind == "python")
    stated = first[: first.index("run = ")]
    names: dict[str, Any] = {}
    exec(stated, names)
    assert names["study"].forecast().matches == 2 * 96
    assert 'by=["game", "noise"]' in first
