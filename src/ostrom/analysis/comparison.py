"""Comparison of a run with published figures: cells that both have, with differences and doubts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from ostrom.analysis.claims import games_of, mapping_of, named_reference
from ostrom.analysis.references import POLICY_DOUBT, Cell, Games, Published, Reference, RunFigure
from ostrom.analysis.statistics import overlap, without_rounding
from ostrom.data.rundata import RunData


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a run next to published ones.

    With a chosen model there is one ``value``; without, ``low`` and ``high`` are the range of all models. The
    difference is own minus published.
    """

    cell: Cell
    own: RunFigure
    model: str | None
    value: float | None
    spread: float | None
    low: float | None
    high: float | None
    models: int
    """The number of published figures in the line."""
    doubted: int
    """The number of models with a doubtful figure."""
    status: str
    source: str
    doubts: tuple[str, ...] = ()
    figures: tuple[Published, ...] = field(default=())

    @property
    def difference(self) -> float | None:
        """Return own minus published; for a range, the distance to it (0 inside)."""
        if self.value is not None:
            return without_rounding(self.own.value - self.value, max(abs(self.own.value), abs(self.value)))
        if self.low is None or self.high is None:
            return None
        return without_rounding(
            max(self.own.value - self.high, 0.0) + min(self.own.value - self.low, 0.0),
            max(abs(self.low), abs(self.high)),
        )

    @property
    def agrees(self) -> bool | None:
        """Return whether the own interval contains the published value or overlaps the range; None without one."""
        low, high = (self.low, self.high) if self.value is None else (self.value, self.value)
        if low is None or high is None or self.own.low is None or self.own.high is None:
            return None
        return overlap((self.own.low, self.own.high), (low, high))

    def as_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        own = self.own
        return {
            **{name: text or None for name, text in zip(columns, self.cell, strict=True)},
            "agent": own.agent,
            "own": own.value,
            **({"own_word": own.word} if own.word else {}),
            "own_ci": None if own.low is None else [own.low, own.high],
            "own_spread": own.spread,
            "own_matches": own.matches,
            "own_doubts": list(own.doubts),
            "published_model": self.model,
            "published": self.value,
            "published_spread": self.spread,
            "published_range": None if self.low is None else [self.low, self.high],
            "published_models": self.models,
            "published_in_doubt": self.doubted,
            "difference": self.difference,
            "agrees": self.agrees,
            "status": self.status,
            "doubts": list(self.doubts),
            "source": self.source,
            "figures": [
                {"model": p.model, "value": p.value, "spread": p.spread, "status": p.status,
                 "doubts": list(p.doubts), "source": p.source, **({"word": p.word} if p.word else {})}
                for p in self.figures
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """All lines of a comparison, with notes."""

    reference: Reference
    lines: tuple[Line, ...]
    remarks: tuple[str, ...]
    unmatched: int
    """The number of own figures without a cell in the paper."""

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "reference": self.reference.name,
            "citation": self.reference.citation,
            "published_spread_is": self.reference.spread,
            "cells": [line.as_dict(self.reference.columns) for line in self.lines],
            "own_figures_without_published_cell": self.unmatched,
            "remarks": list(self.remarks),
        }


def compare_run(data: RunData, chosen: Sequence[str] = (), reference: str | None = None) -> Comparison:
    """Compare a run with the figures that its study refers to, or with those of another reference."""
    return compare(named_reference(data, reference), data, games_of(data), chosen)


def compare(reference: Reference, data: RunData, games: Games, chosen: Sequence[str] = ()) -> Comparison:
    """Put own and published figures side by side; ``chosen`` says which model each agent is compared with."""
    of_arms = reference.of_arms(data)
    printed, own = list(reference.published()), list(reference.run_figures(of_arms, games))
    published, mapping = _by_cell(printed), mapping_of(printed, own, data, chosen)
    beside = [_beside(figure, published.get(figure.cell, []), mapping) for figure in own]
    lines = tuple(line for of in beside for line in of)
    remarks = [
        *reference.left_out(data), *_protocol(reference, data), *_by_policy(of_arms),
        *reference.remarks(of_arms, games),
    ]  # fmt: skip
    if not own:
        remarks.append("The run has no finished match with a figure that the paper reports.")
    elif not lines:
        remarks.append("No cell of the run is among the published ones.")
    return Comparison(reference, lines, tuple(remarks), beside.count([]))


def _by_cell(figures: Sequence[Published]) -> dict[Cell, list[Published]]:
    """Group figures by cell; a number printed in several tables becomes one figure that names them all."""
    cells: dict[Cell, list[Published]] = {}
    for figure in figures:
        of = cells.setdefault(figure.cell, [])
        for i, earlier in enumerate(of):
            same = (earlier.model, earlier.value) == (figure.model, figure.value)
            if same and (None in (earlier.spread, figure.spread) or earlier.spread == figure.spread):
                of[i] = _joined(earlier, figure)
                break
        else:
            of.append(figure)
    return cells


def _joined(first: Published, second: Published) -> Published:
    spread = first.spread if first.spread is not None else second.spread
    status = "/".join(dict.fromkeys((*first.status.split("/"), *second.status.split("/"))))
    doubts = tuple(dict.fromkeys((*first.doubts, *second.doubts)))
    return replace(
        first,
        spread=spread,
        source=first.source if second.source in first.source.split(", ") else f"{first.source}, {second.source}",
        status=status,
        doubts=doubts,
    )


def _beside(own: RunFigure, figures: Sequence[Published], mapping: Mapping[str, str]) -> list[Line]:
    if own.agent is None:
        return [_single(own, p) for p in figures if p.model is None]
    if own.agent in mapping:
        return [_single(own, p) for p in figures if p.model == mapping[own.agent]]
    single = [p for p in figures if p.model is not None]
    if not single:
        return []
    bad = {p.model for p in single if p.doubts or p.status == "uncertain"}
    values = [p.value for p in single]
    statuses = [p.status for p in single]
    return [
        Line(
            own.cell, own, None, None, None, min(values, default=None), max(values, default=None),
            len({p.model for p in single}), len(bad),
            "; ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses)),
            ", ".join(dict.fromkeys(source for p in single for source in p.source.split(", "))),
            tuple(f"{p.model}: {doubt}" for p in single for doubt in _doubts(p)), tuple(single),
        )
    ]  # fmt: skip


def _single(own: RunFigure, p: Published) -> Line:
    return Line(
        own.cell, own, p.model, p.value, p.spread, None, None, 1, 0, p.status, p.source, _doubts(p), (p,)
    )  # fmt: skip


def _doubts(p: Published) -> tuple[str, ...]:
    return (*p.doubts, *(("the label is uncertain",) if p.status == "uncertain" and not p.doubts else ()))


def _protocol(reference: Reference, data: RunData) -> list[str]:
    """Return the settings in which the study differs from the paper's protocol."""
    here = {path: reduce(_below, path.split("."), data.study) for path in reference.protocol}
    return [
        f"The study has {path} = {here[path]}, the paper {'none' if paper is None else paper}."
        for path, paper in reference.protocol.items()
        if here[path] is not None and here[path] != paper
    ]


def _below(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else None


def _by_policy(data: RunData) -> list[str]:
    """Return notes on agents whose unreadable replies the study's policy often replaced."""
    rows = data.records(
        "SELECT agent, avg(CAST(invalid AS DOUBLE)) AS share FROM decisions WHERE kind = 'act' AND state = 'done' "
        "GROUP BY agent ORDER BY agent"
    )
    return [
        f"{row['agent']}: {100 * row['share']:.0f} % of the actions were given by the policy."
        for row in rows
        if row["share"] is not None and row["share"] >= POLICY_DOUBT
    ]
