"""A disk that fills up at any moment, and one that cannot be written to: one line, nothing lost, go on later."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaos.finding import Finding, verdict
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

SIZES = (0, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768)
"""Kibibytes at which the disk is full: from the first file of a run to well within its journal."""
STUDY: dict[str, Any] = {
    "name": "disk",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 150},
    "types": {"tft": "tit_for_tat", "chance": "random:0.6"},
    "seating": "ordered",
    "seeds": 6,
}
ONE_BY_ONE = PlayOptions(arrays=False)
"""Every decision is an entry of its own, so that the disk fills slowly."""


def run(short: bool, seed: int) -> list[Finding]:
    """Fill the disk at several sizes, then make it read-only."""
    checks = ("full disk: one line, and more space lets the run go on", "a disk that cannot be written to: one line")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if (why := refused(home / "probe")) is not None:
            return [
                Finding("disk", check, 0, "skipped", f"no file system can be mounted here: {why}") for check in checks
            ]
        # The first size is for the first file of a run; another seed fills the disk at other pages.
        sizes = (0, *(size + 4 * (seed % 8) for size in SIZES[1 :: 5 if short else 1]))
        return [fill(home, sizes, checks[0]), *read_only(home, checks[1])]


def refused(place: Path) -> str | None:
    """Why a small file system cannot be mounted here, or None if it can."""
    try:
        with disk(place, 64):
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return " ".join(str(said).split())


@contextmanager
def disk(place: Path, kib: int) -> Iterator[None]:
    """A file system of a few pages in memory."""
    place.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={max(kib, 4)}k", "tmpfs", str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def mount(*arguments: str) -> None:
    """Mount or remount."""
    subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)


def fill(home: Path, sizes: tuple[int, ...], check: str) -> Finding:
    """Play on a disk of every size until it is full, then give it space."""
    study = load_study(STUDY)
    play(study, runs=home / "calm", options=ONE_BY_ONE)
    with open_run(home / "calm" / "disk") as run:
        calm = list(run.rows.decisions())
    problems, full, kept = [], 0, []
    for size in sizes:
        place = home / f"full{size}"
        with disk(place, size):
            if size == 0:
                (place / "ballast").write_bytes(bytes(4096))
            said = outcome(study, place)
            full += said != "done"
            if said != "done" and (len(said.splitlines()) != 1 or "Traceback" in said):
                problems.append(f"{size} KiB: {said}")
            mount("-o", "remount,size=50m", str(place))
            again = outcome(study, place)
            if again != "done":
                problems.append(f"{size} KiB, with space: {again}")
                continue
            with open_run(place / "disk") as run:
                if list(run.rows.decisions()) != calm:
                    problems.append(f"{size} KiB: other decisions")
                kept.append(run.journal.entries)
    note = f"{full} of {len(sizes)} sizes ran full, all went on to the same {len(calm):,} decisions"
    return verdict("disk", check, len(sizes), not problems and full > 0, "; ".join(problems[:3]) or note)


def outcome(study: Any, runs: Path) -> str:
    """How a session ended: done, or the line it was refused with. Anything else is raised."""
    try:
        return "done" if play(study, runs=runs, options=ONE_BY_ONE).complete else "incomplete"
    except OstromError as error:
        return str(error)


def read_only(home: Path, check: str) -> list[Finding]:
    """A run on a disk that was made read-only can be read, and refuses to go on in one line."""
    study, place = load_study(STUDY), home / "locked"
    with disk(place, 50_000):
        play(study, runs=place, options=PlayOptions(arrays=False, limit=3))
        with open_run(place / "disk") as run:
            before = list(run.rows.decisions())
        mount("-o", "remount,ro", str(place))
        said = outcome(study, place)
        fresh = outcome(study, place / "new")
        try:
            with open_run(place / "disk") as run:
                after: Any = list(run.rows.decisions())
        except OstromError as error:
            after = str(error)
        mount("-o", "remount,rw", str(place))
        again = outcome(study, place)
    lines = [line for line in (said, fresh) if len(line.splitlines()) != 1 or line in ("done", "incomplete")]
    note = f"writes again: {again}" if again != "done" else ""
    odd = "" if after == before else str(after)[:200]
    return [
        verdict("disk", check, 2, not lines and again == "done", "; ".join(lines) or note),
        verdict("disk", "a finished journal on such a disk is read whole", 1, after == before, odd),
    ]  # fmt: skip
