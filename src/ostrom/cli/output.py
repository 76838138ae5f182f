"""How commands print: JSON alone on stdout, tables for people, messages on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson


def print_json(data: Any) -> None:
    """JSON, indented, alone on stdout."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    sys.stdout.write(orjson.dumps(data, option=options, default=str).decode() + "\n")


def say(text: str) -> None:
    """A message for a person, on stderr."""
    print(text, file=sys.stderr)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout; numbers are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold")
    lines = [list(row) for row in rows]
    for i, name in enumerate(columns):
        numeric = bool(lines) and all(isinstance(line[i], int | float | None) for line in lines)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for line in lines:
        table.add_row(*(cell(value) for value in line))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table)


def cell(value: Any) -> str:
    """One value as a table shows it; nothing known is a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def print_record(record: Mapping[str, Any]) -> None:
    """Names and values, one a line."""
    width = max((len(k) for k in record), default=0)
    for key, value in record.items():
        print(f"{key:<{width}}  {cell(value)}")
