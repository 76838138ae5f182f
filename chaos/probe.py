"""kill -9 in every stage of `make probe`: the same command goes on, repeats nothing, and ends as a no-op.

It plays the real embedded model and trains real adapters: ten minutes and more on two cores, the extra ``train``
included. A short run leaves it out.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from chaos.finding import Finding, verdict
from chaos.player import answered

ROOT = Path(__file__).parents[1]
LONGEST = 7200.0
Sign = Callable[[Path], bool]


def calls(run: str, least: int) -> Sign:
    """So many replies stand in the journal of a run."""

    def seen(folder: Path) -> bool:
        path = folder / "runs" / run / "journal.db"
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
                return int(journal.execute("SELECT count(*) FROM calls").fetchone()[0]) >= least
        except sqlite3.Error:
            return False

    return seen


def there(pattern: str) -> Sign:
    """A file of the stage exists."""
    return lambda folder: any(folder.glob(pattern))


STAGES: dict[str, Sign] = {
    "play": calls("probe-source", 7),
    "play again": calls("probe-source", 40),
    "score": there("runs/probe-source/score-*/*"),
    "corpus": there("corpora/forward/*"),
    "train": there("adapters/forward-0/checkpoint.pt"),
    "convert": there("adapters/forward-0/training.json"),
    "compare": there("adapters/forward-0/adapter.gguf"),
    "next corpus": there("corpora/placebo/*"),
    "next train": there("adapters/placebo-0/checkpoint.pt"),
    "arms": calls("probe", 5),
    "report": there("runs/probe/report/*"),
}


def run(short: bool, _seed: int) -> list[Finding]:
    """Kill the command once in every stage, let it end, and run it once more."""
    check = "make probe goes on after kill -9 in every stage"
    if short or find_spec("torch") is None:
        why = "not in a short run" if short else "needs the extra train: make train"
        return [Finding("probe", check, 0, "skipped", why)]
    with tempfile.TemporaryDirectory() as name:
        return killed_and_ended(Path(name))


def killed_and_ended(folder: Path) -> list[Finding]:
    """The findings of one folder."""
    said, missed = "", []
    for stage, sign in STAGES.items():
        text, struck = session(folder, sign)
        said += text
        print(f"probe: {stage} {'killed' if struck else 'ended before the kill'}", file=sys.stderr, flush=True)
        if not struck:
            missed.append(stage)
    last, struck = session(folder, None)
    said += last
    ended = not struck and "nothing about what looking forward does" in last
    kills = len(STAGES) - len(missed)
    note = f"not reached in time: {', '.join(missed)}" if missed else ", ".join(STAGES)
    found = [verdict("probe", "make probe goes on after kill -9 in every stage", kills, ended, note)]
    for played in ("probe-source", "probe"):
        counts = answered(folder / "runs" / played).values() if ended else [0]
        found.append(verdict("probe", f"{played}: no answered call asked again", sum(counts), max(counts) == 1))
    begun = len(re.findall(r"^step 1/", said, re.MULTILINE))
    found.append(verdict("probe", "no training began anew", begun, begun == 3, "three adapters"))
    before = state(folder)
    session(folder, None)
    changed = sorted(name for name, stamp in state(folder).items() if before.get(name) != stamp)
    found.append(verdict("probe", "the same command again changes nothing", 1, not changed, ", ".join(changed[:5])))
    return found


def session(folder: Path, sign: Sign | None) -> tuple[str, bool]:
    """Run the command until the sign is seen, then kill everything; what it said, and whether it was killed."""
    log = folder.with_suffix(".log")
    already = sign is not None and sign(folder)
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["make", "probe", f"PROBE_OUT={folder}", f"VENV={Path(sys.prefix)}"],
            cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + LONGEST
        while process.poll() is None and time.monotonic() < deadline:
            if sign is not None and not already and sign(folder):
                break
            time.sleep(0.005)
        struck = process.poll() is None
        if struck:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    text = log.read_text("utf-8", "replace")
    log.unlink()
    return text, struck


def state(folder: Path) -> dict[str, int]:
    """When every file that lasts was changed, and how many calls each journal holds.

    Locks, the mark that a journal is open and the report are made anew by every session.
    """
    kept = (p for p in sorted(folder.rglob("*")) if p.is_file() and not _passing(p))
    found = {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in kept}
    return found | {run: sum(answered(folder / "runs" / run).values()) for run in ("probe-source", "probe")}


def _passing(path: Path) -> bool:
    return path.name in ("lock", "session.json") or path.name.startswith("journal.db") or "report" in path.parts
