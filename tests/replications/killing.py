"""Play a script in a process of its own, kill it as its journal grows, and let it go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def start(play: str, runs: Path) -> subprocess.Popen[bytes]:
    """The script ``play``, which plays the run ``run`` into the folder that it is given."""
    return subprocess.Popen([sys.executable, "-c", play, str(runs)], stderr=subprocess.DEVNULL)


def calm_and_killed(play: str, folder: Path, *, kills: int, growth: int) -> tuple[Path, Path]:
    """The run of a script that nothing disturbs, and that of one killed whenever its journal grew by so many bytes."""
    assert start(play, folder / "calm").wait(300) == 0
    journal, killed = folder / "killed" / "run" / "journal.db-wal", 0
    while True:
        process = start(play, folder / "killed")
        before, patience = _size(journal), time.monotonic() + 600
        # Strike once the journal has grown: in the middle of play, however slow the machine is.
        while process.poll() is None and (killed >= kills or _size(journal) < before + growth):
            assert time.monotonic() < patience
            time.sleep(0.002)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed += 1
    assert killed
    return folder / "calm" / "run", folder / "killed" / "run"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
