"""Tables as files: CSV for machines, Markdown for people, LaTeX for papers."""

import csv
import io
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ostrom.data import tables
from ostrom.ground.terminal import escaped
from ostrom.reports.panel import Table
from ostrom.reports.words import number

REPEATED = 4096
"""The most cached cell texts: most cells of a long table repeat an earlier one."""


def as_csv(table: Table, *, safe: bool = False) -> str:
    """Return CSV with full precision; None is an empty field."""
    guard: Callable[[Any], Any] = tables.safe if safe else lambda value: value
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([guard(name) for name in table.columns])
    writer.writerows(["" if value is None else guard(value) for value in row] for row in table.rows)
    return out.getvalue()


def as_markdown(table: Table) -> str:
    """Return a Markdown table with bars and line ends escaped.

    >>> print(as_markdown(Table("t", ["a|b", "n"], [["x", 1.5]], "A table.")), end="")
    A table.
    <BLANKLINE>
    | a\\|b | n |
    | --- | ---: |
    | x | 1.500 |
    """
    rule = " | ".join("---:" if is_number(table, i) else "---" for i in range(len(table.columns)))
    rows = (_line(map(number, row)) for row in table.rows)
    caption = (table.caption, "") if table.caption else ()
    return "\n".join((*caption, _line(table.columns), f"| {rule} |", *rows)) + "\n"


def as_latex(table: Table) -> str:
    """Return a LaTeX table (package booktabs) with values escaped.

    >>> print(as_latex(Table("t", ["a_b", "n"], [["50 %", 1.5]], "A table.")), end="")
    \\begin{table}
    \\caption{A table.}
    \\begin{tabular}{lr}
    \\toprule
    a\\_b & n \\\\
    \\midrule
    50 \\% & 1.500 \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    """
    kinds = "".join("r" if is_number(table, i) else "l" for i in range(len(table.columns)))
    rows = [[_latex(number(value)) for value in row] for row in table.rows]
    lines = [
        r"\begin{table}", *([rf"\caption{{{_latex(table.caption)}}}"] if table.caption else []),
        rf"\begin{{tabular}}{{{kinds}}}", r"\toprule",
        " & ".join(map(_latex, table.columns)) + r" \\", r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows), r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$",
    "−": "$-$", "≥": r"$\geq$", "≤": r"$\leq$", "†": r"$\dagger$", "Δ": r"$\Delta$",
    **{char: f"\\{char}" for char in "&%$#_{}"},
})  # fmt: skip


@lru_cache(REPEATED)
def _latex(text: str) -> str:
    return escaped(" ".join(text.split())).translate(_LATEX)


def is_number(table: Table, column: int) -> bool:
    """Return whether a column holds only numbers, which are right-aligned."""
    values = [row[column] for row in table.rows if row[column] is not None]
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _line(values: Iterable[Any]) -> str:
    return "| " + " | ".join(_cell(str(value)) for value in values) + " |"


@lru_cache(REPEATED)
def _cell(text: str) -> str:
    return re.sub(r"([\\|`\[])", r"\\\1", escaped(" ".join(text.split()))).replace("<", "&lt;")


def file_name(text: str, used: set[str]) -> str:
    """Return a safe file name that is not in use.

    >>> file_name("a/b <c>", {"a-b-c"})
    'a-b-c-2'
    """
    base = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:80] or "unnamed"
    name, count = base, 2
    while name in used:
        name, count = f"{base}-{count}", count + 1
    used.add(name)
    return name
