"""The effects of the 2x2 design in percentage points: persona, visibility of payoffs, and their interaction.

Persona effect: rate without persona minus rate with. Visibility effect: rate with visible payoffs minus rate
with hidden ones (Manoranjan & Gaikwad 2026). Interaction: how much larger the persona effect is with visible
payoffs than with hidden ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.statistics import (
    Interval,
    Regression,
    StatisticsError,
    cluster_bootstrap,
    ends,
    gee_logistic,
    newcombe_difference,
    without_rounding,
)
from ostrom.replications.personas.profiles import Played, of_type, types_in
from ostrom.replications.personas.rates import RESAMPLES, measure_of
from ostrom.streams import Streams

Cell = tuple[str, str]
"""Persona (yes, no) and payoffs (hidden, visible)."""
CELLS: tuple[Cell, ...] = (("yes", "hidden"), ("yes", "visible"), ("no", "hidden"), ("no", "visible"))
FEW_CLUSTERS = 40
"""Below this the sandwich errors are too small, and the bias-reduced ones are used (Mancl & DeRouen 2001)."""


def _minus(first: Cell, second: Cell) -> dict[Cell, float]:
    return {first: 1.0, second: -1.0}


def _sum(*parts: tuple[float, Mapping[Cell, float]]) -> dict[Cell, float]:
    total: dict[Cell, float] = {}
    for factor, part in parts:
        for cell, weight in part.items():
            total[cell] = total.get(cell, 0.0) + factor * weight
    return total


_PERSONA = {seen: _minus(("no", seen), ("yes", seen)) for seen in ("hidden", "visible")}
_SEEN = {who: _minus((who, "visible"), (who, "hidden")) for who in ("yes", "no")}
CONTRASTS: Mapping[tuple[str, str], Mapping[Cell, float]] = {
    **{("persona", seen): weights for seen, weights in _PERSONA.items()},
    ("persona", "average"): _sum((0.5, _PERSONA["hidden"]), (0.5, _PERSONA["visible"])),
    **{("visibility", who): weights for who, weights in _SEEN.items()},
    ("visibility", "average"): _sum((0.5, _SEEN["yes"]), (0.5, _SEEN["no"])),
    ("interaction", "both"): _sum((1.0, _PERSONA["visible"]), (-1.0, _PERSONA["hidden"])),
}
"""Every effect, by its name and where it is taken, as weights of the four cells' rates."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference of rates in percentage points."""

    measure: str
    scenario_type: str
    key: Mapping[str, Any]
    effect: str
    at: str
    points: float
    clustered: Interval | None
    """Over scenarios, in percentage points."""
    newcombe: Interval | None
    """For a plain difference of two rates, every match taken for independent; in percentage points."""
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "measure": self.measure,
            "scenario_type": self.scenario_type,
            **self.key,
            "effect": self.effect,
            "at": self.at,
            "points": self.points,
            "clustered_low": ends(self.clustered)[0],
            "clustered_high": ends(self.clustered)[1],
            "newcombe_low": ends(self.newcombe)[0],
            "newcombe_high": ends(self.newcombe)[1],
            "note": self.note,
        }


def effects_of_counts(counts: Mapping[Cell, tuple[int, int]]) -> dict[tuple[str, str], float]:
    """Every effect that the counts (successes, trials) of the cells allow, in percentage points.

    >>> effects_of_counts({("yes", "visible"): (0, 60), ("no", "visible"): (54, 60)})
    {('persona', 'visible'): 90.0}
    """
    filled = {cell for cell, (_, n) in counts.items() if n}
    return {
        name: 100
        * without_rounding(
            math.fsum(weight * counts[cell][0] / counts[cell][1] for cell, weight in weights.items()), 1.0
        )
        for name, weights in CONTRASTS.items()
        if set(weights) <= filled
    }


def effects(
    profiles: Sequence[Played],
    measure: str = "nash_rate",
    by: Sequence[str] = ("agent",),
    types: Sequence[str] | None = None,
) -> list[Effect]:
    """All effects for every group and type of scenario; the study must vary ``persona`` and ``payoffs``."""
    ask = measure_of(measure)
    made = []
    for kind in types_in(profiles) if types is None else types:
        groups: dict[tuple[Any, ...], list[tuple[Cell, str, bool]]] = {}
        for p in of_type(profiles, kind):
            value, cell = ask(p), (p["persona"], p["payoffs"])
            if value is not None and cell in CELLS:
                groups.setdefault(tuple(p[c] for c in by), []).append((cell, p.scenario, value))
        for key, rows in groups.items():
            counts = {cell: _count(rows, cell) for cell in CELLS}
            for (effect, at), points in effects_of_counts(counts).items():
                weights = CONTRASTS[effect, at]
                clustered, note = _clustered(rows, weights)
                made.append(
                    Effect(
                        measure, kind, dict(zip(by, key, strict=True)), effect, at, points,
                        clustered, _newcombe(counts, weights), note,
                    )
                )  # fmt: skip
    return made


def logistic(
    profiles: Sequence[Played], measure: str = "nash_rate", scenario_type: str = "all"
) -> Regression:
    """Persona, visibility and their interaction in a logistic model clustered by scenario.

    The reference is a neutral player with hidden payoffs. Raises a StatisticsError where there is no
    estimate, as when one cell is all or nothing (separation).
    """
    ask = measure_of(measure)
    rows = [
        (value, p["persona"], p["payoffs"], p.scenario)
        for p in of_type(profiles, scenario_type)
        if (value := ask(p)) is not None and (p["persona"], p["payoffs"]) in CELLS
    ]
    scenarios = [scenario for *_, scenario in rows]
    return gee_logistic(
        [float(value) for value, *_ in rows],
        {"persona": [who for _, who, _, _ in rows], "payoffs": [seen for _, _, seen, _ in rows]},
        clusters=scenarios,
        unit="scenario",
        covariance="bias_reduced" if len(set(scenarios)) < FEW_CLUSTERS else "robust",
        interactions=[("persona", "payoffs")],
        reference={"persona": "no", "payoffs": "hidden"},
    )


def _count(rows: Sequence[tuple[Cell, str, bool]], cell: Cell) -> tuple[int, int]:
    own = [value for where, _, value in rows if where == cell]
    return sum(own), len(own)


def _clustered(
    rows: Sequence[tuple[Cell, str, bool]], weights: Mapping[Cell, float]
) -> tuple[Interval | None, str]:
    used = [row for row in rows if row[0] in weights]
    cells = list(weights)
    member = np.array([[float(cell == where) for cell in cells] for where, _, _ in used])
    values = np.array([float(value) for *_, value in used])
    factors = np.array([weights[cell] for cell in cells])
    try:
        made = cluster_bootstrap(
            np.column_stack([member * values[:, None], member]),
            lambda sums: 100 * (sums[:, : len(cells)] / sums[:, len(cells) :]) @ factors,
            clusters=[scenario for _, scenario, _ in used],
            unit="scenario",
            rng=Streams(0, len(used)).at(0, 0, "bootstrap"),
            resamples=RESAMPLES,
        )
    except StatisticsError as error:
        return None, str(error)
    return made.ci, made.note or ""


def _newcombe(counts: Mapping[Cell, tuple[int, int]], weights: Mapping[Cell, float]) -> Interval | None:
    if sorted(weights.values()) != [-1.0, 1.0]:
        return None
    first, second = sorted(weights, key=lambda cell: -weights[cell])
    ci = newcombe_difference(*counts[first], *counts[second], unit="match").ci
    return Interval(100 * ci.low, 100 * ci.high, ci.level)
