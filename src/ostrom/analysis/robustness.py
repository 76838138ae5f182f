"""Robustness as a result: where the variance of an outcome comes from, and what holds in any wording.

The variance is decomposed over framings, other factors, agents, opponents, seats and drawn labels; the rest
is seeds and chance. A conclusion is the sign of a difference between two levels (two agents, two levels of a
factor); it survives if the sign is the same, and not zero, in every framing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.analysis.statistics import (
    StatisticsError,
    VarianceShares,
    cluster_bootstrap_difference,
    ends,
    variance_shares,
)
from ostrom.errors import UnknownName, UsageError
from ostrom.streams import Streams

OUTCOMES = ("cooperation", "score")
MOST_COLUMNS = 400
"""Interactions with more columns than this are left out: they would fit noise and take for ever."""
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The difference between two levels of a column, over all framings and in each of them."""

    within: Mapping[str, Any]
    """Where it is drawn: a level of every factor that is no framing."""
    contrast: str
    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    framings: int
    """How many framings both levels were observed in."""
    agreeing: int
    survives: bool | None
    """None where there are not two framings to survive."""
    exceptions: tuple[str, ...]
    """Framings in which the sign is another one, or zero."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        sign = ">" if self.difference > 0 else "<" if self.difference < 0 else "="
        if self.survives is None:
            return f"{self.first} {sign} {self.second} in the only framing"
        how = "in all" if self.survives else f"in {self.agreeing} of"
        return f"{self.first} {sign} {self.second} {how} {self.framings} framings"


@dataclass(frozen=True, slots=True)
class Robustness:
    """What an outcome depends on, and which conclusions survive."""

    outcome: str
    unit: str
    rows: int
    agents: tuple[str, ...]
    framings: tuple[str, ...]
    shares: VarianceShares | None
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "outcome": self.outcome,
            "unit": self.unit,
            "rows": self.rows,
            "agents": list(self.agents),
            "framings": list(self.framings),
            "shares": None if self.shares is None else self.shares.rows(),
            "conclusions": [c.as_dict() for c in self.conclusions],
            "notes": list(self.notes),
        }


def run_robustness(
    data: RunData,
    framings: Sequence[str],
    *,
    outcome: str = "cooperation",
    contrast: str = "agent",
    agents: Sequence[str] = (),
    factors: Sequence[str] | None = None,
) -> Robustness:
    """The robustness of a run; labels that were drawn per match count as a framing of their own."""
    matches = data.query("SELECT * FROM matches")
    named = list(data.factors if factors is None else factors)
    if "labels" not in named:
        drawn = data.query(
            "SELECT run, match, min(list_sort(options::VARCHAR[])::VARCHAR) AS labels FROM "
            "(SELECT run, match, from_json(options, '[\"VARCHAR\"]') AS options FROM decisions "
            "WHERE kind = 'act' AND options IS NOT NULL) GROUP BY run, match"
        )
        if drawn["labels"].n_unique() > 1:
            matches = matches.join(drawn, on=["run", "match"], how="left", maintain_order="left")
            if not matches["labels"].null_count():
                named, framings = [*named, "labels"], [*framings, "labels"]
    return robustness(matches, named, framings, outcome=outcome, contrast=contrast, agents=agents)


def robustness(
    matches: Any,
    factors: Sequence[str],
    framings: Sequence[str],
    *,
    outcome: str = "cooperation",
    contrast: str = "agent",
    agents: Sequence[str] = (),
) -> Robustness:
    """The same from a table of matches (polars): one row per player of a match is one observation.

    ``factors`` are all columns that were varied, ``framings`` those of them that only change the wording.
    Scripts do not read: where there are others, scripts are left out unless ``agents`` names them.
    """
    import polars as pl

    if outcome not in OUTCOMES:
        raise UsageError(f"--outcome {outcome!r} (allowed: {', '.join(OUTCOMES)})")
    for name in (*factors, *framings, contrast):
        if name not in matches.columns:
            raise UnknownName("column of matches", name, matches.columns)
    notes: list[str] = []
    rows = matches.filter(
        (pl.col("state") == "done") & (pl.col("unit") == "match") & pl.col("seat").is_not_null()
    )
    rows = rows.filter(pl.col(outcome).is_not_null())
    if agents:
        for name in agents:
            if name not in rows["agent"].to_list():
                raise UnknownName("agent", name, rows["agent"].unique().to_list())
        rows = rows.filter(pl.col("agent").is_in(list(agents)))
    elif rows["strategy"].null_count() and rows["strategy"].is_not_null().any():
        notes.append("scripted players are left out: they do not read (--agent names them)")
        rows = rows.filter(pl.col("strategy").is_null())
    if rows.height < 3:
        raise UsageError(f"there are {rows.height} players of finished matches with a {outcome}: too few")
    framing = [name for name in framings if rows[name].n_unique() > 1]
    shares = _shares(rows, outcome, [*factors, "agent", "opponents", "seat"], notes)
    conclusions = _conclusions(rows, outcome, contrast, factors, framing, notes)
    names = tuple(rows["agent"].unique(maintain_order=True).to_list())
    return Robustness(
        outcome, "player in a match", rows.height, names, tuple(framing), shares, conclusions, tuple(notes)
    )


def _shares(rows: Any, outcome: str, names: Sequence[str], notes: list[str]) -> VarianceShares | None:
    import polars as pl

    varied = [name for name in dict.fromkeys(names) if rows[name].n_unique() > 1]
    columns: dict[str, list[str]] = {}
    for name in varied:
        labels = rows[name].cast(pl.String).fill_null("none").to_list()
        twin = next((other for other, seen in columns.items() if _same_split(labels, seen)), None)
        if twin is not None:
            notes.append(f"{name} goes with {twin} from row to row: their shares cannot be told apart")
            continue
        columns[name] = labels
    if not columns:
        notes.append("nothing was varied: there is no variance to decompose")
        return None
    widths = [len(set(labels)) - 1 for labels in columns.values()]
    pairs = sum(a * b for a, b in combinations(widths, 2))
    if sum(widths) + pairs > MOST_COLUMNS:
        notes.append("interactions are left out: there are too many combinations of levels")
    try:
        return variance_shares(
            rows[outcome].to_list(),
            columns,
            unit="player in a match",
            interactions=sum(widths) + pairs <= MOST_COLUMNS,
            clusters=list(zip(rows["run"].to_list(), rows["match"].to_list(), strict=True)),
            rng=Streams(0, rows.height).at(0, 0, "robustness"),
        )
    except StatisticsError as error:
        notes.append(str(error))
        return None


def _same_split(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def _conclusions(
    rows: Any, outcome: str, contrast: str, factors: Sequence[str], framing: Sequence[str], notes: list[str]
) -> tuple[Conclusion, ...]:
    levels = rows[contrast].unique(maintain_order=True).to_list()
    if len(levels) < 2:
        notes.append(f"{contrast} has one level: there is nothing to compare")
        return ()
    wording = [name for name in framing if name != contrast]
    if not wording:
        notes.append("no framing was varied: nothing that a conclusion could survive")
    held = [n for n in factors if n not in framing and n != contrast and rows[n].n_unique() > 1]
    found = []
    groups = rows.partition_by(held, as_dict=True, maintain_order=True) if held else {(): rows}
    for key, group in groups.items():
        within = dict(zip(held, key, strict=True))
        for first, second in combinations(levels, 2):
            made = _conclusion(group, outcome, contrast, first, second, wording, within)
            if made is not None:
                found.append(made)
    return tuple(found)


def _conclusion(
    rows: Any,
    outcome: str,
    contrast: str,
    first: Any,
    second: Any,
    wording: Sequence[str],
    within: Mapping[str, Any],
) -> Conclusion | None:
    import polars as pl

    both = rows.filter(pl.col(contrast).is_in([first, second]))
    if both[contrast].n_unique() < 2:
        return None
    cells = both.group_by([*wording, contrast], maintain_order=True).agg(pl.col(outcome).mean())
    by_framing: dict[tuple[Any, ...], dict[Any, float]] = {}
    for row in cells.iter_rows(named=True):
        by_framing.setdefault(tuple(row[w] for w in wording), {})[row[contrast]] = row[outcome]
    gaps = {
        framing: means[first] - means[second]
        for framing, means in by_framing.items()
        if first in means and second in means
    }
    if not gaps:
        return None
    # Framings weigh the same, however many matches each has.
    difference = sum(gaps.values()) / len(gaps)
    against = [f for f, gap in gaps.items() if gap * difference <= 0]
    low, high = _interval(both, outcome, contrast, first, second)
    exceptions = tuple(
        ", ".join(f"{name} {value}" for name, value in zip(wording, f, strict=True)) or "all" for f in against
    )
    return Conclusion(
        within, contrast, str(first), str(second), difference, low, high, len(gaps), len(gaps) - len(against),
        not against if len(gaps) > 1 else None, exceptions,
    )  # fmt: skip


def _interval(
    rows: Any, outcome: str, contrast: str, first: Any, second: Any
) -> tuple[float | None, float | None]:
    try:
        drawn = cluster_bootstrap_difference(
            rows[outcome].to_list(),
            rows[contrast].to_list(),
            first=first,
            second=second,
            clusters=list(zip(rows["run"].to_list(), rows["match"].to_list(), strict=True)),
            unit="match",
            rng=Streams(0, rows.height).at(0, 0, "contrast"),
            resamples=RESAMPLES,
        )
    except StatisticsError:
        return None, None
    return ends(drawn.ci)
