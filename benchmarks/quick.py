"""The four costs that a change is most likely to raise, in less than a minute: ``make bench-quick``.

Each is seconds of CPU per piece of work, divided by those of a fixed piece of plain Python that is measured right
before and after it, so that the machine and what else it does drop out. Beside it stands the same ratio as it was
recorded (``benchmarks/quick.json``): 1.3 says that the work now takes 1.3 times as much. It is read by people, so a
loss is no failure.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import call_path, growth, scripted
from benchmarks.processes import server
from ostrom.data.tables import export_rows
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

RECORDED = Path(__file__).parent / "quick.json"
REPEATS, PROMPTS, TURNS, MATCHES = 5, 2000, 50, 40


def yardstick() -> float:
    """Seconds of CPU of a fixed piece of plain Python: dictionaries, small objects, texts, calls."""
    begun = time.process_time()
    lines, counts = [], dict[str, int]()
    for number in range(20_000):
        word = str(number % 97)
        counts[word] = counts.get(word, 0) + len(word)
        lines.append((word, number))
    text = "\n".join(f"{word}: {number}" for word, number in sorted(lines))
    assert len(text.split("\n")) == 20_000 and sum(counts.values()) > 20_000
    return time.process_time() - begun


def prompts() -> tuple[Callable[[], object], int]:
    """Prompts that show ten rounds."""
    make = growth.prompting(10, 500)
    return lambda: [make() for _ in range(PROMPTS)], PROMPTS


def generators() -> tuple[Callable[[], object], int]:
    """Turns of scripted matches, played one by one."""
    return lambda: scripted.generators(TURNS), TURNS * len(scripted.CLASSIC) ** 2


def parquet(folder: Path) -> tuple[Callable[[], object], int]:
    """Decisions of a scripted run, written as tables."""
    study = validate(
        StudyFile,
        {
            "name": "rows",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": TURNS},
            "types": {"a": "tit_for_tat", "b": "alternator"},
            "seeds": MATCHES,
        },
        "benchmark",
    )
    play(study, runs=folder, options=PlayOptions(arrays=False))

    def export() -> None:
        with open_run(folder / "rows") as run:
            export_rows(run.rows, "parquet", folder / "rows")

    with open_run(folder / "rows") as run:
        decisions = len(run.plan) * 2 * TURNS
    return export, decisions


def ratio(work: Callable[[], object], pieces: int) -> tuple[float, float]:
    """Seconds of CPU of a piece of work, and how many yardsticks a thousand of them are: the best of some repeats."""
    work()  # what is loaded and kept once is no part of it
    seconds, ratios = [], []
    for _ in range(REPEATS):
        before = yardstick()
        begun = time.process_time()
        work()
        taken = (time.process_time() - begun) / pieces
        seconds.append(taken)
        ratios.append(1000 * taken / min(before, yardstick()))
    return min(seconds), min(ratios)


def measure() -> dict[str, tuple[float, float]]:
    """Every cost by name: seconds of CPU, and yardsticks for a thousand."""
    costs = {"prompt, ten rounds shown": ratio(*prompts()), "turn of two scripts": ratio(*generators())}
    with tempfile.TemporaryDirectory() as folder:
        costs["decision written as parquet"] = ratio(*parquet(Path(folder)))
    with server() as model:
        call_path.MATCHES, call_path.CALLS = MATCHES, MATCHES * call_path.ROUNDS * 2
        costs["call, whole stack"] = ratio(lambda: call_path.ours(model, "asyncio"), call_path.CALLS)
    return costs


def main() -> None:
    """Print the costs beside the recorded ones, or record them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quick", description=__doc__)
    parser.add_argument("--record", action="store_true", help="make these the recorded costs")
    record = parser.parse_args().record
    costs = measure()
    if record:
        recorded = {name: round(yardsticks, 3) for name, (_, yardsticks) in costs.items()}
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    print(f"{'CPU of one':28} {'microseconds':>12} {'yardsticks per 1,000':>21} {'recorded':>9} {'now / then':>10}")
    for name, (seconds, yardsticks) in costs.items():
        then = recorded.get(name)
        times = "" if then is None else f"{yardsticks / then:.2f}"
        print(f"{name:28} {seconds * 1e6:12.1f} {yardsticks:21.2f} {then or '':>9} {times:>10}")


if __name__ == "__main__":
    main()
