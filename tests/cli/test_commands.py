"""The commands, as a newcomer runs them."""

import json
import signal
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from ostrom.testing.server import LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]


INTERRUPTED = """
import os, signal

class Part:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)

class Whole:
    part = Part()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("module", "command"), [("typer", ["--help"]), ("numpy", ["show", "game", "chicken"])])
def test_ctrl_c_in_the_first_moments_of_a_command_is_one_line(
    tmp_path: Path, ostrom_process: Command, module: str, command: list[str]
) -> None:
    (tmp_path / f"{module}.py").write_text(INTERRUPTED)  # found before the one that is installed
    done = ostrom_process(*command)
    assert (done.returncode, done.stderr) == (130, "ostrom: interrupted\n")


@pytest.mark.slow
def test_a_command_that_is_not_to_hear_ctrl_c_does_not(tmp_path: Path, ostrom_process: Command) -> None:
    (tmp_path / "numpy.py").write_text(INTERRUPTED + "raise ImportError('went on')")
    done = ostrom_process("show", "game", "chicken", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert done.returncode == 70 and "went on" in done.stderr


@pytest.mark.slow
def test_a_journal_without_its_manifest_is_not_taken_for_another_study(tmp_path: Path, ostrom: Command) -> None:
    with LoopbackServer() as server:
        arguments = ("run", "memory", "--preset", "smoke", "--model")
        assert ostrom(*arguments, server.model).returncode == 0
        (tmp_path / "runs/memory/run.json").unlink()
        for command in ((*arguments, f"{server.url}#another"), ("export", "memory"), ("report", "runs/memory")):
            refused = ostrom(*command)
            assert refused.returncode == 1, refused.stdout
            assert refused.stderr.count("\n") == 1 and "holds a journal but no run.json" in refused.stderr


@pytest.mark.parametrize(
    ("shipped", "kind", "taken"),
    [
        ("games/scenarios/families/commons/cast.yaml", "cast", "the scenarios beside it: ostrom validate "),
        ("features/judging/motives.yaml", "motives", "ostrom more judge RUN --motives own.yaml"),
    ],
)
def test_validate_takes_no_cast_and_no_motives_for_a_study(
    ostrom: Command, tmp_path: Path, shipped: str, kind: str, taken: str
) -> None:
    text = files("ostrom").joinpath(shipped).read_text("utf-8")
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    done = ostrom("validate", "own.yaml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == kind and found["taken by"].startswith(taken)
    (tmp_path / "own.yaml").write_text(text.replace("title:", "titel:", 1), encoding="utf-8")
    done = ostrom("validate", "own.yaml")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "tit" in done.stderr, done.stderr


def test_version_and_help(ostrom: Command) -> None:
    assert ostrom("--version").stdout.startswith("ostrom ")
    for command in ("run", "list", "show", "validate", "export", "report", "play", "models"):
        assert ostrom(command, "--help").returncode == 0
