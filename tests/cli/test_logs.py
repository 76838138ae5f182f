"""The log."""

import logging
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
