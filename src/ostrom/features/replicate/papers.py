"""The declaration of a paper's replication (``replicate.yaml``): what is played and claimed.

::

    title: The Memory Curse
    parts:                       the studies, the most important first: a budget that is too small leaves out the last
    - {name: sweep, title: The sweep over history lengths, study: memory, least: 3, most: 3,
       presets: {small: {preset: small, least: 3, most: 10}, smoke: {preset: smoke}}}
    claims:                      a question as in a file of gates, and the answer that the paper gives
    - claim: Longer histories lower cooperation
      run: sweep                 the part of the battery that answers it
      measure: memory_cooperation
      over: history_length       (a direction: contrast or over; a level: neither)
      where: {agent: "{model}", style: reasoned}
      expect: below              below, above, equal, not above, not below the threshold (0)
      smallest: 0.02             an effect smaller than this counts as none,
      source: Section 4.1: half of its smallest difference     and why
      pools: [game]              factors of the study that it averages over
    - claim: Contracting is most effective
      order: {factor: mechanism, first: [contracting], then: [none, repetition]}    every pair is a direction
      ...
    - claim: 18 of 28 pairs decay
      over: history_length
      by: [game]                 every group is judged as a direction; those that agree are counted
      count: {number: 18, of: 28}   and the printed share must lie in the interval of ours
      ...
    not_judged:
    - {claim: An adapter transfers, why: It needs a training.}
    margins:                     how far a figure may lie from the printed one and still agree: the first that fits
    - {margin: 5, measures: [cooperation_rate], where: {game: trust_game}, source: 5 points of a share}
    spread: {kind: sd, n: 3}     what the printed spread is, and of how many values
    picture: {exhibit: Appendix Table 1, x: history, facet: game}
    released: {fifth-rounds: {study: lending, agents: {model_a: GPT-4}}}      imports that are the paper's own data
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from typing import Literal

from pydantic import Field, model_validator

from ostrom.analysis.claims import PaperQuery
from ostrom.analysis.estimate import MODEL
from ostrom.analysis.published import PublishedCells
from ostrom.costs.battery import StudyPart
from ostrom.ground.errors import UnknownName
from ostrom.ground.registry import replications
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import read_yaml
from ostrom.studies.pooled import check_figure, check_replication

FILE = "replicate.yaml"


class Order(Declared):
    """An order of a factor's levels: the difference of every pair must be above zero."""

    factor: str
    first: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    chain: tuple[str, ...] = Field(default=(), description="each level comes before the next")

    @model_validator(mode="after")
    def _some(self) -> "Order":
        if bool(self.chain) == bool(self.first and self.then) or len(self.chain) == 1:
            raise ValueError("needs either first and then, or a chain of two levels or more")
        return self

    @property
    def pairs(self) -> list[str]:
        """Return the contrast of every pair of the order."""
        return [
            f"{self.factor}={one} - {other}" for one, other in [*product(self.first, self.then), *pairwise(self.chain)]
        ]


class PrintedCount(Declared):
    """A printed count: how many of the paper's groups agree with the claim."""

    number: int = Field(ge=0)
    of: int = Field(ge=1)


class PaperClaim(PaperQuery):
    """A claim of the paper: a query to a run, and the paper's answer."""

    claim: str = Field(min_length=1, max_length=200)
    mean_over_agents: bool = True  # the condition names the agents
    run: str
    expect: Literal["below", "above", "equal", "not above", "not below"]
    threshold: float = Field(default=0.0, allow_inf_nan=False)
    smallest: float = Field(gt=0, allow_inf_nan=False)
    source: str = Field(min_length=1, description="where the smallest effect that matters comes from")
    order: Order | None = None
    count: PrintedCount | None = None
    pools: tuple[str, ...] = Field(default=(), description="factors of the study that it averages over")
    published: PublishedCells | None = None
    size: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="what the paper's words say of it where it prints no figure; note says how",
    )
    about: tuple[str, ...] = Field(default=(), description="the paper's models that it speaks of; all by default")
    later: bool = Field(default=False, description="stated in a later version of the paper than the one replicated")
    scale: float = Field(default=1.0, allow_inf_nan=False, description="to the unit in which it is written")
    unit: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _one_shape(self) -> "PaperClaim":
        if self.order is not None and (self.contrast or self.over or self.expect != "above"):
            raise ValueError("order: leave contrast and over out, and expect above")
        if self.count is not None and not self.by:
            raise ValueError("count: needs by, the columns whose levels are counted")
        if self.size is not None and (self.published is not None or not self.note):
            raise ValueError("size: leave published out, and say in note where it comes from")
        return self

    @property
    def questions(self) -> list["PaperClaim"]:
        """Return the queries that must all hold: one for each pair of an order, otherwise the claim itself."""
        pairs = () if self.order is None else self.order.pairs
        return [self.model_copy(update={"order": None, "contrast": pair}) for pair in pairs] or [self]

    @property
    def kind(self) -> str:
        """Level, direction, order, count or equivalence."""
        if self.order is not None or self.count is not None:
            return "order" if self.count is None else "count"
        if self.expect == "equal":
            return "equivalence"
        return "direction" if self.contrast or self.over else "level"

    @property
    def names_model(self) -> bool:
        """Return whether the claim is judged for each model."""
        return any(MODEL in text for text in (self.contrast, str(self.where)))

    @property
    def shown(self) -> list[str]:
        """Return the columns that the claim separates or balances."""
        compared = [self.pair[0]] if self.contrast else [] if self.order is None else [self.order.factor]
        return [*self.by, *compared, *([self.over] if self.over else ()), *self.balance]


class NotJudged(Declared):
    """A claim that a run of a model cannot decide."""

    claim: str
    why: str


class Margin(Declared):
    """How far a figure may differ from the printed one and still agree."""

    margin: float = Field(gt=0, allow_inf_nan=False)
    measures: tuple[str, ...] = Field(min_length=1)
    where: dict[str, str | list[str]] = Field(default_factory=dict)
    source: str = Field(min_length=1)
    percent: bool = Field(default=False, description="whether the figures are shares in per cent")

    def covers(self, cell: Mapping[str, str], measure: str) -> bool:
        """Return whether this margin applies to a printed cell."""
        return measure in self.measures and all(
            cell[name] in (wanted if isinstance(wanted, list) else [wanted]) for name, wanted in self.where.items()
        )


class PrintedSpread(Declared):
    """The meaning of the number after ± in the paper."""

    kind: Literal["sd", "se"]
    n: int = Field(ge=1)

    def error(self, spread: float) -> float:
        """The standard error of the printed mean."""
        return spread / self.n**0.5 if self.kind == "sd" else spread


class Picture(Declared):
    """The chart of the first screen: an exhibit's printed figures in grey, the run's in colour."""

    exhibit: str
    x: str
    facet: str | None = None
    where: dict[str, str | list[str]] = Field(default_factory=dict)
    axis: str = ""
    percent: bool = False


class Released(Declared):
    """How imported released data correspond to a study and models of the paper."""

    study: str
    agents: dict[str, str] = Field(default_factory=dict)
    levels: dict[str, str] = Field(default_factory=dict, description="levels of a claim, with their names in the data")
    measures: dict[str, str] = Field(
        default_factory=dict, description="measures of claims that the data cannot give, with those that stand for them"
    )
    unknown: tuple[str, ...] = Field(default=(), description="columns of claims that the data do not record")
    published: dict[str, str] = Field(
        default_factory=dict, description="columns of the printed figures of those measures"
    )


class PaperPlan(Declared):
    """The content of a ``replicate.yaml``."""

    title: str
    about: str = ""
    parts: tuple[StudyPart, ...] = Field(min_length=1, max_length=100)
    further: dict[str, str] = Field(
        default_factory=dict, description="studies of claims that only runs at hand can answer, by a name"
    )
    claims: tuple[PaperClaim, ...] = Field(min_length=1, max_length=100)
    not_judged: tuple[NotJudged, ...] = ()
    margins: tuple[Margin, ...] = ()
    spread: PrintedSpread | None = None
    picture: Picture | None = None
    released: dict[str, Released] = Field(default_factory=dict, description="by the mapping of the import")

    @model_validator(mode="after")
    def _complete(self) -> "PaperPlan":
        names = [*(part.name for part in self.parts), *self.further]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two parts have the name {name!r}")
        for claim in self.claims:
            if claim.run not in names:
                raise ValueError(f"claim {claim.claim!r}: unknown part {claim.run!r} (allowed: {', '.join(names)})")
        return self

    @property
    def studies(self) -> dict[str, str]:
        """The study of every part."""
        return {part.name: part.study for part in self.parts} | self.further

    def with_seeds(self, seeds: int) -> "PaperPlan":
        """Return the plan with this number of seeds in every part, whatever the preset."""
        many = {"least": seeds, "most": seeds}
        parts = tuple(
            part.model_copy(
                update={
                    **many, "presets": {name: how.model_copy(update=many) for name, how in part.presets.items()}
                }
            )
            for part in self.parts
        )  # fmt: skip
        return self.model_copy(update={"parts": parts})

    def margin(self, columns: Sequence[str], cell: Sequence[str]) -> float | None:
        """Return the margin of a printed cell; None if none is declared."""
        named = dict(zip(columns, cell, strict=True))
        return next((one.margin for one in self.margins if one.covers(named, cell[-1])), None)


def papers() -> dict[str, str]:
    """Return the replications that `ostrom replicate` can play: command-line name to folder name.

    >>> papers()["memory-curse"]
    'memory_curse'
    """
    return {
        name.replace("_", "-"): name
        for name, package in replications().items()
        if files(package).joinpath(FILE).is_file()
    }


@cache
def paper_plan(paper: str) -> tuple[str, PaperPlan]:
    """The replication of this name, with dashes or underscores, and its plan."""
    all_papers = papers()
    name = all_papers.get(paper.replace("_", "-"))
    if name is None:
        raise UnknownName("paper", paper, all_papers)
    place = f"{name}/{FILE}"
    plan = validate(
        PaperPlan, read_yaml(files(replications()[name]).joinpath(FILE).read_text(encoding="utf-8"), place), place
    )
    check_replication(name)
    for number, claim in enumerate(plan.claims):
        check_figure([plan.studies[claim.run]], claim.where, claim.shown, claim.pools, place, f"claims.{number}")
    return name, plan
