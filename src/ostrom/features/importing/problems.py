"""Rows that contradict the game or cannot be read: what is wrong with each, and the same causes together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

POLICIES = ("refuse", "skip", "skip-match", "keep", "repair")
DONE = {
    "refuse": "refused",
    "skip": "left out with its round",
    "skip-match": "left out with its match",
    "keep": "kept as written",
    "repair": "repaired",
}
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One bad cell, or one bad match (``kind`` is match): where it stands, and what is wrong."""

    file: str
    line: int
    column: str
    round: int
    found: float | str | None
    expected: float | None
    why: str
    cause: str
    """What is wrong without where: bad rows of one cause are reported together."""
    kind: str
    """payoff | total | answer | number | action | match | length | file"""
    done: str = "refuse"
    """What happened to it: one of the policies."""
    unit: str = "line"
    note: str = ""
    """What a repair changed, or what was taken for an action that the file does not hold."""

    def __str__(self) -> str:
        if self.kind == "file":
            return f"{self.file}: {self.why}"
        column = f", column {self.column}" if self.column else ""
        return f"{self.file}: {self.unit} {self.line}{column}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cause:
    """All bad rows that are wrong in the same way."""

    cause: str
    kind: str
    done: str
    rows: tuple[Disagreement, ...]

    def __str__(self) -> str:
        if len(self.rows) == 1:
            return str(self.rows[0])
        return f"{self.cause}: {len(self.rows)} {self.what} ({self.where})"

    @property
    def what(self) -> str:
        """What is counted."""
        return {"match": "matches", "length": "matches", "file": "files"}.get(self.kind, "rows")

    @property
    def where(self) -> str:
        """The first places, by file."""
        if self.kind == "file":
            more = ", ..." if len(self.rows) > SHOWN else ""
            return ", ".join(row.file for row in self.rows[:SHOWN]) + more
        files: dict[str, list[Disagreement]] = {}
        for row in self.rows:
            files.setdefault(row.file, []).append(row)
        texts = []
        for file, rows in list(files.items())[:SHOWN]:
            numbers = ", ".join(str(row.line) for row in rows[:SHOWN])
            more = ", ..." if len(rows) > SHOWN else ""
            texts.append(f"{Path(file).name} {rows[0].unit}{'s' if len(rows) > 1 else ''} {numbers}{more}")
        return "; ".join(texts) + (f"; and {len(files) - SHOWN} more files" if len(files) > SHOWN else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "cause": self.cause,
            "kind": self.kind,
            "rows": len(self.rows),
            "done": self.done,
            "where": self.where,
            "notes": list(dict.fromkeys(row.note for row in self.rows if row.note)),
        }


def by_cause(rows: Iterable[Disagreement]) -> list[Cause]:
    """Bad rows of one cause together, the most frequent first."""
    groups: dict[tuple[str, str, str], list[Disagreement]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.cause, row.done), []).append(row)
    found = [Cause(cause, kind, done, tuple(of)) for (kind, cause, done), of in groups.items()]
    return sorted(found, key=lambda cause: -len(cause.rows))
