"""What one check of the failure suite found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["held", "FAILED", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was tried, how often, whether it held, and what is worth knowing about it.

    >>> print(Finding("kills", "memory: same tables", 9, "held"))
    kills   held            9  memory: same tables
    """

    part: str
    check: str
    count: int
    verdict: Verdict
    note: str = ""

    def __str__(self) -> str:
        line = f"{self.part:<7} {self.verdict:<7} {self.count:>9,}  {self.check}"
        return f"{line} ({self.note})" if self.note else line

    def as_dict(self) -> dict[str, Any]:
        """Plain data for the results file."""
        return asdict(self)


def verdict(part: str, check: str, count: int, held: bool, note: str = "") -> Finding:
    """A finding that held or failed."""
    return Finding(part, check, count, "held" if held else "FAILED", note)
