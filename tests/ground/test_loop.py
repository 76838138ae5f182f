"""The event loop: which one is used, what the manifest says of it, and that runs and signals are the same."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ostrom.engine.gate import Limiter
from ostrom.engine.journal import Journal
from ostrom.ground.errors import UsageError
from ostrom.ground.loop import VARIABLE, loop_name, run
from ostrom.models.pending_call import PendingCall
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.testing.server import LoopbackServer

LOOPS = ["asyncio", pytest.param("uvloop", marks=pytest.mark.skipif(not find_spec("uvloop"), reason="no uvloop"))]


async def module() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.mark.parametrize("name", LOOPS)
def test_the_chosen_loop_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, name)
    assert run(module()) == name and loop_name().startswith(name)
    monkeypatch.setenv(VARIABLE, f" {name.upper()} ")
    assert loop_name().startswith(name)
    monkeypatch.setenv(VARIABLE, "")
    assert loop_name().startswith("uvloop" if find_spec("uvloop") else "asyncio")


def test_without_uvloop_asyncio_runs_and_a_demand_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert run(module()) == "asyncio" and loop_name() == "asyncio"
    monkeypatch.setenv(VARIABLE, "uvloop")
    with pytest.raises(UsageError, match=r"OSTROM_LOOP: uvloop is not installed \(pip install 'ostrom\[fast\]'"):
        run(module())
    monkeypatch.setenv(VARIABLE, "curio")
    with pytest.raises(UsageError, match="OSTROM_LOOP: unknown event loop 'curio'"):
        run(module())


@pytest.mark.parametrize("name", LOOPS)
def test_a_run_is_the_same_on_every_loop_and_its_manifest_names_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with LoopbackServer() as server:
        result = play(load_study("memory", preset="smoke", models=[server.model]), runs=tmp_path, name="r")
    assert result.complete and result.tally.calls == server.count
    manifest = json.loads((tmp_path / "r" / "run.json").read_text())
    assert manifest["loop"].split()[0] == name
    journal = Journal(tmp_path / "r" / "journal.db")
    assert journal.spent()["calls"] == server.count
    journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", LOOPS)
def test_a_second_signal_does_not_wait_for_calls_under_way_on_any_loop(
    name: str, first: signal.Signals, tmp_path: Path
) -> None:
    with LoopbackServer(latency=120) as server:
        command = [sys.executable, "-m", "ostrom", "run", "memory", "--preset", "smoke", "--model", server.model]
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, VARIABLE: name}
        )
        while server.count < 8:
            time.sleep(0.01)
        assert process.stderr is not None
        process.send_signal(first)
        while "press Ctrl-C again" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=600)
    assert process.returncode == 130, messages
    assert "the same command goes on" in messages and "Traceback" not in messages


class Caller(PendingCall):
    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()

    def start(self, era: int = 0) -> None:
        self.gone.set()

    def refuse(self, error: Exception) -> None:
        raise error


@pytest.mark.parametrize("name", LOOPS)
def test_a_pause_shorter_than_a_millisecond_can_be_made_longer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A uvloop timer of less than a millisecond does not know when it is due."""

    async def paused() -> None:
        limiter, first, second = Limiter(2, 2, lambda _: True), Caller(), Caller()
        limiter.failed(0, retry_after=0.0004)
        limiter.request_slot(first)
        limiter.failed(1, retry_after=0.01)
        limiter.request_slot(second)
        async with asyncio.timeout(30):
            await first.gone.wait()
            limiter.release()
            await second.gone.wait()

    monkeypatch.setenv(VARIABLE, name)
    run(paused())
