"""Sequential designs: when to stop adding seeds, for real and simulated runs.

A rule looks at the declared contrast after some seeds and stops where its interval is narrow enough, or where the JZS
Bayes factor (Rouder et al. 2009) is large enough for either hypothesis. The interval of a look has bounds that hold for
every distribution and any number of looks (``ostrom.analysis.intervals.betting``); of a measure without declared
bounds it is that of `ostrom estimate`, which ignores the other looks, and is called approximate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field, model_validator

from ostrom.analysis.estimate import Query
from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain

FILE = "looks.json"
VERSION = 2
"""The version of the rules for looks: 2 since 2.0, which has different bounds."""
MET = "the criterion is met"
LAST = "the largest number of seeds is reached"
MOST_LOOKS = 1000
SAME = 1e-9


class StopRule(Query):
    """A study's ``stop``: a contrast, a criterion, and the least and most seeds."""

    width: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="of the interval, at most")
    bayes_factor: float | None = Field(
        default=None, gt=1, allow_inf_nan=False, description="for or against a difference, at least"
    )
    at_least: int = Field(default=5, ge=2, le=1_000_000, description="seeds before the first look")
    at_most: int = Field(ge=2, le=1_000_000)
    every: int = Field(default=5, ge=1, le=1_000_000, description="seeds between looks")
    level: float = Field(default=0.95, ge=0.5, lt=1)
    mean_over_agents: bool = Field(default=True, description="a rule has one contrast: of all its agents together")

    @model_validator(mode="after")
    def _check_complete(self) -> StopRule:
        if not self.contrast:
            raise ValueError("a stopping rule needs a contrast, FACTOR=A-B")
        if self.by or self.balance or "*" in self.contrast or not self.mean_over_agents:
            raise ValueError("a stopping rule has one contrast, over all its agents: without by, balance and *")
        if (self.width is None) == (self.bayes_factor is None):
            raise ValueError("a stopping rule needs exactly one of width and bayes_factor")
        if self.at_least > self.at_most:
            raise ValueError(f"at_least must not be more than at_most (found {self.at_least} and {self.at_most})")
        if (self.at_most - self.at_least) // self.every > MOST_LOOKS:
            raise ValueError(f"makes more than {MOST_LOOKS} looks: raise every")
        return self

    @property
    def looks(self) -> list[int]:
        """Return the numbers of seeds at which to look."""
        return [*range(self.at_least, self.at_most, self.every), self.at_most]

    @property
    def rule(self) -> str:
        """The criterion in words."""
        return (
            f"Bayes factor at least {self.bayes_factor:g} for or against a difference"
            if self.width is None
            else f"interval at most {self.width:g} wide ({self.level:.4g})"
        )


@dataclass(frozen=True)
class Look:
    """The result of one look."""

    seeds: int
    n: int
    value: float | None
    """The difference; None while a level has no value."""
    low: float | None
    high: float | None
    criterion: float | None
    """The width, or the Bayes factor of a difference; None before it exists."""
    stop: bool
    why: str
    method: str = ""
    """The interval's method; empty in looks recorded before guaranteed bounds existed."""
    version: int = VERSION
    """The version of the rules of the look; a record without one is of 1.0 or earlier."""

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return asdict(self)

    def same(self, other: Look) -> bool:
        """Return whether two looks agree up to rounding."""
        # Intervals of another version followed other rules, so they are not compared.
        names = [one.name for one in fields(Look)] if self.version == other.version else ["seeds", "value"]
        return all(_agree(getattr(self, name), getattr(other, name)) for name in names)


def _agree(one: Any, two: Any) -> bool:
    """Return whether two values are equal up to rounding; infinite ones agree with each other."""
    numbers = isinstance(one, float) and isinstance(two, float)
    return not abs(one - two) > SAME * max(1.0, abs(one), abs(two)) if numbers else bool(one == two)


def decide(rule: StopRule, sides: Any, seeds: int) -> Look:
    """Return the look at both sides of the contrast (a ``UnitFigure``) after this many seeds."""
    from ostrom.analysis.statistics.means import jzs_paired, jzs_two_sample
    from ostrom.analysis.statistics.samples import StatisticsError

    inference = sides.inference()
    interval = inference.guaranteed(rule.level)
    if interval.low is None:
        interval = inference.limits(rule.level)
    criterion, met = None, False
    if rule.width is not None:
        if interval.low is not None and interval.high is not None:
            criterion = interval.high - interval.low
            met = criterion <= rule.width + SAME
    else:
        test = jzs_paired if sides.paired else jzs_two_sample
        first, second = sides.pairs() if sides.paired else (side.values for _, side in sides.sides)
        try:
            criterion = test(first, second, unit=sides.unit).bf10
        except StatisticsError:
            criterion = None  # all differences are equal: there is no Bayes factor yet
        if criterion is not None:
            factor = rule.bayes_factor or 1.0
            met = criterion >= factor * (1 - SAME) or criterion <= (1 + SAME) / factor
    last = seeds >= rule.at_most
    why = MET if met else LAST if last else ""
    return Look(
        seeds, sides.n, interval.value, interval.low, interval.high, criterion, met or last, why, interval.method
    )


def blind(rule: StopRule, seeds: int) -> Look:
    """Return an empty look: no match so far has a value at one of the levels."""
    last = seeds >= rule.at_most
    return Look(seeds, 0, None, None, None, None, last, LAST if last else "", "none")


def first_seeds(measured: Any, first: int, seeds: int) -> Any:
    """Return the observations of the first seeds of a run."""
    return replace(measured, rows=tuple(row for row in measured.rows if row["seed"] < first + seeds))


def read_looks(folder: Path) -> list[Look]:
    """Return the recorded looks; empty before the first."""
    path = folder / FILE
    try:
        rows = orjson.loads(read_plain(path))
        names = [field.name for field in fields(Look)]
        return [Look(**{name: ({"method": "", "version": 1} | row)[name] for name in names}) for row in rows]
    except FileNotFoundError:
        return []
    except (orjson.JSONDecodeError, OSError, AttributeError, TypeError, KeyError):
        raise RunError(f"{path}: cannot be read (remove it: the looks are taken again from the matches)") from None


def stopping(study: Mapping[str, Any], folder: Path) -> str:
    """Describe the rule of a sequential run and where it stopped; empty for other runs."""
    if not study.get("stop"):
        return ""
    rule = StopRule.model_validate(study["stop"])
    looks = read_looks(folder)
    sentence = (
        f"Sequential design: {rule.words}, {rule.rule}, {rule.at_least} to {rule.at_most} seeds, looked every "
        f"{rule.every}."
    )
    if not looks:
        return f"{sentence} No look was taken yet."
    last = looks[-1]
    ended = f"stopped after {last.seeds} seeds, because {last.why}" if last.stop else f"{last.seeds} seeds so far"
    return (
        f"{sentence} {len(looks)} {'look' if len(looks) == 1 else 'looks'}, {ended}. Only the intervals of the looks "
        "(looks.json) know of the looks: `ostrom power` with this study shows what looking costs."
    )
