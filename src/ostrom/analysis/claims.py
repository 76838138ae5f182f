"""Published figures as data: a replication's ``claims.yaml`` lists printed values and the estimates to compare.

::

    citation: Author (2026), A fifth paper
    about: Cooperation in the last round by game.
    columns: [game, measure]
    spread: none printed
    protocol: {mechanism.rounds: 10}
    published: {cell: [game, measure], model: model, value: value, source: table}    columns of reference.csv
    rows:                                               how rows are read; a text may hold the wildcard *
    - {if: {condition: base}, set: {condition: reasoning}}
    - {if: {measure: ratio}, doubt: "CONFLICT: the paper does not say how it is averaged"}
    study: fifth                                        whose factors a figure fixes, shows or names
    figures:
    - {cell: [$game, last_action], measure: last_action, by: [agent, game], where: {style: direct}, scale: 100}
    - {cell: [$game, change], measure: last_action, contrast: style=direct - reasoned, by: [agent, game],
       pools: [wording]}
    - {python: .figures:contests, by: [agent], where: {style: direct}, pools: [game]}
    remarks: [What a reader must know before comparing.]

``$game`` is the level of a column of ``by``, as ``names`` calls it. A figure in Python is a function of a run and its
games that gives own figures; it says what it shows, fixes and pools as the declared ones do (``ostrom.studies.pooled``
checks all of them). ``python: .figures:Fifth`` at the top names a subclass of ``DeclaredReference`` with rows of other
files and remarks on a run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from ostrom.analysis.estimate import Estimate, Query
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.references import (
    AGAINST,
    Games,
    Published,
    Reference,
    RunFigure,
    doubts_in,
    number,
    published_rows,
)
from ostrom.analysis.units import NoSuchLevel
from ostrom.data.rundata import RunData, quoted
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.registry import Registry, replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml

FILE = "claims.yaml"
Listed = Annotated[tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
"""A list of texts; a single text counts as a list of one."""


class PrintedColumns(BaseModel, extra="forbid", frozen=True):
    """The roles of the columns of ``reference.csv``; ``$People`` is a constant text for every row."""

    cell: tuple[str, ...]
    model: str | None = None
    value: str = "value"
    spread: str | None = None
    source: str = "source"
    status: str = "status"
    count: tuple[str, str] | None = None
    """The columns of the counts behind a share: successes and trials."""
    doubts: str | None = None
    """The column of notes, in which CONFLICT and SUSPICIOUS start a doubt."""


class RowRule(BaseModel, extra="forbid", frozen=True):
    """A rule for some rows of ``reference.csv``: values to set, or a doubt about the printed value."""

    when: dict[str, str] = Field(alias="if")
    set: dict[str, str] = {}
    doubt: str = ""

    def meets(self, row: Mapping[str, str]) -> bool:
        """Return whether the columns of a row match the patterns, in which * stands for any text."""
        return all(fnmatchcase(row.get(column, ""), wanted) for column, wanted in self.when.items())


class PaperQuery(Query):
    """A query of a paper to a run."""

    independent: Literal["", "match", "scenario", "person"] = Field(
        default="", description="what is independent, where it is not the unit of the measure"
    )

    @cached_property
    def measure_object(self) -> Measure:
        """Return the measure, with the independent unit that the query names."""
        part = measures.named(self.measure)
        return replace(part, unit=self.independent) if self.independent else part


class FigureClaim(BaseModel, extra="forbid", frozen=True):
    """Figures of a run: estimates of a measure, or the result of a function, each with its published cell."""

    cell: tuple[str, ...] = ()
    measure: str | dict[str, Any] | None = None
    python: str | None = None
    """A function of the package, ``.module:name``, or a method of the class that ``python`` names at the top of the
    file. It takes a run and its games and gives own figures."""
    study: Listed = ()
    """The studies whose runs provide the figure; by default those of the file."""
    by: tuple[str, ...] = ("agent",)
    where: dict[str, Any] = {}
    contrast: str = ""
    balance: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    """Factors of the study that the figure averages over."""
    independent: Literal["", "match", "scenario", "person"] = ""
    """The independent unit, where it differs from that of the measure."""
    names: dict[str, str] = {}
    """Levels with a different name in the paper."""
    scale: float = 1.0
    complement: bool = False
    """Whether the paper prints one minus the share."""
    count: bool = False
    """Whether the paper prints the counts behind a share: successes and matches."""

    @model_validator(mode="after")
    def _one_kind(self) -> "FigureClaim":
        if (self.measure is None) == (self.python is None):
            raise ValueError("needs either measure or python")
        if self.python is None and not self.cell:
            raise ValueError("needs cell: the published cell that it stands beside")
        return self

    @property
    def compared_columns(self) -> list[str]:
        """Return the factor whose levels are compared; empty without a contrast."""
        return [self.contrast.partition("=")[0].strip()] if self.contrast else []

    def run_figures(self, data: RunData) -> Iterator[RunFigure]:
        """Yield the figures of a run; none if it lacks a required column."""
        assert self.measure is not None
        part = measures.named(self.measure)
        if not {*self.by, *self.where, *self.compared_columns} <= {*data.columns("matches"), *part.columns}:
            return
        query = PaperQuery(
            measure=self.measure, where=self.where, contrast=self.contrast, balance=self.balance, by=self.by,
            independent=self.independent,
        )  # fmt: skip
        try:
            estimates = query.ask(data)
        except NoSuchLevel:  # the run has no matches of this figure
            return
        for one in estimates:
            run_figure = own_figure(
                [self._cell_label(one, part) for part in self.cell],
                one,
                self.scale,
                complement=self.complement,
                spread=None if self.contrast or self.count else one.sd,
            )
            if self.count and one.rows is not None:
                run_figure = replace(run_figure, matches=one.rows, count=f"{round(one.value * one.rows)}/{one.rows}")
            yield run_figure

    def _cell_label(self, one: Estimate, part: str) -> str:
        if not part.startswith("$"):
            return part
        level = str(one.key[part[1:]])
        return self.names.get(level, level)


class ClaimsFile(BaseModel, extra="forbid", frozen=True):
    """The content of a ``claims.yaml``."""

    citation: str
    about: str
    columns: tuple[str, ...]
    spread: str = "none printed"
    protocol: dict[str, Any] = {}
    arms: tuple[dict[str, Any], ...] = ()
    arms_differ_by: tuple[str, ...] = ()
    held: dict[str, Any] = {}
    published: PrintedColumns
    rows: tuple[RowRule, ...] = ()
    study: Listed = ()
    figures: tuple[FigureClaim, ...] = ()
    games: dict[str, str] = {}
    """The names of games in runs whose study calls them differently."""
    remarks: tuple[str, ...] = ()
    python: str | None = None


def own_figure(
    cell: Sequence[str],
    one: Estimate,
    scale: float = 1.0,
    *,
    complement: bool = False,
    spread: float | None = None,
    doubts: tuple[str, ...] = (),
) -> RunFigure:
    """Convert an estimate to a figure in the unit of the paper; without an agent in its key, agents are pooled."""

    def scaled(*ends: float | None) -> list[float | None]:
        """Return bounds of the estimate in the unit of the paper, in their original order."""
        return [None if end is None else scale * (1 - end if complement else end) for end in ends]

    turned = complement != (scale < 0)
    (value,), ends = scaled(one.value), scaled(one.low, one.high)
    low, high = ends[::-1] if turned else ends
    spread = None if spread is None else abs(spread * scale)
    assert value is not None
    sure = sorted(end for end in scaled(one.bound_low, one.bound_high) if end is not None)
    plain_figure = RunFigure(
        tuple(cell), one.key.get("agent"), value, low, high, spread, one.n, doubts,
        sure=(sure[0], sure[1]) if len(sure) == 2 else None, unit=one.unit,
    )  # fmt: skip
    if one.inference is None:
        return plain_figure
    error, parts = one.inference.spread(), one.inference.parts
    width = max((float(part.values.max() - part.values.min()) for part in parts if part.n > 1), default=0.0)
    alike = one.inference.exact or one.inference.alike or one.inference.problem.startswith("exact")
    se, df = (None, 0.0) if error is None else (abs(scale) * error[0], error[1])
    return replace(plain_figure, se=se, df=df, width=abs(scale) * width, alike=alike)


def _text(row: Mapping[str, str], column: str | None) -> str:
    """Return the text of a column, or the constant after ``$``."""
    return column[1:] if column and column.startswith("$") else row.get(column or "", "")


class DeclaredReference(Reference):
    """A reference declared in ``claims.yaml``; subclasses add figures and remarks in Python."""

    claims: ClassVar[ClaimsFile]
    functions: ClassVar[Mapping[str, Callable[[RunData, Games], Iterable[RunFigure]]]] = {}
    """Figures computed in Python, by their names in ``claims.yaml``."""

    def row(self, row: dict[str, str]) -> Mapping[str, str] | None:
        """Return a row of ``reference.csv`` after the file's rules; None if no run can be compared with it."""
        for rule in self.claims.rows:
            if rule.meets(row):
                row |= rule.set
        return row

    def doubts(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return the doubts about a printed number."""
        note = self.claims.published.doubts
        noted = () if note is None else doubts_in(row[note])
        return (*noted, *(rule.doubt for rule in self.claims.rows if rule.doubt and rule.meets(row)))

    def published(self) -> Sequence[Published]:
        """Return the published figures in ``reference.csv``."""
        columns = self.claims.published
        figures = []
        named = (columns.value, columns.source, columns.status, columns.spread, columns.doubts)
        needed = [*columns.cell, *(columns.count or ()), *(name for name in named if name and name[0] != "$")]
        for row in filter(None, map(self.row, (dict(row) for row in published_rows(self.name)))):
            for column in needed:
                if column not in row:
                    raise StudyError(
                        "lacks a column that claims.yaml needs",
                        file=f"{self.name}/reference.csv",
                        key=column,
                        allowed=row,
                    )
            if (value := number(row[columns.value])) is None:
                continue
            counts = [row[column] for column in columns.count or () if row[column]]
            figures.append(
                Published(
                    tuple(row[column] for column in columns.cell), _text(row, columns.model) or None, value,
                    number(row[columns.spread]) if columns.spread else None,
                    _text(row, columns.source), _text(row, columns.status), self.doubts(row),
                    count="/".join(counts) if len(counts) == 2 else row.get("count", ""),
                    digits=len(row[columns.value].partition(".")[2]),
                )
            )  # fmt: skip
        return figures

    def run_figures(self, data: RunData, games: Games) -> Sequence[RunFigure]:
        """Return the run's declared figures, then those computed in Python."""
        present = {row["game"] for row in data.records("SELECT DISTINCT game FROM matches")}
        figures: list[RunFigure] = []
        for declared in self.claims.figures:
            if declared.python is not None:
                figures += (self.functions.get(declared.python) or getattr(self, declared.python))(data, games)
            elif (claim := self._claim(declared, present)) is not None:
                figures += claim.run_figures(data)
        return figures

    def _claim(self, claim: FigureClaim, present: set[str]) -> FigureClaim | None:
        """Return a claim restricted to the games of a run; None if its game was not played."""
        game = claim.where.get("game")
        if game is None:
            return claim
        called = [name for name in (game, self.claims.games.get(game)) if name in present]
        return claim.model_copy(update={"where": {**claim.where, "game": called[0]}}) if called else None

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """The declared remarks."""
        return list(self.claims.remarks)


def declared_reference(name: str, package: str) -> type[Reference]:
    """Return the reference class that a replication's ``claims.yaml`` declares."""

    place = f"{name}/{FILE}"
    claims = validate(ClaimsFile, read_yaml(files(package).joinpath(FILE).read_text(encoding="utf-8"), place), place)
    base: type[DeclaredReference] = (
        DeclaredReference if claims.python is None else _imported(claims.python, package, "python", place)
    )
    named = {f"figures.{number}.python": one.python for number, one in enumerate(claims.figures) if one.python}
    functions = {one: _imported(one, package, key, place) for key, one in named.items() if ":" in one}
    for key, one in named.items():
        if ":" not in one and not hasattr(base, one):
            raise StudyError("is no method of the class that python names", key=key, file=place, actual=one)
    if hasattr(base, "more") and "more" not in named.values():
        raise StudyError(
            "computes figures (more) that no entry declares: add {python: more, by: ..., where: ..., pools: ...}",
            key="figures", file=place,
        )  # fmt: skip
    attributes = {
        "name": name, "citation": claims.citation, "columns": claims.columns, "spread": claims.spread,
        "protocol": claims.protocol, "arms": claims.arms, "arms_differ_by": claims.arms_differ_by,
        "held": claims.held, "claims": claims, "functions": functions, "__doc__": claims.about,
    }  # fmt: skip
    return type(base.__name__, (base,), attributes)


def _imported(name: str, package: str, key: str, file: str) -> Any:
    """Import an attribute of the package by ``.module:name``."""
    module, _, part = name.partition(":")
    try:
        return getattr(import_module(module, package), part)
    except (ImportError, AttributeError) as error:
        raise StudyError(f"cannot be loaded: {error}", key=key, file=file) from error


class ReferenceRegistry(Registry[Reference]):
    """The registry of references: classes in ``claims.py`` and declarations in ``claims.yaml``."""

    @cached_property
    def _files(self) -> dict[str, str]:
        paths = super()._files
        for name, package in replications().items():
            if files(package).joinpath(FILE).is_file():
                paths.setdefault(name, f"{package}/{FILE}")
        return paths

    def _loaded(self, name: str) -> Callable[..., Reference]:
        package, slash, _ = self._files.get(name, "").partition("/")
        return declared_reference(name, package) if slash else super()._loaded(name)


references: Registry[Reference] = ReferenceRegistry(
    "reference", None, "REFERENCE", "ostrom.references", module="claims"
)


def named_reference(data: RunData, reference: str | None = None) -> Reference:
    """Return the reference with this name; by default the study's ``report.reference``."""
    name = reference or (data.study.get("report") or {}).get("reference")
    if not name:
        raise UsageError(
            f"{data.folder}: the study names no published figures (report.reference); "
            f"choose some with --reference (known: {', '.join(references)})"
        )
    return references.build(name, key="report.reference")


def games_of(data: RunData) -> Games:
    """The games of a run: by match, and by their label in the tables."""
    by = ", ".join(["game", *(quoted(name) for name in data.factors if name != "game")])
    rows = data.records(f"SELECT game, min(match) AS match FROM matches GROUP BY {by} ORDER BY 2")
    labelled: dict[str, list[Game]] = {}
    for row in rows:
        game, same_label = data.unit(row["match"]).game, labelled.setdefault(str(row["game"]), [])
        if not any(game is other for other in same_label):
            same_label.append(game)
    return Games(lambda match: data.unit(match).game, labelled)


def mapping_of(
    published: Sequence[Published], own: Sequence[RunFigure], data: RunData, chosen: Sequence[str]
) -> dict[str, str]:
    """Map each agent to the published model that it is compared with."""
    agents = list(dict.fromkeys(figure.agent for figure in own if figure.agent is not None))
    models = list(dict.fromkeys(p.model for p in published if p.model is not None))
    # Agents of an imported run are the paper's models if they have their names.
    own_names = agents if data.manifest.get("imported") else ()
    mapping = {a: a for a in own_names if a in models} | read_mapping(chosen, agents, models)
    for pair in (agent for agent in agents if AGAINST in agent):
        first, _, second = pair.partition(AGAINST)
        if first in mapping and second in mapping and pair not in models:
            mapping[pair] = f"{mapping[first]}{AGAINST}{mapping[second]}"
    return mapping


def read_mapping(chosen: Sequence[str], agents: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Parse which published model each agent is compared with: ``Model`` for all, ``agent=Model`` for one.

    >>> read_mapping(["Mistral-7B", "b=GPT-4"], ["a", "b"], ["Mistral-7B", "GPT-4"])
    {'a': 'Mistral-7B', 'b': 'GPT-4'}
    """
    mapping: dict[str, str] = {}
    for text in sorted(chosen, key=lambda text: "=" in text):
        # Names of models and agents may contain an equals sign; the longest known agent wins.
        agent, _, model = text.rpartition("=")
        if not models:
            raise UsageError(f"--as {text}: the source prints no figures of single models; leave --as out")
        if model not in models:
            raise UnknownName("published model", model, models)
        if not agent:
            mapping |= dict.fromkeys(agents, model)
        elif agents and agent not in agents:
            raise UnknownName("agent", agent, agents)
        else:
            mapping[agent] = model
    return mapping
