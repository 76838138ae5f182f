"""Replies of ten megabytes in one line: pages and the memory of the viewer stay small, however many there are."""

import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from tests.view.runs import talk
from tests.view.viewed import Viewed

from ostrom.models.base import Reply, Request, Usage

LONG, ROUNDS = 10_000_000, 16
PAGES = [
    "/",
    "/run/long",
    "/run/long/matches",
    "/run/long/search?q=treasure",
    "/run/long/beside/long/0/0",
    *(f"/run/long/match/0?step={step}&player=1" for step in range(ROUNDS)),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_lines_of_ten_megabytes_are_shown_within_bounded_memory(tmp_path: Path) -> None:
    calls = count()

    def script(_: Request) -> Reply:
        end = "\n[A0]" if next(calls) % 2 else ""  # every other one cannot be read, and comes back in a prompt
        return Reply(f"treasure {'z' * LONG}{end}", usage=Usage(1, 1))

    run = talk(tmp_path / "runs", script, name="long", rounds=ROUNDS, seating="seats", vary={})
    held = (run / "journal.db").stat().st_size
    assert held > 2 * ROUNDS * LONG
    command = [sys.executable, "-m", "ostrom", "view", str(tmp_path / "runs"), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:([0-9]+)/", process.stderr.readline())
            assert found is not None
            viewer = Viewed(int(found[1]))
            viewer.page("/")
            before = peak(process.pid)
            assert all(len(viewer.page(path)) < 200_000 for path in PAGES)
            match = viewer.page("/run/long/match/0?step=3&player=1")
            whole = re.findall(r'href="(/run/long/call/[0-9]+/[a-z.0-9]+\?whole=1)"', match)
            assert len(whole) == 3 and all(len(viewer.page(path)) >= LONG for path in whole)
            assert peak(process.pid) - before < held / 2
        finally:
            process.terminate()


def peak(pid: int) -> int:
    """The most memory that a process has held, in bytes."""
    found = re.search(r"VmHWM:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])
