"""The summary of a run: cooperation by cell, with an interval over matches."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import partly_exact_mean
from ostrom.analysis.replicates import repeats_itself, twins
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
    """Whether no player draws anything, so that there is no sampling error."""
    distinct: int | None = None
    """The number of distinct matches, if some repeat others because nothing could differ."""

    @property
    def interval_text(self) -> str | None:
        """Return the interval as text; None for a single match."""
        both = None if self.low is None or self.high is None else f"{self.low:.3f} to {self.high:.3f}"
        return "exact" if both and self.exact else both

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            **self.factors,
            "agent": self.agent,
            "matches": self.matches,
            "cooperation": self.cooperation,
            "ci": None if self.low is None else [self.low, self.high],
            "exact": self.exact,
            "score": self.score,
            **({"distinct": self.distinct} if self.distinct is not None else {}),
        }


def summarise(rows: Rows) -> list[CellSummary]:
    """Cooperation and score of every cell and agent; a match is the unit of analysis."""
    exact, same = Determinism(rows.plan.unit), repeated_matches(rows)
    cells: dict[tuple[Any, ...], tuple[dict[str, Any], str, dict[int, list[tuple[Any, Any, Any]]]]] = {}
    for row in (row for row in rows.matches() if row["state"] == "done" and row["unit"] == "match"):
        factors = {name: row[name] for name in ("game", "mechanism")} | dict(rows.plan.unit(row["match"]).cell)
        key = (*factors.values(), row["agent"])
        _, _, by_match = cells.setdefault(key, (factors, row["agent"], {}))
        by_match.setdefault(row["match"], []).append((row["cooperation"], row["score"], row["opponents"]))
    return [_cell(factors, agent, matches, exact, same) for factors, agent, matches in cells.values()]


def repeated_matches(rows: Rows) -> dict[int, int]:
    """Map the matches that repeat another because nothing could differ to the first like them."""
    plan, fixed = rows.plan, dict[str, bool]()
    moves: dict[int, list[Any]] = {}
    for match in sorted({row["match"] for row in rows.matches() if row["state"] == "done" and row["unit"] == "match"}):
        unit = plan.unit(match)
        if unit.key not in fixed:
            fixed[unit.key] = repeats_itself(unit)
        if fixed[unit.key]:
            moves[match] = [(d["step"], d["player"], d["answer"], d["action"]) for d in rows.decisions(match)]
    return twins(plan.unit, {match: repr(of) for match, of in moves.items()}, {})


def _cell(
    factors: dict[str, Any],
    agent: str,
    matches: dict[int, list[tuple[Any, Any, Any]]],
    exact: Determinism,
    same: Mapping[int, int],
) -> CellSummary:
    """Summarise one cell; a match is weighted by the agent's seats, as in `ostrom estimate`."""
    cooperation = {m: _mean([row[0] for row in players]) for m, players in matches.items()}
    seats = {m: float(sum(row[0] is not None for row in players)) for m, players in matches.items()}
    scores = _mean([row[1] for players in matches.values() for row in players])
    levels = {m: value for m, value in cooperation.items() if value is not None}
    low = high = mean = None
    sure = [exact(m) for m in levels]
    distinct = len({same.get(m, m) for m in levels})
    if levels:
        inference = partly_exact_mean(
            list(levels.values()), sure, [seats[m] for m in levels],
            clusters=[same.get(m, m) for m in levels], strata=[matches[m][0][2] for m in levels], bounds=(0.0, 1.0),
        )  # fmt: skip
        mean = inference.value
        with suppress(ImportError):  # the core packages alone have no quantiles
            low, high = inference.reach(0.95) or (None, None)
            low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (low, high))
    return CellSummary(
        factors, agent, len(matches), mean, low, high, scores, bool(sure) and all(sure),
        distinct if distinct < len(levels) else None,
    )  # fmt: skip


def _mean(values: list[Any]) -> float | None:
    numbers = [v for v in values if v is not None]
    return sum(numbers) / len(numbers) if numbers else None
