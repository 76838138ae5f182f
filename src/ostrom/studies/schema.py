"""The schema of a study file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from ostrom.agents.policy import check_policy
from ostrom.analysis.questions import MOST, StudyQuestion
from ostrom.analysis.stopping import StopRule
from ostrom.ground.errors import StudyError
from ostrom.ground.validation import Declared
from ostrom.studies.extensions import sections

if TYPE_CHECKING:
    People = Any
else:
    People = sections.get("people")

NO_VERSUS = "seating 'versus' needs a model (or a person) and a script"
MOST_SEEDS = 1_000_000_000
"""The most seeds; match numbers are 64-bit integers."""


def _policy(value: str) -> str:
    try:
        check_policy(value)
    except StudyError as error:
        raise ValueError(str(error)) from None
    return value


Policy = Annotated[str, AfterValidator(_policy)]


class InvalidRule(Declared):
    """The policy for unreadable answers."""

    retries: int = Field(default=3, ge=0, le=100)
    policy: Policy = "fail"


class BudgetRule(Declared):
    """The limits of a run's total spending."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)


class ReportRule(Declared):
    """The panels of the report, by name."""

    panels: list[str | dict[str, Any]] = Field(default_factory=list)
    reference: str | None = Field(default=None, description="published figures to compare with, by name")


class StudyFile(Declared):
    """A study: a fixed part, factors, seeds, and policies for errors."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    title: str = ""
    about: str = ""
    citation: str = ""
    game: str | dict[str, Any]
    mechanism: str | dict[str, Any] = "none"
    agent: dict[str, Any] = Field(default_factory=dict, description="what all agents have in common")
    types: dict[str, dict[str, Any] | str] = Field(
        default_factory=dict, description="named agent types, each on top of 'agent'"
    )
    models: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="short names for models: each has 'model', and may have 'params' and 'settings'",
    )
    seats: dict[int, dict[str, Any]] = Field(
        default_factory=dict, description="what is different at single seats, numbered from 1"
    )
    variants: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict,
        description="further types for models that are named with --model: 'MODEL NAME', on top of 'agent'; "
        "'of' says for which (first, or a list; left out: all)",
    )
    seating: Literal["self", "ordered", "unordered", "seats", "versus"] = Field(
        default="self",
        description="self: every type meets itself; ordered: every tuple of types; unordered: every multiset; "
        "seats: one match, seat k is played by the k-th type; versus: every type that is no script in seat 1, "
        "against every script in all others",
    )
    observers: str | list[str] = Field(
        default="models",
        description="who watches where the mechanism asks for observers: models (all types that are no "
        "scripts), all, or a list of types; every seating is played once for each",
    )
    vary: dict[str, list[Any] | dict[str, Any]] = Field(default_factory=dict)
    only: list[dict[str, Any]] | None = Field(
        default=None, description="the combinations of levels that are played, as partial cells; left out: all of them"
    )
    seeds: int = Field(default=1, ge=1, le=MOST_SEEDS)
    seeds_shared: bool | None = Field(
        default=None,
        description="whether a seed fixes something that two cells share, so that the seed is the unit: written as "
        "seeds: {count: 8, shared: true}; left out: as the study shows (`ostrom show study`)",
    )
    seed: int = Field(default=0, ge=0, le=2**53)
    invalid: InvalidRule = Field(default_factory=InvalidRule)
    refused: Policy = Field(
        default="fail",
        description="what happens when a content filter or the model itself declines to answer: fail, "
        "skip-match, uniform or default:<action>; it is not asked again",
    )
    budget: BudgetRule = Field(default_factory=BudgetRule)
    report: ReportRule = Field(default_factory=ReportRule)
    answers: tuple[StudyQuestion, ...] = Field(
        default=(), max_length=MOST, description="the questions that the report answers first"
    )
    stop: StopRule | None = Field(
        default=None, description="a sequential design: seeds are played in looks until a criterion is met"
    )
    people: People | None = Field(default=None, description="people in the browser, see `ostrom serve`")

    @field_validator("vary", mode="before")
    @classmethod
    def _check_levels(cls, value: Any) -> Any:
        for name, levels in value.items() if isinstance(value, dict) else ():
            for level in levels if isinstance(levels, dict) else ():
                if not isinstance(level, str):
                    raise ValueError(f"{name}: the name of a level must be text; put it in quotes (found {level})")
        return value

    @model_validator(mode="after")
    def _no_people_in_looks(self) -> StudyFile:
        if self.stop is not None and self.people is not None:
            raise ValueError("stop is for studies without people: people come one by one, not in seeds")
        return self
