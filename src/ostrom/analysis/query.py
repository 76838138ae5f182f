"""A question to a run as files state it: a measure, which matches, and whether a level, a difference or a slope.

Gates, batteries, stopping rules and `ostrom estimate` ask the same way, so they get the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from ostrom.analysis.estimate import Estimate
    from ostrom.analysis.measure import Measure
    from ostrom.analysis.units import Observations, Runs, Where
    from ostrom.data.rundata import RunData

MODEL = "{model}"
"""Stands for the name of the model in the conditions of a question."""
Level = str | int | float | bool | None


class Query(BaseModel):
    """What is asked of a run; without ``contrast`` and ``over`` the mean.

    >>> Query(measure="cooperation", contrast="k=80-2").pair
    ('k', '80-2')
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str | dict[str, Any]
    where: str | dict[str, Level | list[Level]] = Field(
        default_factory=dict, description="columns with the level (or levels) they must have, or SQL"
    )
    contrast: str = Field(default="", description="the difference between two levels: FACTOR=A-B")
    over: str = Field(default="", description="the slope over a column of numbers")
    log: bool | Literal["1+x"] = Field(
        default=False, description="with over: per unit of ln x, or of ln(1 + x)"
    )
    balance: tuple[str, ...] = Field(default=(), description="columns whose levels count the same")
    by: tuple[str, ...] = Field(default=(), description="columns whose levels are asked one by one")

    @model_validator(mode="after")
    def _one_kind(self) -> Query:
        kinds = [name for name in ("contrast", "over", "balance") if getattr(self, name)]
        if len(kinds) > 1:
            raise ValueError(f"{' and '.join(kinds)} exclude each other")
        if self.log and not self.over:
            raise ValueError("log needs over")
        if self.contrast and not all(part.strip() for part in self.contrast.partition("=")):
            raise ValueError(f"contrast must be FACTOR=A-B (found {self.contrast!r})")
        return self

    @property
    def pair(self) -> tuple[str, str]:
        """The factor and the levels of the contrast."""
        factor, _, levels = self.contrast.partition("=")
        return factor.strip(), levels.strip()

    @cached_property
    def part(self) -> Measure:
        """The measure itself."""
        from ostrom.analysis.measure import measures

        return measures.named(self.measure)

    def of(self, model: str) -> Query:
        """The question for one model, whose name takes the place of ``{model}`` in conditions and contrast."""
        where = self.where
        if isinstance(where, Mapping):
            where = {column: _named(level, model) for column, level in where.items()}
        kept = {name: getattr(self, name) for name in Query.model_fields}
        return Query(**{**kept, "where": where, "contrast": _named(self.contrast, model)})

    @property
    def words(self) -> str:
        """The question without its conditions: ``cooperation, k: 80 - 2``."""
        name = self.part.name
        if self.contrast:
            return f"{name}, {self.pair[0]}: {self.pair[1]}"
        if self.over:
            x = f"ln(1 + {self.over})" if self.log == "1+x" else f"ln {self.over}" if self.log else self.over
            return f"{name}, slope over {x}"
        return name

    @property
    def matches(self) -> str:
        """The conditions in words; empty where all matches are asked."""
        if isinstance(self.where, str):
            return self.where.strip()
        return ", ".join(f"{column} {_listed(wanted)}" for column, wanted in self.where.items())

    def condition(self, data: Runs | Observations) -> Where:
        """The condition with the values that the tables hold."""
        from ostrom.analysis.units import chosen

        return chosen(data, self.part, self.where)

    def ask(self, data: Runs | Observations, level: float = 0.95) -> list[Estimate]:
        """The estimates that answer it, one for every combination of the columns ``by``."""
        from ostrom.analysis.estimate import contrast, estimate, trend

        picked = self.condition(data)
        if self.contrast:
            return contrast(data, self.part, *self.pair, self.by, where=picked, level=level)
        if self.over:
            return trend(data, self.part, self.over, self.by, log=self.log, where=picked, level=level)
        return estimate(data, self.part, self.by, where=picked, balance=self.balance, level=level)

    def levels(self, data: RunData) -> set[float] | None:
        """The levels that a slope is taken over; None where none is."""
        from ostrom.analysis.units import observations

        if not self.over:
            return None
        rows = observations(data, self.part, self.condition(data)).rows
        return {float(row[self.over]) for row in rows if row[self.over] is not None}


def _named(level: Any, model: str) -> Any:
    if isinstance(level, list):
        return [_named(one, model) for one in level]
    return level.replace(MODEL, model) if isinstance(level, str) else level


def _listed(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


def key_words(key: Mapping[str, Any]) -> str:
    """Which group an estimate is of: ``game: stag_hunt, k: 80 - 2``."""
    return ", ".join(f"{name}: {value}" for name, value in key.items() if name != "over")
