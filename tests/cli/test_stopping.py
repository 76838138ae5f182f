"""How a run stops: by a signal, by a folder that vanishes, by too few open files; and what it says meanwhile."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ostrom.engine.plan import Tally
from ostrom.engine.progress import describe
from ostrom.studies.run import open_run
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

STUDY = """
name: slow
game: prisoners_dilemma
mechanism: {{name: repetition, rounds: 40}}
agent: {{style: direct}}
types: {{model: {{model: "{model}"}}}}
seating: self
seeds: {seeds}
"""


def start(
    folder: Path, server: LoopbackServer, *more: str, seeds: int = 4, before: Callable[[], object] | None = None
) -> subprocess.Popen[str]:
    (folder / "study.yaml").write_text(STUDY.format(model=server.model, seeds=seeds))
    command = [sys.executable, "-m", "ostrom", "run", "study.yaml", "--json", *more]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before
    )


def wait_for_calls(server: LoopbackServer, count: int) -> None:
    deadline = time.monotonic() + 600
    while server.count < count and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.count >= count


@pytest.mark.sample(1)
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_cleanly_and_what_was_under_way_is_kept(tmp_path: Path, sent: signal.Signals) -> None:
    with LoopbackServer(latency=0.05) as server:
        process = start(tmp_path, server)
        wait_for_calls(server, 20)
        process.send_signal(sent)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 130 and "stopping:" in errors and "Traceback" not in errors
        with open_run(tmp_path / "runs" / "slow") as run:
            assert sum(row["error"] is None for row in run.rows.calls()) == server.count


@pytest.mark.slow
def test_nohup_is_honoured(tmp_path: Path) -> None:
    with LoopbackServer(latency=0.01) as server:
        process = start(tmp_path, server, seeds=1, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_for_calls(server, 10)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=600)
        assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_run_folder_that_vanishes_stops_the_run_at_once(tmp_path: Path, how: str) -> None:
    with LoopbackServer(latency=0.05) as server:
        process = start(tmp_path, server, seeds=200)
        wait_for_calls(server, 20)
        folder = tmp_path / "runs" / "slow"
        folder.rename(tmp_path / "elsewhere")
        if how == "replaced":
            shutil.copytree(tmp_path / "elsewhere", folder)
        _, errors = process.communicate(timeout=600)
        count = server.count
    last = errors.strip().splitlines()[-1]
    assert process.returncode == 1 and "journal.db: is gone" in last and "Traceback" not in errors
    assert count < 200 * 80 / 2


@pytest.mark.slow
def test_too_few_open_files_are_said_before_anything_is_written(tmp_path: Path) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    with LoopbackServer() as server:
        process = start(tmp_path, server, before=few)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 1 and not (tmp_path / "runs").exists()
    assert errors.count("\n") == 1 and "only 24 files may be open" in errors and "ulimit -n 1024" in errors


def test_what_is_wrong_is_said_while_it_is_retried() -> None:
    tally = Tally(matches=3, retries=2, trouble="ConnectionFailed: nobody listens at 127.0.0.1:9")
    assert describe(tally, 0.0, None).endswith("last try: ConnectionFailed: nobody listens at 127.0.0.1:9")
    tally.trouble, tally.wait_until = None, time.monotonic() + 120.4
    assert describe(tally, 0.0, None).endswith("waiting 120 s: server asked")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (Faults(first=("rate_limit",) * 4, retry_after="120"), ("s: server asked", "waiting 11")),
        (Faults({"unavailable": 1.0}), ("last try: ServerFailed", "try again later")),
    ],
)
def test_a_long_wait_and_a_dead_server_are_said_on_the_line(
    faults: Faults, words: tuple[str, str], tmp_path: Path
) -> None:
    with LoopbackServer(faults=faults) as server:
        process = start(tmp_path, server)
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(2)]
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=600)
    assert any(all(word in line for word in words) for line in lines), lines
