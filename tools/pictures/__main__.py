"""Write docs/images: the first screen of a replication, and a match in the viewer, both with models that stand in."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ostrom
from ostrom.testing.server import LoopbackServer

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WORDS = ("We should be fair, trust pays in the long term.", "They betrayed me before; I fear the risk.")


def reply(messages: Any) -> str:
    """A model of two moods, so that a match has something to show."""
    late = "R3:" in messages[-1]["content"]
    return f"{WORDS[late]}\n[{'A1' if late else 'A0'}]"


def replication(work: Path, browser: str) -> None:
    """The first screen of a replication, as a server that answers by chance gives it."""
    with LoopbackServer() as server:
        types = {"stand-in": {"model": server.model}}
        ostrom.play("memory", preset="small", seeds=2, set={"types": types}, runs=work, progress=False)
    ostrom.commands.replicate("memory-curse", runs=str(work / "memory"), out=work / "page")
    photograph((work / "page" / "page" / "index.html").as_uri(), "replicate.png", work, browser, "1280,820")


def photograph(address: str, name: str, work: Path, browser: str, size: str) -> None:
    """Keep what a browser shows of a page."""
    subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}",
            "--virtual-time-budget=10000", f"--user-data-dir={work / 'browser'}",
            f"--screenshot={IMAGES / name}", address,
        ],
        check=True, capture_output=True,
    )  # fmt: skip


def viewer(work: Path, browser: str) -> None:
    """A match in the viewer."""
    types = {"anna": {"model": reply, "style": "reasoned"}, "tft": "tit_for_tat"}
    study = {
        "name": "memory", "title": "Memory and cooperation", "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 6}, "agent": {"memory": "window:1"}, "types": types,
        "seating": "unordered",
    }  # fmt: skip
    ostrom.play(study, runs=work, progress=False)
    program = [sys.executable, "-m", "ostrom", "view", str(work), "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)))[0]
            photograph(f"{address}run/memory/match/1?step=3&player=1", "view.png", work, browser, "1280,900")
        finally:
            server.terminate()


def main() -> None:
    """Make both."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"no browser found (looked for {', '.join(BROWSERS)})")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        viewer(work / "viewed", browser)
        replication(work / "played", browser)


if __name__ == "__main__":
    main()
