"""Measure intervals, gates and pooled runs and write the tables of docs/statistics.md, gates.md and pool.md.

`python -m tools.coverage [SAMPLES] [intervals | gates | pools ...]`; exits with 1 where an aim is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tools.coverage import gates, pools
from tools.coverage.measured import Cell, measured
from tools.coverage.null_studies import excluded, excluded_at_preset

SAMPLES = 1500
PAGE = Path("docs/statistics.md")
BEGIN, END = "<!-- coverage: written by `make coverage` -->", "<!-- coverage: end -->"
MOST_EXCLUDED = 0.07
WIDEST = 1.6
BEYOND_AIMS = ("mean, further", "mean, not bounded")
"""Measured and shown, without an aim: the last rows say what no interval of bounded width can do."""


def tables(cells: Sequence[Cell]) -> str:
    """One table per kind of data: coverage, and in brackets the width relative to Student's."""
    parts = []
    for kind in dict.fromkeys(cell.kind for cell in cells):
        of = [cell for cell in cells if cell.kind == kind]
        sizes = list(dict.fromkeys(cell.size for cell in of))
        lines = [f"**{kind}**", "", "| values | " + " | ".join(sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
        for row in dict.fromkeys(cell.row for cell in of):
            own = {cell.size: cell for cell in of if cell.row == row}
            lines.append(f"| {row} | " + " | ".join(shown(own[size]) for size in sizes) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def shown(cell: Cell) -> str:
    """Coverage (relative width); bold where the aim is missed."""
    wide = "" if cell.width is None else f" ({cell.width:.2f})"
    text = f"{cell.covered:.3f}".removeprefix("0") + wide
    return f"**{text}**" if missed(cell) else text


def missed(cell: Cell) -> str:
    """Which aim a cell misses, if any."""
    if cell.covered < cell.aim:
        return f"covers {cell.covered:.3f}, aim {cell.aim}"
    if cell.limited and cell.kind.startswith("mean") and cell.width is not None and cell.width > WIDEST:
        return f"is {cell.width:.2f} times as wide as Student's, aim {WIDEST}"
    return ""


def null_table(presets: Iterable[tuple[str, dict[str, tuple[int, int]]]]) -> tuple[str, list[str]]:
    """The share of intervals of null studies that exclude the truth."""
    lines = ["| study | question | intervals | exclude the truth |", "|---|---|---|---|"]
    problems = []
    for name, counts in presets:
        for question, (out, of) in counts.items():
            lines.append(f"| {name} | {question} | {of} | {out / of:.1%} |")
        whole = sum(out for out, _ in counts.values()) / sum(of for _, of in counts.values())
        if whole > MOST_EXCLUDED:
            problems.append(f"null study, {name}: {whole:.1%} exclude the truth, aim {MOST_EXCLUDED:.0%}")
    return "\n".join(lines), problems


def interval_tables(samples: int) -> tuple[str, list[str]]:
    """The tables of intervals, and the aims that are missed."""
    cells = list(measured(samples))
    presets = [
        ("3 seeds, 10 rounds", excluded(100, 3, 10)),
        ("10 seeds, 20 rounds", excluded(100, 10, 20)),
        *(
            (f"{name}, preset {preset}", excluded_at_preset(name, preset))
            for name in ("memory", "horizon")
            for preset in ("small", "paper")
        ),
    ]
    nulls, problems = null_table(presets)
    problems += [
        f"{cell.kind}, {cell.row}, n = {cell.size}: {missed(cell)}"
        for cell in cells
        if cell.kind not in BEYOND_AIMS and missed(cell)
    ]
    text = (
        f"{samples:,} samples per figure. Share of 95 % intervals that hold the true value, and in brackets "
        "their mean width relative to Student's (Welch's). Bold: below .93 (n of 5 or more) or .90 (2 to 4), or a "
        "mean's interval over 1.6 times as wide at n of 10 or more where Student's covers .93.\n\n"
        f"{tables(cells)}\n\n**null studies** (scripted players, real runs)\n\n{nulls}"
    )
    return text, problems


PARTS: Mapping[str, tuple[Path, Callable[[int], tuple[str, list[str]]]]] = {
    "intervals": (PAGE, interval_tables),
    "gates": (gates.PAGE, gates.gate_tables),
    "pools": (pools.PAGE, pools.pool_tables),
}


def main() -> int:
    """Measure, write, and say what is missed."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    problems = []
    for part in [word for word in sys.argv[1:] if not word.isdigit()] or PARTS:
        path, made = PARTS[part]
        text, missing = made(numbers[0] if numbers else SAMPLES)
        page = path.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        print(f"{path}: {len(missing)} aims missed")
        problems += missing
    for problem in problems:
        print(f"missed: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
