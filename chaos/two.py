"""Two processes and one run: the second is refused in one line, the first does not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.run_tables import tables

from chaos.finding import Finding, verdict
from chaos.kills import small
from chaos.player import processes, start
from ostrom.testing.server import LoopbackServer


def run(short: bool, _seed: int) -> list[Finding]:
    """Open a run again and again while it is played."""
    tries = 1 if short else 10
    refused, lines = 0, set()
    with LoopbackServer(latency=0.02) as server, tempfile.TemporaryDirectory() as folder:
        home, study = Path(folder), small("memory", server.model)
        context = processes()
        calm = start(context, study, home / "calm")
        calm.join(300)
        begun = server.count
        first = start(context, study, home / "shared")
        while server.count == begun and first.is_alive():
            time.sleep(0.005)
        # The second one comes by the command line, as a person would start it by mistake.
        command = [sys.executable, "-m", "ostrom", "run", "memory", "--preset", "smoke", "--name", "run"]
        command += ["--runs", str(home / "shared"), "--model", server.model]
        for _ in range(tries):
            os.kill(
                first.pid or 0, signal.SIGSTOP
            )  # the first sleeps while the second starts, so that it cannot be done
            second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            os.kill(first.pid or 0, signal.SIGCONT)
            said = second.stderr.strip()
            lines.add(said[:200])
            refused += second.returncode == 1 and said.count("\n") == 0 and "another process" in said
        first.join(300)
        same = tables(home / "shared" / "run", home / "a") == tables(home / "calm" / "run", home / "b")
    note = "" if refused == tries else f"said {sorted(lines)}"
    return [
        verdict("two", "a second process is refused in one line with exit code 1", tries, refused == tries, note),
        verdict("two", "the first ends unharmed with the same tables", 1, first.exitcode == 0 and same),
    ]
