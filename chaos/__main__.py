"""Run the failure suite: one line per check, all of them in results.json, exit code 1 if any failed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

from chaos.finding import Finding
from chaos.played import side_by_side

PARTS = {
    "kills": "kill -9 at random moments of every study",
    "rules": "kill -9 at 20 moments of every game by a rule, and of the studies made of them",
    "shards": "kill -9 over 8 shards behind a failing server, joined and compared with an undivided run",
    "asked": "kill -9 under faults, counted by the server: no answered call is asked again",
    "faults": "a server that fails up to half of its calls",
    "batch": "batch endpoints that fail a fifth of the time, and kill -9 in between",
    "disk": "a disk that is full, and one that cannot be written to",
    "clock": "a clock that jumps",
    "two": "two processes that open one run",
    "damage": "a journal that was cut, flipped, or lost its parts",
    "people": "a web server that is killed while people take part",
    "probe": "the fine-tuning probe, killed in every stage",
    "fuzz": "a million inputs that nobody meant to write",
}
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PART", help=f"run only these of {', '.join(PARTS)}")
    parser.add_argument("--short", action="store_true", help="every part once, with a tenth of the inputs")
    parser.add_argument("--seed", type=int, default=0, help="other kills, faults and inputs (default: 0)")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=int, default=cores, help="parts at the same time (default: one a core)")
    given = parser.parse_args()
    for name in given.names:
        if name not in PARTS:
            parser.error(f"there is no part {name!r} (allowed: {', '.join(PARTS)})")
    found: list[Finding] = []
    for name, (new, seconds) in side_by_side(given.names or PARTS, given.short, given.seed, given.jobs):
        for finding in new:
            print(finding, flush=True)
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
        if not given.short:
            write(name, new, seconds, given.seed)
        found += new
    failed = sum(f.verdict == "FAILED" for f in found)
    skipped = sum(f.verdict == "skipped" for f in found)
    print(f"{len(found)} checks: {len(found) - failed - skipped} held, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


def write(name: str, found: list[Finding], seconds: float, seed: int, results: Path = RESULTS) -> None:
    """Keep what a part found in a full run."""
    kept = json.loads(results.read_text("utf-8")) if results.exists() else {}
    kept[name] = {
        "date": time.strftime("%Y-%m-%d"),
        "seed": seed,
        "seconds": round(seconds, 1),
        "machine": f"{len(os.sched_getaffinity(0))} cores, {sys.platform}, Python {platform.python_version()}",
        "tried": found[-1].count if name in ("kills", "rules") else sum(f.count for f in found),
        "findings": [f.as_dict() for f in found],
    }
    ordered = {part: kept[part] for part in PARTS if part in kept}
    results.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
