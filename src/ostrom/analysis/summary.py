"""The first answer of a run: cooperation by cell, with an interval over matches."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.intervals import exactly, mean_of
from ostrom.engine.rows import Rows


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell and agent: means over matches, with an interval over matches."""

    factors: Mapping[str, Any]
    agent: str
    matches: int
    cooperation: float | None
    low: float | None
    high: float | None
    score: float | None
    exact: bool = False
    """Whether no player of its matches draws anything, so that there is no sampling error."""

    @property
    def interval_text(self) -> str | None:
        """The interval as text; one match has none."""
        if self.low is None or self.high is None:
            return None
        return "exact" if self.exact else f"{self.low:.3f} to {self.high:.3f}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.factors,
            "agent": self.agent,
            "matches": self.matches,
            "cooperation": self.cooperation,
            "ci": None if self.low is None else [self.low, self.high],
            "exact": self.exact,
            "score": self.score,
        }


def summarise(rows: Rows) -> list[CellSummary]:
    """Cooperation and score of every cell and agent; a match is the unit of analysis."""
    exact = Determinism(rows.plan.unit)
    cells: dict[tuple[Any, ...], tuple[dict[str, Any], str, dict[int, list[tuple[Any, Any]]]]] = {}
    for row in rows.matches():
        if row["state"] != "done" or row["unit"] != "match":
            continue
        factors = {name: row[name] for name in ("game", "mechanism")} | dict(
            rows.plan.unit(row["match"]).cell
        )
        key = (*factors.values(), row["agent"])
        _, _, by_match = cells.setdefault(key, (factors, row["agent"], {}))
        by_match.setdefault(row["match"], []).append((row["cooperation"], row["score"]))
    return [
        _cell(factors, agent, matches, all(map(exact, matches))) for factors, agent, matches in cells.values()
    ]


def _cell(
    factors: dict[str, Any], agent: str, matches: dict[int, list[tuple[Any, Any]]], exact: bool
) -> CellSummary:
    cooperation = [_mean([c for c, _ in players]) for players in matches.values()]
    scores = [_mean([s for _, s in players]) for players in matches.values()]
    known = [c for c in cooperation if c is not None]
    low = high = None
    if known:
        made = mean_of(known, bounds=(0.0, 1.0), unit="match")
        with suppress(ImportError):  # the core packages alone have no quantiles
            limits = (exactly(made.value) if exact else made).limits()
            low, high = limits.low, limits.high
    return CellSummary(factors, agent, len(matches), _mean(cooperation), low, high, _mean(scores), exact)


def _mean(values: list[Any]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None
