"""What is played and claimed to replicate a paper: ``replicate.yaml`` of a replication, checked.

::

    title: The Memory Curse
    parts:                       the studies, the most important first: a budget that is too small leaves out the last
    - {name: sweep, title: The sweep over history lengths, study: memory, least: 3, most: 3,
       presets: {small: {preset: small, least: 3, most: 10}, smoke: {preset: smoke}}}
    claims:                      three to six, for the first screen; a question as in a file of gates
    - claim: Longer histories lower cooperation
      run: sweep                 the part of the battery that answers it
      measure: memory_cooperation
      over: history_length
      where: {agent: "{model}", style: reasoned}
      expect: below              what the paper says: below, above or equal to threshold (0)
      smallest: 0.02             an effect smaller than this counts as none
    margins: {cooperation_rate: 5}     how far a figure of this measure may lie from the printed one and still agree
    spread: {kind: sd, n: 3}     what the printed spread is, and of how many values
    picture: {exhibit: Appendix Table 1, x: history, facet: game}
    released: {fifth-rounds: {study: lending, agents: {model_a: GPT-4}}}      imports that are the paper's own data
"""

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostrom.analysis.estimate import Query
from ostrom.analysis.published import PublishedPick
from ostrom.costs.battery import StudyPart
from ostrom.ground.errors import UnknownName
from ostrom.ground.registry import replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml

FILE = "replicate.yaml"
DECLARED = ConfigDict(extra="forbid", frozen=True)


class PaperClaim(Query):
    """A claim of the paper as a question to a run, and the answer that the paper gives."""

    claim: str = Field(min_length=1, max_length=200)
    mean_over_agents: bool = True  # its condition says which agents it is about
    run: str
    expect: Literal["below", "above", "equal"]
    threshold: float = Field(default=0.0, allow_inf_nan=False)
    smallest: float = Field(gt=0, allow_inf_nan=False)
    published: PublishedPick | None = None
    about: tuple[str, ...] = Field(default=(), description="the paper's models that it speaks of; all by default")
    scale: float = Field(default=1.0, allow_inf_nan=False, description="to the unit in which it is written")
    unit: str = ""
    note: str = ""


class PrintedSpread(BaseModel):
    """What stands after the ± of the paper."""

    model_config = DECLARED

    kind: Literal["sd", "se"]
    n: int = Field(ge=1)

    def error(self, spread: float) -> float:
        """The standard error of the printed mean."""
        return spread / self.n**0.5 if self.kind == "sd" else spread


class Picture(BaseModel):
    """The figure of the first screen: the printed figures of an exhibit in grey, ours in colour."""

    model_config = DECLARED

    exhibit: str
    x: str
    facet: str | None = None
    where: dict[str, str | list[str]] = Field(default_factory=dict)
    axis: str = ""
    percent: bool = False


class Released(BaseModel):
    """What an import of released data is: a run of which study, by which of the paper's models."""

    model_config = DECLARED

    study: str
    agents: dict[str, str] = Field(default_factory=dict)
    levels: dict[str, str] = Field(default_factory=dict, description="levels of a claim, with their names in the data")
    measure: str | None = Field(
        default=None, description="what claims are judged by where the data lack the actions; all in one unit"
    )
    published: dict[str, str] = Field(
        default_factory=dict, description="columns of the printed figures of that measure"
    )


class PaperPlan(BaseModel):
    """A whole ``replicate.yaml``."""

    model_config = DECLARED

    title: str
    about: str = ""
    parts: tuple[StudyPart, ...] = Field(min_length=1, max_length=100)
    claims: tuple[PaperClaim, ...] = Field(min_length=1, max_length=6)
    margins: dict[str, float] = Field(default_factory=dict)
    spread: PrintedSpread | None = None
    picture: Picture | None = None
    released: dict[str, Released] = Field(default_factory=dict, description="by the mapping of the import")

    @model_validator(mode="after")
    def _complete(self) -> "PaperPlan":
        names = [part.name for part in self.parts]
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
        return {part.name: part.study for part in self.parts}


def papers() -> dict[str, str]:
    """The replications that can be played as a whole: the name of the command line and that of the folder.

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
    known = papers()
    name = known.get(paper.replace("_", "-"))
    if name is None:
        raise UnknownName("paper", paper, known)
    place = f"{name}/{FILE}"
    text = files(replications()[name]).joinpath(FILE).read_text(encoding="utf-8")
    return name, validate(PaperPlan, read_yaml(text, place), place)
