"""Write docs/images: play README's study and a small one with a model, draw the chart and photograph the viewer."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ostrom

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WORDS = ("We should be fair, trust pays in the long term.", "They betrayed me before; I fear the risk.")


def readme_study() -> dict[str, Any]:
    """What README's first run is played with, as it stands there."""
    command = re.search(r"^\$ ostrom run (.*?\\\n.*?)\n", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    assert command is not None
    words = shlex.split(command[1].replace("\\\n", " "))
    options = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    return {"source": words[0], "preset": words[words.index("--preset") + 1], "set": options}


def reply(messages: Any) -> str:
    """A model of two moods, so that a match has something to show."""
    late = "R3:" in messages[-1]["content"]
    return f"{WORDS[late]}\n[{'A1' if late else 'A0'}]"


def chart(work: Path) -> None:
    """The figure of README: cooperation against the length of the visible history."""
    study = readme_study()
    run = ostrom.play(study.pop("source"), runs=work, name="noisy", progress=False, **study)
    shutil.copy(run.report().parent / "figures" / "memory_lengths_reasoned.png", IMAGES / "memory.png")


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
            subprocess.run(
                [
                    browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,900",
                    "--virtual-time-budget=10000", f"--user-data-dir={work / 'browser'}",
                    f"--screenshot={IMAGES / 'view.png'}", f"{address}run/memory/match/1?step=3&player=1",
                ],
                check=True, capture_output=True,
            )  # fmt: skip
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
        chart(work / "runs")


if __name__ == "__main__":
    main()
