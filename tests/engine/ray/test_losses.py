"""Machines die, people press Ctrl-C: nothing acknowledged is lost or asked twice, and no key leaves a machine."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.ray.machines import WORKERS_KEY, Machines, asked, study
from tests.run_tables import tables

from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import play
from ostrom.testing.server import LoopbackServer

pytestmark = pytest.mark.filterwarnings("default")


def when(condition: Callable[[], bool], act: Callable[[], None]) -> threading.Thread:
    """Do something in the midst of a run."""

    def wait() -> None:
        while not condition():
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_machine_dies_in_mid_run_and_nothing_is_lost(
    machines: Machines, on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    doomed = machines.add()
    # Slow replies: the run must last longer than the death of a machine takes.
    with LoopbackServer(latency=0.1) as server:
        declared = study(server.model, seeds=4, mechanism={"name": "repetition", "rounds": 15})
        play(declared, name="run", runs=tmp_path / "calm")
        needed, server.count = server.count, 0
        killer = when(lambda: server.count > needed // 3, lambda: machines.kill(doomed))
        result = play(declared, name="run", runs=tmp_path / "hit", options=on_ray(workers=3))
        killer.join()
        assert result.complete and result.tally.lost_workers == 1
        # What was under way on the dead machine, if anything, was asked again; what was acknowledged was not.
        keys = asked(tmp_path / "hit/run")
        assert len(keys) == len(set(keys)) == result.tally.calls == needed
        assert 0 <= server.count - needed <= 30
    assert tables(tmp_path / "hit/run", tmp_path / "a") == tables(tmp_path / "calm/run", tmp_path / "b")


def test_ctrl_c_stops_cleanly_and_the_cluster_goes_on_later(machines: Machines, tmp_path: Path) -> None:
    with LoopbackServer(latency=0.05) as server:
        declared = study(server.model)
        play(declared, name="run", runs=tmp_path / "calm")
        needed, server.count = server.count, 0
        file = tmp_path / "study.yaml"
        file.write_text(json.dumps(declared.model_dump(mode="json", exclude_defaults=True)))
        words = [sys.executable, "-m", "ostrom", "run", str(file), "--name", "run"]
        words += ["--runs", str(tmp_path / "cut"), "--executor", "ray", "--ray-address", machines.address]
        words += ["--workers", "2", "--max-connections", "4", "--json"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        when(lambda: server.count >= 20, lambda: process.send_signal(signal.SIGINT))
        out, err = process.communicate(timeout=600)
        assert process.returncode == 130, err
        told = json.loads(out)
        assert not told["complete"] and told["why"] == "interrupted"
        # Every call that was made came to its end and is kept.
        assert told["calls"] == server.count == len(asked(tmp_path / "cut/run")) < needed
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["complete"]
        assert server.count == needed
    assert tables(tmp_path / "cut/run", tmp_path / "a") == tables(tmp_path / "calm/run", tmp_path / "b")


def test_keys_stay_where_they_are(
    machines: Machines, on_ray: Callable[..., PlayOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers_key = "canary-of-the-driver-0815"
    monkeypatch.setenv("OSTROM_API_KEY", drivers_key)
    with LoopbackServer() as server:
        assert play(study(server.model), runs=tmp_path, options=on_ray()).complete
        sent = {r.headers.get("authorization") for r in server.requests if r.method == "POST"}
    assert sent == {f"Bearer {WORKERS_KEY}"}
    looked_at = 0
    for folder in (tmp_path, machines.logs):
        for path in folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                looked_at += len(content)
                assert WORKERS_KEY.encode() not in content, path
                assert drivers_key.encode() not in content, path
    assert looked_at > 10_000
