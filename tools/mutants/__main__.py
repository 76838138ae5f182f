"""Try mutants: ``python -m tools.mutants engine models --sample 200 --seed 1 --minutes 20``.

Every survivor is either judged in ``tests/mutants.md`` or listed at the end, and then the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tools.mutants.operators import Mutant, mutants_of
from tools.mutants.reach import reach
from tools.mutants.trial import Trial, begin

ROOT = Path(__file__).resolve().parents[2]
JUDGED = ROOT / "tests" / "mutants.md"
KEPT = ROOT / ".mutants"
ROOMS: dict[str, tuple[list[str], list[str]]] = {
    "engine": (["engine"], ["tests/engine"]),
    "models": (["models"], ["tests/models"]),
    "answers": (["answers"], ["tests/answers"]),
    "statistics": (["analysis/statistics"], ["tests/analysis/statistics"]),
    "inference": (["features/inference"], ["tests/features/inference"]),
    "dynamics": (["features/evolution"], ["tests/features/evolution"]),
    "agents": (["agents"], ["tests/agents"]),
    "mechanisms": (["mechanisms"], ["tests/mechanisms"]),
}
DEFAULT = ("engine", "models", "answers", "statistics")
LEFT_OUT = (
    "engine/executors/ray.py",
    "models/embedded/",
    "models/providers/embedded.py",
    "models/providers/inspect.py",
    "tests/engine/ray",
    "tests/models/test_embedded.py",
    "tests/models/test_weights.py",
)
"""What needs a cluster, a model of 100 MB, or a package that is not installed."""
MOST_SECONDS = 30.0
"""Tests of one mutant, by their CPU time without it, which no load changes: the quickest that fit are run."""


Reached = dict[str, tuple[float, dict[str, set[int]]]]
"""CPU seconds and reached lines by file, by test."""


def main() -> int:
    """Try the mutants and say what came of it."""
    arguments = _arguments()
    ends = time.monotonic() + 60 * arguments.minutes
    judged = _judged()
    counts: dict[str, Counter[str]] = {}
    new: list[str] = []
    tried: set[str] = set()
    _trace(arguments.rooms, arguments.jobs)
    for place, room in enumerate(arguments.rooms):
        sources, reached = _sources(room), _reached(room)
        begun = time.monotonic()  # a slow look at what tests reach leaves the first room its share
        share = (ends - begun) / (len(arguments.rooms) - place)
        mutants = [m for file in sources for m in mutants_of(file, _module(file)) if arguments.only in m.name]
        if arguments.file:
            mutants = [m for m in mutants if arguments.file in str(m.file)]
        # By a hash of the name: a change elsewhere in the room leaves the sample as it is.
        mutants.sort(key=lambda m: sha256(f"{arguments.seed} {m.name}".encode()).digest())
        counts[room] = Counter(mutants=len(mutants))
        for mutant, verdict in _try(mutants[: arguments.sample], reached, begun + share, arguments.jobs):
            tried.add(mutant.name)
            if verdict in ("survived", "unreached") and mutant.name in judged:
                verdict = "judged"
            elif verdict in ("survived", "unreached"):
                new.append(mutant.name)
                print(f"{verdict:9} {mutant.file.name}:{mutant.lines[0]} {mutant.name}", flush=True)
            if verdict == "killed" and mutant.name in judged:
                counts[room]["judged, yet killed"] += 1
                print(f"judged as surviving, but killed: {mutant.name}", flush=True)
            counts[room][verdict] += 1
    _say(counts)
    if new:
        print(f"{len(new)} survivors are not judged in {JUDGED.relative_to(ROOT)}")
    return 1 if new else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", default=list(DEFAULT), help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=40, help="mutants tried in each room")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--minutes", type=float, default=30, help="time limit for everything")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried at the same time")
    parser.add_argument("--only", default="", help="only mutants whose name contains this")
    parser.add_argument("--file", default="", help="only files whose path contains this")
    arguments = parser.parse_args()
    if unknown := set(arguments.rooms) - set(ROOMS):
        parser.error(f"no such room: {', '.join(sorted(unknown))} (allowed: {', '.join(ROOMS)})")
    return arguments


def _files(folders: list[str], pattern: str = "*.py") -> list[Path]:
    found = [file for folder in folders for file in sorted((ROOT / folder).rglob(pattern))]
    return [file for file in found if not any(part in str(file) for part in LEFT_OUT)]


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _sources(room: str) -> list[Path]:
    return _files([f"src/ostrom/{part}" for part in ROOMS[room][0]])


def _trace(rooms: list[str], jobs: int) -> None:
    """Note what every test reaches, so many rooms at a time, in processes of their own: this one must not import it."""
    running = 0
    for room in [*rooms, *[""] * jobs]:
        if running and (running == jobs or not room):
            running -= 1
            if os.wait()[1]:
                sys.exit("the tests could not be traced")
        if room:
            sys.stdout.flush()
            running += 1
            if os.fork() == 0:
                code = 1
                try:
                    sources = _sources(room)
                    tests = [*_files(ROOMS[room][1], "test_*.py"), *(f for f in sources if ">>> " in f.read_text())]
                    reach(ROOT, sources, tests, KEPT / f"{room}.json")
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(code)


def _reached(room: str) -> Reached:
    """CPU seconds and lines of every test."""
    found: Reached = {}
    for file in json.loads((KEPT / f"{room}.json").read_text()).values():
        for test, data in file["tests"].items():
            found[test] = (data["seconds"], {name: set(lines) for name, lines in data["lines"].items()})
    return found


def _tests(mutant: Mutant, reached: Reached) -> tuple[list[str], float]:
    """The tests that run the changed lines, the quickest first, and their seconds."""
    file, wanted = str(mutant.file), set(range(mutant.lines[0], mutant.lines[1] + 1))
    if mutant.at_import:
        # A test that reads a constant runs no line: those beside a test that runs some are close, too.
        beside = {test.partition("::")[0] for test, (_, lines) in reached.items() if file in lines}
        close = [(s, t) for t, (s, _) in reached.items() if t.partition("::")[0] in beside]
        close = close or [(s, t) for t, (s, _) in reached.items()]
    else:
        close = [(s, t) for t, (s, lines) in reached.items() if wanted & lines.get(file, set())]
    chosen: list[str] = []
    total = 0.0
    for seconds, test in sorted(close):
        if chosen and total + seconds > MOST_SECONDS:
            break
        chosen.append(test)
        total += seconds
    return chosen, total


def _try(mutants: list[Mutant], reached: Reached, ends: float, jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with its verdict, while there is time."""
    running: list[Trial] = []
    waiting = list(reversed(mutants))
    while running or (waiting and time.monotonic() < ends):
        if waiting and len(running) < jobs and time.monotonic() < ends:
            mutant = waiting.pop()
            tests, seconds = _tests(mutant, reached)
            if tests:
                running.append(begin(mutant, tests, 60 + 10 * seconds))
            else:
                yield mutant, "unreached"
            continue
        time.sleep(0.01)
        for trial in list(running):
            if (verdict := trial.outcome()) is not None:
                running.remove(trial)
                yield trial.mutant, verdict


def _judged() -> set[str]:
    """The names of survivors that ``tests/mutants.md`` lists: the first column, in code marks."""
    if not JUDGED.exists():
        return set()
    rows = [line for line in JUDGED.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return {row[2:].split("` |")[0].strip("` ").replace("\\|", "|") for row in rows}


def _say(counts: dict[str, Counter[str]]) -> None:
    columns = ("mutants", "tried", "killed", "timeout", "judged", "survived", "unreached")
    print("".join(f"{name:>12}" for name in ("room", *columns)))
    for room, count in counts.items():
        count["tried"] = sum(count[name] for name in columns[2:])
        print("".join(f"{value:>12}" for value in (room, *(count[name] for name in columns))))


def _preload() -> None:
    """Import what most tests need once, before the forks."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # before numpy is imported: threads do not survive a fork
    for name in ("pytest", "hypothesis", "numpy", "scipy.stats", "pydantic", "orjson", "yaml", "jinja2"):
        importlib.import_module(name)


if __name__ == "__main__":
    _preload()
    sys.exit(main())
