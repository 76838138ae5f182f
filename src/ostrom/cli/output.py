"""Prints command results: JSON alone on stdout, tables for people, messages on stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ostrom.ground.results import Csv, Output, Remark, TextItem, TextTable
from ostrom.ground.terminal import ask, console, escape_controls, json_wanted, print_stderr, write, write_json

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = [
    "Csv",
    "Output",
    "Remark",
    "TextItem",
    "TextTable",
    "ask",
    "bar",
    "cell",
    "emit",
    "json_wanted",
    "print_stderr",
    "show",
]  # fmt: skip
"""What commands need: result types, and functions that print before the end."""


def emit(output: Output) -> None:
    """Print a command's result, as JSON with ``--json``."""
    if not json_wanted():
        show(*output.items())
    elif output.document is not None:
        write_json(output.labelled)
    for message in filter(None, output.messages):
        print_stderr(message)


def show(*items: TextItem) -> None:
    """Print for a person while a command runs; with ``--json`` print nothing."""
    for item in () if json_wanted() else items:
        if isinstance(item, Remark):
            print_stderr(item)
        elif isinstance(item, TextTable):
            _print_table(item)
        elif isinstance(item, Csv):
            write(_csv_text(item), end="")
        elif isinstance(item, Mapping):
            width = max((len(key) for key in item), default=0)
            for key, value in item.items():
                write(f"{key:<{width}}  {cell(value)}")
        elif item is not None:
            write(item)


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on stderr; yields its update function, None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def _print_table(content: TextTable) -> None:
    """Print a table without cut words, numbers right-aligned.

    On a screen that is too narrow, columns in which all rows agree go below the table; if that does not suffice, or
    would make the table taller than a list, every row is a list of names and values.
    """
    full, screen = _Grid.from_lines(content.columns, [list(row) for row in content.rows]), console()
    if not screen.is_terminal:
        screen = console(width=max(160, full.min_width))
    table, below = full, list[str]()
    if table.min_width > screen.width:
        table, below = table.without_constants()
    if screen.is_terminal and (table.min_width > screen.width or table.height(screen.width) > table.list_height):
        below = list(full.as_list(content.title, screen.width))
    else:
        screen.print(table.drawn(content.title, screen.width))
    for line in below:
        write(line)


NUMBER = re.compile(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?%?|no bound|-")


@dataclass(frozen=True)
class _Grid:
    """The texts of a table, and the room that they need."""

    names: list[str]
    rows: list[list[str]]
    numeric: list[bool]
    border: int = 3
    """The width of a column beside its text; separators are dropped first if room is short."""

    @classmethod
    def from_lines(cls, columns: Sequence[str], lines: list[list[Any]]) -> _Grid:
        numeric = [bool(lines) and all(_is_number(line[i]) for line in lines) for i in range(len(columns))]
        return cls(
            [escape_controls(name) for name in columns],
            [[escape_controls(cell(v)) for v in line] for line in lines],
            numeric,
        )

    def without_constants(self) -> tuple[_Grid, list[str]]:
        """Return the columns that vary, and a line for each constant one with content."""
        every = range(len(self.names))
        varying = [i for i in every if len(self.rows) < 2 or len({row[i] for row in self.rows}) > 1]
        same = [i for i in every if i not in varying and self.rows[0][i] not in ("", "-")]
        return _Grid(
            [self.names[i] for i in varying],
            [[row[i] for i in varying] for row in self.rows],
            [self.numeric[i] for i in varying],
            border=2,
        ), [f"{self.names[i]}: {self.rows[0][i]}" for i in same]

    def _measured(self, parts: Callable[[str], list[str]]) -> list[int]:
        from rich.cells import cell_len

        return [
            max((cell_len(part) for text in column for part in parts(text)), default=0)
            for column in zip(self.names, *self.rows, strict=True)
        ]

    @property
    def min_width(self) -> int:
        """The width that cuts no word."""
        return sum(self._measured(str.split)) + self.border * len(self.names) + 1

    def widths(self, room: int) -> list[int]:
        """Return a width for each column: that of its text, or what makes the fewest lines."""
        full, widths = self._measured(str.splitlines), self._measured(str.split)
        texts = [sum(map(len, column)) for column in zip(*self.rows, strict=True)] or [0] * len(full)
        for _ in range(room - self.min_width):
            gains = [
                text / max(width, 1) ** 2 if width < most else -1.0
                for text, most, width in zip(texts, full, widths, strict=True)
            ]
            if max(gains, default=-1.0) < 0:
                break
            widths[gains.index(max(gains))] += 1
        return widths

    def height(self, room: int) -> int:
        widths = self.widths(room)
        return sum(
            max((len(wrap(t, w or 1)) for t, w in zip(row, widths, strict=True)), default=1) for row in self.rows
        )

    @property
    def list_height(self) -> int:
        return sum(len(row) + 1 for row in self.rows)

    def drawn(self, title: str, room: int) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        framed = self.border == 3
        table = RichTable(
            title=Text(escape_controls(title)) if title else None,
            title_justify="left",
            header_style="bold",
            box=box.HEAVY_HEAD if framed else box.SIMPLE_HEAD,
            show_edge=framed,
            padding=(0, 1) if framed else (0, 1, 0, 0),
        )
        for name, numeric, width in zip(self.names, self.numeric, self.widths(room), strict=True):
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold", width=width)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def as_list(self, title: str, room: int) -> Iterator[str]:
        """Yield each row as names and values, without unknown ones."""
        from rich.cells import cell_len

        yield escape_controls(title)
        side = max(map(cell_len, self.names), default=0) + 2
        for row in self.rows:
            yield ""
            for name, text in zip(self.names, row, strict=True):
                if text not in ("", "-"):
                    first, *rest = wrap(text, max(room - side, 20), break_on_hyphens=False)
                    yield name.ljust(side) + first
                    yield from (" " * side + more for more in rest)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | None) or bool(NUMBER.fullmatch(str(value)))


def cell(value: Any) -> str:
    """Format a value for a table; None is a dash."""
    if isinstance(value, bool | None):
        return "-" if value is None else "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def _csv_text(content: Csv) -> str:
    import csv
    import io

    from ostrom.data.tables import safe_rows

    rows = list(safe_rows(content.rows)) if content.safe else [dict(row) for row in content.rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
