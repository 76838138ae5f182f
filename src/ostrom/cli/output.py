"""How commands print: JSON alone on stdout, tables for people, messages on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ostrom.ground.terminal import console, say, visible, write
from ostrom.ground.terminal import write_json as print_json

if TYPE_CHECKING:
    from ostrom.analysis.registered import RegisteredRun, Standing

__all__ = [
    "cell", "print_answer", "print_csv", "print_json", "print_record", "print_standing", "print_table", "say", "write",
]  # fmt: skip


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout; numbers are aligned to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(visible(title)) if title else None, title_justify="left", header_style="bold")
    lines = [list(row) for row in rows]
    for i, name in enumerate(columns):
        numeric = bool(lines) and all(isinstance(line[i], int | float | None) for line in lines)
        table.add_column(Text(visible(name)), justify="right" if numeric else "left", overflow="fold")
    for line in lines:
        table.add_row(*(Text(visible(cell(value))) for value in line))
    screen = console()
    if not screen.is_terminal:
        screen = console(width=160)
    screen.print(table)


def print_standing(standing: Standing) -> None:
    """The registered contrasts of runs and how they deviate, then what the answer below is; nothing for other runs."""
    for one in standing.bound:
        print_registered(one)
    if standing.bound:
        write(f"what follows is {standing.label}:")


def print_answer(
    document: dict[str, Any], standing: Standing, show: Callable[[], None], *, json: bool
) -> None:
    """An answer about runs as JSON or as ``show`` prints it, with what it says of their registrations."""
    document.update(standing.document)
    if json:
        print_json(document)
    else:
        print_standing(standing)
        show()


def print_registered(one: RegisteredRun) -> None:
    """The registered tests of a run, and every deviation."""
    print_table(
        f"{one.run}: registered contrasts",
        ["role", "statement", "verdict", "difference", "equivalence", "note"],
        [
            [
                of.role,
                of.contrast.words,
                of.verdict,
                of.value or None,
                of.equivalence or None,
                of.note or None,
            ]
            for of in one.results
        ],
    )
    for line in one.lines:
        write(line)


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
    """Print a record: one name and its value per line."""
    width = max((len(k) for k in record), default=0)
    for key, value in record.items():
        write(f"{key:<{width}}  {cell(value)}")


def print_csv(rows: Sequence[Mapping[str, Any]], *, safe: bool = False) -> None:
    """Print rows as CSV to stdout; ``safe`` escapes texts that a spreadsheet would run as formulas."""
    import csv
    import io

    from ostrom.data.tables import safe_rows

    made = list(safe_rows(rows)) if safe else [dict(row) for row in rows]
    columns = list(dict.fromkeys(name for row in made for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(made)
    write(text.getvalue(), end="")
