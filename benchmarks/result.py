"""What a benchmark reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """One measured number, what it is measured against, and the aim, if there is one."""

    group: str
    name: str
    value: float | None
    unit: str
    against: str = ""
    ratio: float | None = None
    aim: str = ""
    met: bool | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)
