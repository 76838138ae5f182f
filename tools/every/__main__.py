"""`make all`: every target one after the other, then a table of what came out.

Each target writes to its own log under demo/all. One that fails does not stop those after it; the exit code
says whether all held. Run it on an otherwise idle machine: `make bench` is one of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

TARGETS = (
    "demo", "lint", "test", "test-all", "newest", "cover", "fuzz", "chaos", "browser", "coverage", "mutants", "blocks",
    "docs", "notebooks", "interop", "package", "probe", "ray", "axelrod", "train", "servers", "bench",
)  # fmt: skip
LOGS = Path("demo/all")


def main(names: list[str]) -> int:
    """Run the targets (all of them if none is named) and print the table; the number of those that failed."""
    unknown = sorted(set(names) - set(TARGETS))
    if unknown:
        print(f"unknown target {unknown[0]} (allowed: {', '.join(TARGETS)})", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    rows = [run(name) for name in names or TARGETS]
    print("\n| command | minutes | outcome | last line |\n|---|---|---|---|")
    for name, minutes, code, last in rows:
        outcome = "held" if code == 0 else f"failed ({code})"
        print(f"| make {name} | {minutes:.1f} | {outcome} | {last.replace('|', '/')} |")
    return min(1, sum(code != 0 for _, _, code, _ in rows))


def run(name: str) -> tuple[str, float, int, str]:
    """Run one target; its name, minutes, exit code and the last line that it printed."""
    log = LOGS / f"{name}.log"
    print(f"make {name} (log: {log})", flush=True)
    begin = time.monotonic()
    with log.open("wb") as file:
        code = subprocess.run(["make", name], stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return name, (time.monotonic() - begin) / 60, code, last[:120]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
