"""Two runs side by side: the difference of a measure, a verdict on it, and what else differs between them.

A release check is quick to warn and slow to clear: *better* and *worse* rest on the classical interval (with Holm's
correction) and are *guaranteed* where the bounds, which hold for every distribution, agree; *equivalent* rests on the
bounds alone. Of a measure without declared bounds nothing is ever called equivalent.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ostrom.analysis.estimate import MODEL, Estimate, Query, contrast
from ostrom.analysis.statistics.samples import ROUNDING
from ostrom.analysis.units import Observation, Observations, observations, select
from ostrom.costs.seeds import SeedPrice
from ostrom.data.manifests import changes, models_of
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many

Answer = Literal["better", "worse", "equivalent", "undecided"]
MARGIN = 0.05


@dataclass(frozen=True)
class RunVerdict:
    """What a difference says: better, worse, equivalent within the margin, or undecided and what would decide."""

    answer: Answer
    low: float | None
    high: float | None
    """The interval or the bounds that it rests on."""
    approximate: bool
    """Whether no bound that holds for every distribution says so."""
    seeds: int | None = None
    """About how many seeds both runs need before it is decided, if they are like those played; None: not known."""
    price: SeedPrice | None = None
    """What the seeds that lack take; None where it is not known."""

    @property
    def words(self) -> str:
        """The verdict in one line."""
        if self.answer != "undecided":
            sure = self.answer in ("better", "worse") and not self.approximate
            return f"{self.answer}, guaranteed" if sure else self.answer
        label = self.answer
        if self.seeds is None:
            return f"{label}: not with this design"
        paid = "" if self.price is None else f" ({self.price.words} more)"
        return f"{label}: about {how_many(self.seeds, 'seed')} in both runs{paid} would decide"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.answer, "approximate": self.approximate, "verdict_low": self.low,
            "verdict_high": self.high, "seeds_to_decide": self.seeds,
            "price": None if self.price is None else self.price.as_dict(),
        }  # fmt: skip


@dataclass(frozen=True)
class TwoRuns:
    """The differences new minus old with their verdicts, and the keys in which the runs differ with both values."""

    new: str
    old: str
    measure: str
    differences: tuple[Estimate, ...]
    verdicts: tuple[RunVerdict, ...]
    changed: tuple[tuple[str, str, str], ...]
    margin: float = MARGIN
    level: float = 0.95

    @property
    def control(self) -> str:
        """What the level of the verdicts holds for, in words."""
        many = len(self.differences)
        told = "each verdict holds" if many == 1 else f"all {many} verdicts hold at once"
        return (
            f"{told} at {self.level:.4g}: better and worse by the interval (Holm's method), guaranteed where the "
            f"bounds agree; equivalent: the bounds lie within \u00b1{self.margin:g}, however often you look"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "new": self.new,
            "old": self.old,
            "measure": self.measure,
            "margin": self.margin,
            "control": self.control,
            "differences": [
                {**one.as_dict(), **verdict.as_dict()}
                for one, verdict in zip(self.differences, self.verdicts, strict=True)
            ],
            "changed": [{"key": key, "new": new, "old": old} for key, new, old in self.changed],
        }


def compare_runs(
    new: RunData,
    old: RunData,
    query: Query,
    level: float = 0.95,
    margin: float = MARGIN,
    *,
    lower_is_better: bool = False,
    price: Callable[[RunData], SeedPrice | None] = lambda run: None,  # noqa: ARG005
) -> TwoRuns:
    """The difference of a measure between two runs, for every combination of the columns ``by``.

    ``price`` of a seed of a run is asked where a verdict is undecided.
    """
    names = new.folder.name, old.folder.name
    if names[0] == names[1]:
        raise UsageError(f"both runs are called {names[0]}: rename one of the folders, so that tables tell them apart")
    values = _values((new, old), query)
    differences = contrast(values, query.part, "run", names, query.by, level=level)
    if not differences:
        raise UsageError(f"{query.part.name}: no match that is asked for has a value in both runs")
    each = 1 - (1 - level) / len(differences)
    verdicts = [_verdict(one, margin, level, each, lower_is_better) for one in differences]
    if any(one.answer == "undecided" for one in verdicts):
        prices = price(new), price(old)
        seeds = tuple(int(run.study.get("seeds") or 1) for run in (new, old))
        verdicts = [
            _with_price(verdict, one, margin, each, (seeds[0], seeds[1]), prices)
            for verdict, one in zip(verdicts, differences, strict=True)
        ]
    changed = tuple(changes(new.manifest, old.manifest))
    return TwoRuns(*names, query.part.name, tuple(differences), tuple(verdicts), changed, margin, level)


def _values(runs: Sequence[RunData], query: Query) -> Observations:
    """The values of both runs; the only model of a run is the same agent in both, whatever its name."""
    where = query.where.strip() if isinstance(query.where, str) else None
    found = observations(list(runs), query.part, where or None)
    models = {run.name: models_of(run.manifest) for run in runs}
    if all(len(of) == 1 for of in models.values()):
        found = replace(found, rows=tuple(_renamed(row, models[row["run"]][0]) for row in found.rows))
    if isinstance(query.where, str) or not query.where:
        return found
    wanted: Any = select(found, query.part, query.where)
    rows = tuple(row for row in found.rows if all(row[name] in levels for name, levels in wanted.items()))
    return replace(found, rows=rows)


def _renamed(row: Observation, model: str) -> Observation:
    columns = {
        name: value.replace(model, MODEL) if isinstance(value, str) and name != "run" else value
        for name, value in row.columns.items()
    }
    return replace(row, columns=columns)


def _verdict(one: Estimate, margin: float, level: float, each: float, lower_is_better: bool) -> RunVerdict:
    """``level`` is that of all verdicts together, ``each`` that of the bounds of one."""
    assert one.inference is not None
    bounds = one.inference.bounds(each)
    if bounds is not None and -margin <= bounds[0] + ROUNDING and bounds[1] - ROUNDING <= margin:
        return RunVerdict("equivalent", *bounds, False)
    sure = bounds is not None and (bounds[0] > ROUNDING or bounds[1] < -ROUNDING)
    if bounds is not None and sure:
        return RunVerdict("better" if (one.value > 0) != lower_is_better else "worse", *bounds, False)
    if one.p_holm is not None and one.p_holm < 1 - level and one.inference.decides:
        answer: Answer = "better" if (one.value > 0) != lower_is_better else "worse"
        return RunVerdict(answer, one.low, one.high, True)
    return RunVerdict("undecided", *(bounds or (one.low, one.high)), bounds is None)


def _with_price(
    verdict: RunVerdict,
    one: Estimate,
    margin: float,
    level: float,
    seeds: tuple[int, int],
    prices: tuple[SeedPrice | None, SeedPrice | None],
) -> RunVerdict:
    """An undecided verdict with the number of seeds that would decide it, and what those that lack take."""
    if verdict.answer != "undecided" or one.inference is None or one.inference.exact:
        return verdict
    multiple = one.inference.smallest_multiple(lambda ends: ends[0] > 0 or ends[1] < 0, level, 1000.0)
    if not one.inference.why_approximate:
        multiple = min(multiple, one.inference.likely_multiple_for(-margin, margin, level))
    if not math.isfinite(multiple):
        return verdict
    needed = max(math.ceil(multiple * min(seeds)), min(seeds) + 1)
    parts = [of.times(max(0, needed - own)) for of, own in zip(prices, seeds, strict=True) if of is not None]
    cost = parts[0].plus(parts[1]) if len(parts) == 2 else None
    return replace(verdict, seeds=needed, price=cost)
