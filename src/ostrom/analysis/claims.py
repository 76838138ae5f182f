"""Claims as data: ``claims.yaml`` of a replication says what a paper printed and which estimates stand beside it.

::

    citation: Author (2026), A fifth paper
    about: Cooperation in the last round by game.
    columns: [game, measure]
    spread: none printed
    protocol: {mechanism.rounds: 10}
    published: {cell: [game, measure], model: model, value: value, source: table}    columns of reference.csv
    figures:
    - {cell: [$game, last_action], measure: last_action, by: [agent, game], where: {style: direct}, scale: 100}
    remarks: [What a reader must know before comparing.]

``$game`` is the level of a column of ``by``. ``python: .figures:Fifth`` names a subclass of ``DeclaredReference`` that
adds what cannot be said: figures that are no estimate of a measure, rows that need another reading, remarks on a run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.references import AGAINST, Games, Own, Published, Reference, doubts_in, number, published_rows
from ostrom.data.rundata import RunData, quoted
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.registry import Registry, replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml

FILE = "claims.yaml"


class PrintedColumns(BaseModel):
    """Which columns of ``reference.csv`` hold what; ``$People`` is the same for every row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell: tuple[str, ...]
    model: str | None = None
    value: str = "value"
    spread: str | None = None
    source: str = "source"
    status: str = "status"
    doubts: str | None = None
    """A note whose words CONFLICT and SUSPICIOUS begin a doubt."""


class FigureClaim(BaseModel):
    """Figures of a run: the estimates of a measure, and the published cell of each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell: tuple[str, ...]
    measure: str | dict[str, Any]
    by: tuple[str, ...] = ("agent",)
    where: dict[str, Any] = {}
    balance: tuple[str, ...] = ()
    scale: float = 1.0
    complement: bool = False
    """The paper prints the share of the opposite."""

    def own(self, data: RunData) -> Iterator[Own]:
        """The figures that a run gives."""
        for one in estimate(data, self.measure, self.by, where=self.where, balance=self.balance):
            cell = tuple(self._level(one, part) for part in self.cell)
            yield own_figure(cell, one, self.scale, complement=self.complement)

    @staticmethod
    def _level(one: Estimate, part: str) -> str:
        return str(one.key[part[1:]]) if part.startswith("$") else part


class ClaimsFile(BaseModel):
    """A whole ``claims.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    citation: str
    about: str
    columns: tuple[str, ...]
    spread: str = "none printed"
    protocol: dict[str, Any] = {}
    arms: tuple[dict[str, Any], ...] = ()
    arms_differ_by: tuple[str, ...] = ()
    held: dict[str, Any] = {}
    published: PrintedColumns
    figures: tuple[FigureClaim, ...] = ()
    games: dict[str, str] = {}
    """What a game of ``where`` is called in runs whose study names it otherwise."""
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
) -> Own:
    """An estimate as an own figure, in the unit of the paper; all agents are pooled where the key names none."""

    def scaled(*ends: float | None) -> list[float | None]:
        """Numbers of the estimate in the unit of the paper, the ends of an interval in their order."""
        return [None if end is None else scale * (1 - end if complement else end) for end in ends]

    turned = complement != (scale < 0)
    (value,), ends = scaled(one.value), scaled(one.low, one.high)
    low, high = ends[::-1] if turned else ends
    spread = None if spread is None else abs(spread * scale)
    assert value is not None
    sure = sorted(end for end in scaled(one.bound_low, one.bound_high) if end is not None)
    known = Own(
        tuple(cell), one.key.get("agent"), value, low, high, spread, one.n, doubts,
        sure=(sure[0], sure[1]) if len(sure) == 2 else None, unit=one.unit,
    )  # fmt: skip
    if one.inference is None:
        return known
    error, parts = one.inference.spread(), one.inference.parts
    width = max((float(part.values.max() - part.values.min()) for part in parts if part.n > 1), default=0.0)
    alike = one.inference.exact or one.inference.alike or one.inference.problem.startswith("exact")
    se, df = (None, 0.0) if error is None else (abs(scale) * error[0], error[1])
    return replace(known, se=se, df=df, width=abs(scale) * width, alike=alike)


class DeclaredReference(Reference):
    """A reference that ``claims.yaml`` declares; subclasses add figures and remarks that need Python."""

    claims: ClassVar[ClaimsFile]

    def row(self, row: dict[str, str]) -> Mapping[str, str] | None:
        """A row of ``reference.csv``, adapted to the columns; None if no run can be compared with it."""
        return row

    def doubts(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Why a printed number cannot be taken at face value."""
        note = self.claims.published.doubts
        return () if note is None else doubts_in(row[note])

    def published(self) -> Sequence[Published]:
        """The rows of ``reference.csv``."""
        columns = self.claims.published
        figures = []
        needed = (*columns.cell, columns.value, columns.source, columns.status, columns.spread, columns.doubts)
        for row in map(self.row, (dict(row) for row in published_rows(self.name))):
            if row is None:
                continue
            for column in needed:
                if column is not None and column not in row:
                    where = f"{self.name}/reference.csv"
                    raise StudyError("lacks a column that claims.yaml needs", file=where, key=column, allowed=row)
            if (value := number(row[columns.value])) is None:
                continue
            named = columns.model or ""
            model = named[1:] if named.startswith("$") else row.get(named) or None
            figures.append(
                Published(
                    tuple(row[column] for column in columns.cell), model, value,
                    number(row[columns.spread]) if columns.spread else None,
                    row[columns.source], row[columns.status], self.doubts(row), count=row.get("count", ""),
                    digits=len(row[columns.value].partition(".")[2]),
                )
            )  # fmt: skip
        return figures

    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """The declared figures of the run, then the others."""
        present = {row["game"] for row in data.records("SELECT DISTINCT game FROM matches")}
        figures = [of for claim in self.claims.figures if (of := self._claim(claim, present)) is not None]
        return [*(own for claim in figures for own in claim.own(data)), *self.more(data, games)]

    def _claim(self, claim: FigureClaim, present: set[str]) -> FigureClaim | None:
        """A claim about the games of a run; None where its game was not played."""
        game = claim.where.get("game")
        if game is None:
            return claim
        called = [name for name in (game, self.claims.games.get(game)) if name in present]
        return claim.model_copy(update={"where": {**claim.where, "game": called[0]}}) if called else None

    def more(self, data: RunData, games: Games) -> Iterable[Own]:  # noqa: ARG002
        """The figures that cannot be declared."""
        return ()

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """The declared remarks."""
        return list(self.claims.remarks)


def declared_reference(name: str, package: str) -> type[Reference]:
    """The reference that the ``claims.yaml`` of a replication declares."""

    place = f"{name}/{FILE}"
    text = files(package).joinpath(FILE).read_text(encoding="utf-8")
    claims = validate(ClaimsFile, read_yaml(text, place), place)
    base: type[DeclaredReference] = DeclaredReference
    if claims.python is not None:
        module, _, part = claims.python.partition(":")
        try:
            base = getattr(import_module(module, package), part)
        except (ImportError, AttributeError) as error:
            raise StudyError(f"cannot be loaded: {error}", key="python", file=place) from error
    shown = {
        "name": name, "citation": claims.citation, "columns": claims.columns, "spread": claims.spread,
        "protocol": claims.protocol, "arms": claims.arms, "arms_differ_by": claims.arms_differ_by,
        "held": claims.held, "claims": claims, "__doc__": claims.about,
    }  # fmt: skip
    return type(base.__name__, (base,), shown)


class ReferenceRegistry(Registry[Reference]):
    """References in Python (``claims.py``) and those that a replication declares in ``claims.yaml``."""

    @cached_property
    def _files(self) -> dict[str, str]:
        known = super()._files
        for name, package in replications().items():
            if files(package).joinpath(FILE).is_file():
                known.setdefault(name, f"{package}/{FILE}")
        return known

    def _loaded(self, name: str) -> Callable[..., Reference]:
        package, slash, _ = self._files.get(name, "").partition("/")
        return declared_reference(name, package) if slash else super()._loaded(name)


references: Registry[Reference] = ReferenceRegistry(
    "reference", None, "REFERENCE", "ostrom.references", module="claims"
)


def named_reference(data: RunData, reference: str | None = None) -> Reference:
    """The reference with this name; by default the one that the study names in ``report.reference``."""
    name = reference or (data.study.get("report") or {}).get("reference")
    if not name:
        raise UsageError(
            f"{data.folder}: the study names no published figures (report.reference); "
            f"choose some with --reference (known: {', '.join(references)})"
        )
    return references.build(name, key="report.reference")


def games_of(data: RunData) -> Games:
    """The games that were played."""
    by = ", ".join(["game", *(quoted(name) for name in data.factors if name != "game")])
    rows = data.records(f"SELECT game, min(match) AS match FROM matches GROUP BY {by} ORDER BY 2")
    labelled: dict[str, list[Game]] = {}
    for row in rows:
        game, known = data.unit(row["match"]).game, labelled.setdefault(str(row["game"]), [])
        if not any(game is other for other in known):
            known.append(game)
    return Games(lambda match: data.unit(match).game, labelled)


def mapping_of(
    published: Sequence[Published], own: Sequence[Own], data: RunData, chosen: Sequence[str]
) -> dict[str, str]:
    """The published model beside which each agent stands."""
    agents = list(dict.fromkeys(figure.agent for figure in own if figure.agent is not None))
    models = list(dict.fromkeys(p.model for p in published if p.model is not None))
    # The players of an imported run are the paper's own where they go by its names.
    own_names = agents if data.manifest.get("imported") else ()
    mapping = {a: a for a in own_names if a in models} | read_mapping(chosen, agents, models)
    for pair in (agent for agent in agents if AGAINST in agent):
        first, _, second = pair.partition(AGAINST)
        if first in mapping and second in mapping and pair not in models:
            mapping[pair] = f"{mapping[first]}{AGAINST}{mapping[second]}"
    return mapping


def read_mapping(chosen: Sequence[str], agents: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Which published model each agent is compared with: ``Model`` for all agents, ``agent=Model`` for one.

    >>> read_mapping(["Mistral-7B", "b=GPT-4"], ["a", "b"], ["Mistral-7B", "GPT-4"])
    {'a': 'Mistral-7B', 'b': 'GPT-4'}
    """
    mapping: dict[str, str] = {}
    for text in sorted(chosen, key=lambda text: "=" in text):
        # A model's name may itself hold an equals sign, an agent's too; the longest known agent wins.
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
