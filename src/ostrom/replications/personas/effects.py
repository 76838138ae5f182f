"""Effects of the 2x2 design in percentage points: persona, payoff visibility, and interaction.

Persona effect: rate without persona minus rate with. Visibility effect: rate with visible payoffs minus rate
with hidden ones (Manoranjan & Gaikwad 2026). Interaction: how much larger the persona effect is with visible
payoffs than with hidden ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import Bounds, exactly, paired_difference_of
from ostrom.analysis.statistics import FittedRegression, StatisticsError, gee_logistic, without_rounding
from ostrom.replications.personas.profiles import Played, of_type, split, types_in
from ostrom.replications.personas.rates import measure_of

Cell = tuple[str, str]
"""Persona (yes, no) and payoffs (hidden, visible)."""
CELLS: tuple[Cell, ...] = (("yes", "hidden"), ("yes", "visible"), ("no", "hidden"), ("no", "visible"))
Row = tuple[Cell, Played, bool]
FEW_CLUSTERS = 40
"""The number of clusters below which bias-reduced errors are used (Mancl & DeRouen 2001)."""


_WEIGHTS: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("persona", "hidden"): (-1, 0, 1, 0),
    ("persona", "visible"): (0, -1, 0, 1),
    ("persona", "average"): (-0.5, -0.5, 0.5, 0.5),
    ("visibility", "yes"): (-1, 1, 0, 0),
    ("visibility", "no"): (0, 0, -1, 1),
    ("visibility", "average"): (-0.5, 0.5, -0.5, 0.5),
    ("interaction", "both"): (1, -1, -1, 1),
}
CONTRASTS: Mapping[tuple[str, str], Mapping[Cell, float]] = {
    name: {cell: weight for cell, weight in zip(CELLS, weights, strict=True) if weight}
    for name, weights in _WEIGHTS.items()
}
"""Every effect, by name and place, as weights of the four cells' rates."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference of rates in percentage points."""

    measure: str
    scenario_type: str
    key: Mapping[str, Any]
    effect: str
    at: str
    points: float
    estimate: Estimate
    """The effect with its interval over scenarios, in percentage points."""
    matches: int
    """The number of profiles in its cells."""


def effects_of_counts(counts: Mapping[Cell, tuple[int, int]]) -> dict[tuple[str, str], float]:
    """Return every effect that the counts (successes, trials) of the cells allow.

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
    effect_rows = []
    for kind, key, own in split(profiles, by, types):
        rows = _rows(own, ask)
        counts = {cell: _count(rows, cell) for cell in CELLS}
        for (effect, at), points in effects_of_counts(counts).items():
            weights = CONTRASTS[effect, at]
            group, matches = dict(zip(by, key, strict=True)), sum(counts[cell][1] for cell in weights)
            effect_rows.append(Effect(measure, kind, group, effect, at, points, _estimate(rows, weights), matches))
    return effect_rows


def _rows(profiles: Sequence[Played], ask: Callable[[Played], bool | None]) -> list[Row]:
    """Return the profiles of the four cells to which the question applies, with the answer."""
    return [
        (cell, p, value)
        for p in profiles
        if (cell := (p["persona"], p["payoffs"])) in CELLS and (value := ask(p)) is not None
    ]


def logistic(profiles: Sequence[Played], measure: str = "nash_rate", scenario_type: str = "all") -> FittedRegression:
    """Fit a logistic model of persona, visibility and interaction, clustered by scenario.

    The reference is a neutral player with hidden payoffs. Raises a StatisticsError where there is no
    estimate, as when one cell is all or nothing (separation).
    """
    rows = _rows(of_type(profiles, scenario_type), measure_of(measure))
    scenarios = [p.scenario for _, p, _ in rows]
    return gee_logistic(
        [float(value) for *_, value in rows],
        {"persona": [who for (who, _), *_ in rows], "payoffs": [seen for (_, seen), *_ in rows]},
        clusters=scenarios,
        unit="scenario",
        covariance="bias_reduced" if len(set(scenarios)) < FEW_CLUSTERS else "robust",
        interactions=[("persona", "payoffs")],
        reference={"persona": "no", "payoffs": "hidden"},
    )


def logistic_models(profiles: Sequence[Played], measure: str) -> dict[str, list[Any]]:
    """Fit a logistic model for every agent and type of scenario: its ``terms``, and why others are ``without`` one.

    A term has scenario type, agent, coefficient in log odds, and the odds ratio with its interval.
    """
    terms, without = list[Any](), list[str]()
    for agent in dict.fromkeys(p.agent for p in profiles):
        own = [p for p in profiles if p.agent == agent]
        for kind in types_in(own):
            try:
                model = logistic(own, measure, kind)
            except StatisticsError as error:
                without.append(f"No logistic model for {agent}, {kind}: {error}.")
                continue
            for term in model.coefficients:
                odds = [None if end is None else math.exp(end) for end in (term.value, term.low, term.high)]
                terms.append((kind, agent, term, odds))
    return {"terms": terms, "without": without}


def _count(rows: Sequence[Row], cell: Cell) -> tuple[int, int]:
    own = [value for where, _, value in rows if where == cell]
    return sum(own), len(own)


def _estimate(rows: Sequence[Row], weights: Mapping[Cell, float]) -> Estimate:
    """An effect in percentage points, paired by scenario.

    Every effect is a multiple of the mean rate of some cells minus that of others. What a scenario adds to a
    rate is linearised: where every scenario was played equally often, it is its own rate.
    """
    used = [row for row in rows if row[0] in weights]
    scenarios = list(dict.fromkeys(p.scenario for _, p, _ in used))
    total = math.fsum(weight for weight in weights.values() if weight > 0)
    sides: tuple[list[float], list[float]] = ([], [])
    counts = {cell: _count(used, cell) for cell in weights}
    times = Counter((cell, p.scenario) for cell, p, _ in used)
    solved = Counter((cell, p.scenario) for cell, p, value in used if value)
    for scenario in scenarios:
        rates = {
            cell: yes / n + len(scenarios) * (solved[cell, scenario] - yes / n * times[cell, scenario]) / n
            for cell, (yes, n) in counts.items()
        }
        for side, sign in zip(sides, (1, -1), strict=True):
            side.append(math.fsum((abs(w) * rates[cell] for cell, w in weights.items() if w * sign > 0)) / total)
    bounds: Bounds = (0.0, 1.0) if all(-1e-9 <= rate <= 1 + 1e-9 for side in sides for rate in side) else (None, None)
    scaled = paired_difference_of(*sides, bounds=bounds, unit="scenario").times(100 * total)
    inference = exactly(scaled.value) if all(p.exact for _, p, _ in used) else scaled
    return estimated({}, inference, len(scenarios), "scenario", compares=True)
