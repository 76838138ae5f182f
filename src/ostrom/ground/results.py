"""Results of commands, for the terminal and for Python.

A command prints nothing. It returns an ``Output``: the document of ``--json``, what a person reads instead, and the
exit code. The frame of the command line prints it; ``ostrom.commands`` gives Python its document.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from ostrom.ground.terminal import plain_data
from ostrom.ground.values import flat

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 100
"""The most rows of a table in a notebook."""
LONGEST = 400
"""The longest cell, in characters."""


class Remark(str):
    """A line on stderr for a person; with ``--json`` it is left out."""


@dataclass(frozen=True)
class TextTable:
    """Rows under column names; fitted to the screen when printed."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]

    @classmethod
    def from_mappings(cls, title: str, rows: Sequence[Mapping[str, Any]]) -> "TextTable":
        """Build a table from mappings with the same keys, which name the columns.

        >>> TextTable.from_mappings("", [{"a": 1}, {"a": 2}]).rows
        [[1], [2]]
        """
        columns = list(rows[0]) if rows else ["name"]
        return cls(title, columns, [[row.get(name) for name in columns] for row in rows])


@dataclass(frozen=True)
class Csv:
    """Rows as CSV; ``safe`` escapes texts that a spreadsheet would run as formulas."""

    rows: Sequence[Mapping[str, Any]]
    safe: bool = False


TextItem = str | TextTable | Csv | Mapping[str, Any] | None
"""A line (on stderr if it is a Remark), a table, CSV, a record with a name and a value per line, or nothing."""


class RegistrationLabels(Protocol):
    """The registration labels of a result (``ostrom.analysis.registered.RegistrationStatus``)."""

    @property
    def document(self) -> dict[str, Any]:
        """Return the keys for JSON documents about these runs."""

    def text(self) -> Iterable[TextItem]:
        """Return the lines above the result."""


@dataclass(frozen=True)
class Output:
    """What a command returns: ``document`` for ``--json``, ``text`` for a person, ``messages`` on stderr in both cases.

    Without a text, the document is shown: a mapping as a record, a list of mappings as a table. ``text`` may be a
    generator, which runs only where a person reads it. ``standing`` adds the labels of registered runs to both.
    ``source`` and ``rows_key`` are those of the CommandResult that Python gets.
    """

    document: Any = None
    text: Iterable[TextItem] | None = None
    messages: Iterable[str | None] = ()
    code: int = 0
    standing: RegistrationLabels | None = None
    source: Any = None
    rows_key: str | None = None

    @property
    def labelled(self) -> Any:
        """Return the document with the labels of registered runs."""
        return self.document if self.standing is None else {**self.document, **self.standing.document}

    def items(self) -> Iterable[TextItem]:
        """Return the items for a person, in order."""
        if self.standing is not None:
            yield from self.standing.text()
        if self.text is not None:
            yield from self.text
        elif self.document is not None:
            yield self.document if isinstance(self.document, Mapping) else TextTable.from_mappings("", self.document)

    def for_python(self) -> Any:
        """The document as plain data; a mapping has its keys as attributes."""
        document = plain_data(self.labelled)
        return CommandResult(document, self.source, self.rows_key) if isinstance(document, dict) else document


class CommandResult(dict[str, Any]):
    """A document with its keys as attributes; ``source`` is the object that the command prints from.

    ``rows_key`` names the list that ``table`` shows; without it, the first list of rows.

    >>> CommandResult({"measure": "cooperation", "estimates": [{"value": 0.5}]}).estimates[0]["value"]
    0.5
    """

    source: Any
    rows_key: str | None

    def __init__(self, document: Mapping[str, Any], source: Any = None, rows_key: str | None = None) -> None:
        super().__init__(document)
        self.__dict__.update(source=source, rows_key=rows_key)

    @property
    def table(self) -> "pl.DataFrame":
        """Return the rows as a polars frame; nested mappings become columns with a dot in the name."""
        import polars as pl

        key = self.rows_key or next((key for key, value in self.items() if _is_rows(value)), "")
        return pl.DataFrame([dict(flat(row)) for row in self.get(key, ())], infer_schema_length=None, strict=False)

    def to_dict(self) -> dict[str, Any]:
        """The document that the command prints with ``--json``."""
        return dict(self)

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the result has no {name!r} (allowed: {', '.join(self)})")
        return self[name]

    def _repr_html_(self) -> str:
        return html_of(self)


class TableRows(list[dict[str, Any]]):
    """A list of rows that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html_table(self)


def html_of(document: Mapping[str, Any]) -> str:
    """Return HTML: one table of scalars, one of mappings, and one for every list of rows.

    >>> html_of({"likely": {"calls": 2}, "at_most": {"calls": 4}})
    '<table><tr><th></th><th>calls</th></tr><tr><td>likely</td><td>2</td></tr><tr><td>at_most</td><td>4</td></tr></table>'
    """
    tables = {key: value for key, value in document.items() if _is_rows(value)}
    mappings = [{"": key, **value} for key, value in document.items() if isinstance(value, Mapping) and value]
    facts = {key: value for key, value in document.items() if key not in {*tables, *(row[""] for row in mappings)}}
    rows = "".join(f"<tr><th>{escape(str(key))}</th><td>{_cell(value)}</td></tr>" for key, value in facts.items())
    parts = [f"<table>{rows}</table>"] if rows else []
    parts += [html_table(mappings)] if mappings else []
    parts += [f"<b>{escape(str(key))}</b>{html_table(value)}" for key, value in tables.items()]
    return "".join(parts)


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as an HTML table, escaped and truncated.

    >>> html_table([{"a": "<b>"}])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row.get(column))}</td>' for column in columns)}</tr>" for row in rows[:MOST_ROWS]
    )
    more = f"<p>and {len(rows) - MOST_ROWS:,} more rows</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}…").replace("\n", "<br>")
