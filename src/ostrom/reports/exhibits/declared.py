"""Declarations of a paper's exhibits: a replication's ``exhibits.yaml``, one entry per table, figure or claim.

exhibits:
  - name: Appendix Table 1              as printed; published figures of this source stand in it
    title: Cooperation by history length
    study: memory                       the study (or studies) whose run gives ours
    rows: [game, model]                 columns of the reference, and model
    columns: [history]
    where: {condition: reasoning, measure: cooperation_rate}
    labels: {prisoners_dilemma: Prisoner's Dilemma}
    digits: 1
  - name: Figure 2
    title: Cooperation curves
    study: memory
    panels: [{chart: curve, measure: memory_cooperation, x: history_length, facet: game, colour: agent, bands: sd}]
    needs: {agent_style: reasoned}     columns of the matches that a run must have for the panels to be drawn
    pools: [wording]                    factors of the study that its panels neither fix nor show, and average over
    fixes: {style: reasoned}            of panels in Python: what they fix,
    shows: [game, history_length]       and what they keep apart
  - name: Appendix Table 15
    title: General benchmarks
    without: the harness is not part of Ostrom
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from ostrom.analysis.references import Reference
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.registry import replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.reports.declared import panel_of

FILE = "exhibits.yaml"
MODEL = "model"
"""The table column for the paper's model, or the run's agent."""


class Exhibit(BaseModel, extra="forbid", frozen=True):
    """One table, figure or claim of a paper."""

    name: str = Field(min_length=1, max_length=120)
    title: str
    study: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    """The sources of the published figures; by default the name of the exhibit."""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    where: dict[str, str | list[str]] = {}
    labels: dict[str, str] = {}
    """Labels of levels that the paper names differently."""
    digits: int = Field(default=1, ge=0, le=6)
    best: Literal["highest", "lowest"] | None = None
    """Whether the best model of every cell is marked, among the paper's and the run's."""
    panels: tuple[str | dict[str, Any], ...] = ()
    fixes: dict[str, str | list[str]] = {}
    """Levels of factors that its panels are restricted to, if a panel does not say so."""
    shows: tuple[str, ...] = ()
    """Factors that its panels separate, if a panel does not say so."""
    pools: tuple[str, ...] = ()
    """Factors that its panels average over."""
    needs: dict[str, str | list[str]] = {}
    """Columns and values that some match of a run must have for this exhibit."""
    note: str = ""
    """The difference from the paper, in a sentence."""
    without: str = ""
    """The reason why a run cannot provide it."""

    @field_validator("study", "source", "rows", "columns", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("where", "needs", "fixes", mode="before")
    @classmethod
    def _texts(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {k: [str(one) for one in v] if isinstance(v, list) else str(v) for k, v in value.items()}

    @model_validator(mode="after")
    def _complete(self) -> Exhibit:
        drawn = self.rows or self.panels
        conditions = (
            (bool(self.rows) != bool(self.columns), "a table needs both rows and columns"),
            (
                not (drawn or self.without),
                "needs rows and columns (a table), panels (a figure), or without (the reason why not)",
            ),
            (
                self.rows and (self.rows + self.columns).count(MODEL) != 1,
                f"{MODEL} must stand once among rows and columns",
            ),
            (drawn and not (self.study or self.without), "needs study: whose run gives ours"),
        )
        if reasons := [why for applies, why in conditions if applies]:
            raise ValueError(reasons[0])
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        """Where its published figures are printed."""
        return self.source or (self.name,)


class Exhibits(BaseModel, extra="forbid", frozen=True):
    """All exhibits, in the order of the paper."""

    exhibits: tuple[Exhibit, ...]


@cache
def exhibits_of(replication: str) -> tuple[Exhibit, ...]:
    """Return the exhibits that a replication declares; empty if none.

    >>> exhibits_of("memory_curse")[0].name
    'Figure 1'
    """
    packages = replications()
    if replication not in packages:
        raise UnknownName("replication", replication, packages)
    path = files(packages[replication]).joinpath(FILE)
    if not path.is_file():
        return ()
    place = f"{replication}/{FILE}"
    exhibits = validate(Exhibits, read_yaml(path.read_text(encoding="utf-8"), place), place).exhibits
    names = [one.name for one in exhibits]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{place}: the exhibit {repeated[0]!r} is declared twice")
    return exhibits


def check_exhibits(exhibits: tuple[Exhibit, ...], reference: Reference, place: str) -> None:
    """Refuse columns that the reference lacks, and panels that cannot be built."""
    allowed = (*reference.columns, MODEL)
    for one in exhibits:
        for column in (*one.rows, *one.columns, *one.where):
            if column not in allowed:
                raise UsageError(f"{place}: {one.name}: unknown column {column!r} (allowed: {', '.join(allowed)})")
        for panel in one.panels:
            panel_of(panel, key=f"{one.name}.panels", file=place)
