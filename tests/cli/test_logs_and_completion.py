"""The log and the completion scripts."""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostrom.cli.logs import set_up
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--preset", "smoke", "--set", "mechanism.rounds=2", "--limit", "1")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    yield
    set_up()
    logging.getLogger("ostrom").propagate = True


@pytest.mark.slow
def test_the_log_tells_calls_and_retries_and_no_secret(
    ostrom: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-averysecretkey-0123456789")
    with LoopbackServer(faults=Faults(first=("unavailable", "unavailable"))) as server:
        done = ostrom("run", "memory", *SMALL, "--model", server.model, "-v", "--log-file", "a.log")
    assert done.returncode in (0, 1), done.stderr
    assert "WARNING ostrom.calls:" in done.stderr and "DEBUG" not in done.stderr
    log = (tmp_path / "a.log").read_text()
    assert "DEBUG ostrom.calls:" in log and "tokens in" in log and "of 8 failed (ServerFailed" in log
    assert "INFO ostrom.limits:" in log
    logging.getLogger("ostrom.calls").warning("header Bearer %s\x1b[2J", "sk-averysecretkey-0123456789")
    text = (tmp_path / "a.log").read_text()
    assert "averysecret" not in text and "\x1b" not in text


@pytest.mark.slow
def test_without_options_nothing_is_logged(ostrom: Command) -> None:
    with LoopbackServer(faults=Faults(first=("unavailable", "unavailable"))) as server:
        done = ostrom("run", "memory", *SMALL, "--model", server.model)
    assert "ostrom.calls" not in done.stderr


def test_a_log_file_that_cannot_be_written_is_one_line(ostrom: Command) -> None:
    done = ostrom("list", "games", "--log-file", "no/such/folder/a.log")
    assert done.returncode == 2 and "--log-file no/such/folder/a.log: cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ostrom ex", {"export"}),
        ("ostrom run --budget-u", {"--budget-usd"}),
        ("ostrom run pd-", {"pd-tournament"}),
        ("ostrom models f", {"fetch"}),
        ("ostrom jud", set()),
        ("ostrom mo", {"models", "more"}),
        ("ostrom more jud", {"judge"}),
        ("ostrom more ru", set()),
        ("ostrom more judge --second-m", {"--second-model"}),
        ("ostrom judge --second-m", {"--second-model"}),
        ("ostrom more judge du", {"duel"}),
        ("ostrom export du", {"duel"}),
    ],
)
def test_bash_completes(ostrom: Command, tmp_path: Path, line: str, found: set[str]) -> None:
    (tmp_path / "runs" / "duel").mkdir(parents=True)
    script = ostrom("completion", "bash").stdout
    words = line.split()
    asked = f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _ostrom; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == found and not done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(ostrom: Command, tmp_path: Path, shell: str) -> None:
    script = ostrom("completion", shell).stdout
    assert "budget-usd" in script and "pd-tournament" in script
    if shell == "fish":
        assert "complete -c ostrom -f -n '__fish_seen_subcommand_from more' -a judge" in script
        assert "-n __fish_use_subcommand -a judge" not in script and "subcommand -a more" in script
        runs = "-a '(ls runs 2>/dev/null)'"
        assert f"-n '__fish_seen_subcommand_from resume' {runs}" in script
        assert f"-n '__fish_seen_subcommand_from run' {runs}" not in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n" if shell == "zsh" else "--no-execute", "script"], cwd=tmp_path, check=True)


def test_an_unknown_shell_is_refused(ostrom: Command) -> None:
    done = ostrom("completion", "tcsh")
    assert done.returncode == 2 and "allowed: bash, zsh, fish" in done.stderr
