"""Typer's completion of the shell knows our commands, options, studies and runs."""

import pytest
from tests.cli.in_process import Call, caller


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Call:
    folder = tmp_path_factory.mktemp("shell")
    (folder / "runs" / "duel").mkdir(parents=True)
    return caller(monkeypatch, folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ostrom ex", {"export"}),
        ("ostrom run --budget-u", {"--budget-usd"}),
        ("ostrom run pd-", {"pd-tournament"}),
        ("ostrom models f", {"fetch"}),
        ("ostrom more jud", {"judge"}),
        ("ostrom judge --second-m", {"--second-model"}),
        ("ostrom export du", {"duel"}),
        ("ostrom estimate du", {"duel"}),
    ],
)
def test_a_shell_completes(call: Call, monkeypatch: pytest.MonkeyPatch, line: str, words: set[str]) -> None:
    monkeypatch.setenv("_OSTROM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    done = call()
    assert set(done.out.split()) == words and done.err == ""


def test_the_script_is_printed_and_the_help_names_its_option(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--install-completion" in call("--help").out
    monkeypatch.setenv("_OSTROM_COMPLETE", "source_zsh")
    assert "_OSTROM_COMPLETE=complete_zsh" in call().out
