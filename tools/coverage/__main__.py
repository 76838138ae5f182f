"""Simulate both intervals, every word of a verdict, gates and pools, and write docs/methods.md.

`python -m tools.coverage [SAMPLES] [intervals | words | gates | pools ...]`; exits with 1 where an aim is missed.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools.coverage import gates, pools
from tools.coverage.rates import GATE_TIMES, Measured, Row, coverage, words

SAMPLES = 400
LEVELS = ("mean", "over two conditions", "ratio of totals")
"""The questions about a level; all others are about a difference, which is none here."""
PAGE = Path("docs/methods.md")
TITLE = """# Methods, simulated

Written by `make coverage`; nothing here is edited by hand. [Statistics](statistics.md) says what the methods are.
"""


def figure(value: float) -> str:
    """A share without its leading zero."""
    return f"{value:.3f}".removeprefix("0")


def interval_tables(samples: int) -> tuple[str, list[str]]:
    """Coverage, width and notes for every shape and kind of values; the aims that are missed."""
    lines = [
        f"{samples:,} samples a row. *interval*: how often the classical 95 % interval holds the truth. *low*, *high*: "
        "how often each bound is wrong (at most .025). *wider*: median width of the bounds over that of the interval. "
        "*note*: samples with a caution note. *unnoted*: no note and the truth outside. *YES*: p below .05 where "
        "nothing differs.", "",
        "| values | question | n | interval | low | high | wider | note | unnoted | YES |", "|---" * 10 + "|",
    ]  # fmt: skip
    missed = []
    for name, shape, n, one, kind in coverage(samples):
        null = shape not in LEVELS
        numbers = (one.covered, one.below, one.above, one.width, one.noted, one.unnoted)
        shown = " | ".join(f"{x:.1f}" if at == 3 else figure(x) for at, x in enumerate(numbers))
        lines.append(f"| {name} | {shape} | {n} | {shown} | {figure(one.yes) if null else ''} |")
        missed += [
            f"{name}, {shape}, n {n}: {row.what} {row.value:.3f}" for row in aims(one, shape, n, kind) if row.missed
        ]
    return "\n".join(lines), missed


def aims(one: Measured, shape: str, n: int, kind: str) -> list[Row]:
    """What a row must reach."""
    found = [
        Row("lower bound wrong", "", one.below, 0.025),
        Row("upper bound wrong", "", one.above, 0.025),
        Row("no note and the truth outside", "", one.unnoted, 0.12 if n < 15 else 0.10),
    ]
    if kind == "tame" and shape == "mean":
        found += [Row("interval", "", one.covered, 0.93, True), Row("note", "", one.noted, 0.12 if n < 20 else 0.06)]
    return found if shape in LEVELS else [*found, Row("YES", "", one.yes, 0.06)]


def word_tables(samples: int) -> tuple[str, list[str]]:
    """How often every word is wrong, and whether advice comes true."""
    rows = list(words(samples))
    size = f"{samples:,} samples a row, {GATE_TIMES * samples:,} for gates; papers: tables of 72 cells."
    lines = [size, "", "| word | values | share | aim |", "|---|---|---|---|"]
    for row in rows:
        aim = "" if row.aim is None else f"{'at least' if row.at_least else 'at most'} {figure(row.aim)}"
        lines.append(f"| {row.what} | {row.where} | {figure(row.value)} | {aim} |")
    return "\n".join(lines), [f"{row.what}, {row.where}: {row.value:.3f}" for row in rows if row.missed]


PARTS: Mapping[str, tuple[str, Callable[[int], tuple[str, list[str]]]]] = {
    "intervals": ("Intervals and bounds", interval_tables),
    "words": ("Words of verdicts", word_tables),
    "gates": ("Gates", gates.gate_tables),
    "pools": ("Pooled runs", pools.pool_tables),
}


def main() -> int:
    """Simulate, a part on every processor, write, and say what is missed."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    samples = numbers[0] if numbers else SAMPLES
    wanted = [word for word in sys.argv[1:] if not word.isdigit()] or list(PARTS)
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else TITLE
    problems = []
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        parts = {PARTS[part][0]: pool.submit(PARTS[part][1], samples) for part in wanted}
        for title, part in parts.items():
            text, missing = part.result()
            before, _, rest = page.partition(f"\n## {title}\n")
            after = rest.partition("\n## ")
            page = f"{before}\n## {title}\n\n{text}\n" + (f"\n## {after[2]}" if after[1] else "")
            print(f"{title}: {len(missing)} aims missed", flush=True)
            problems += missing
            PAGE.write_text(page, encoding="utf-8")
    for problem in problems:
        print(f"missed: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
