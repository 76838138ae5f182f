"""Tests of whether agents differ, made before any mean over agents.

Two agents: Welch's test of the difference of their figures, paired where they have units in common (matches, seeds
that share something). More: Welch's analysis of variance (Welch 1951), or Hotelling's T2, the analysis of variance of
repeated measures that needs no equal variances, where they have units in common.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ostrom.analysis.intervals import Inference, combined
from ostrom.analysis.statistics.result import Estimate, holm

LEVEL = 0.05


@dataclass(frozen=True)
class AgentDifference:
    """The test of whether the figures of several agents differ."""

    agents: tuple[str, ...]
    p_value: float | None
    """The p-value; None if the spread is unknown."""
    method: str

    @property
    def differs(self) -> bool:
        """Return whether the difference is significant at 5 %."""
        return self.p_value is not None and self.p_value < LEVEL

    @property
    def words(self) -> str:
        """The line below the rows of the agents."""
        if self.p_value is None:
            return "differs between agents: not seen (too few units for a test)"
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        return f"differs between agents: {'yes' if self.differs else 'not seen'} ({p})"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "agents": list(self.agents), "differs": self.differs, "p_value": self.p_value, "method": self.method,
            "text": self.words,
        }  # fmt: skip


def between_agents(estimates: Sequence[Estimate]) -> AgentDifference | None:
    """Test whether the results of one query differ between agents; None with fewer than two results.

    The estimates are those of one question with ``agent`` in their key: levels, differences or slopes.
    """
    by_agent = [(str(one.key["agent"]), one.inference) for one in estimates if one.inference is not None]
    if len(by_agent) < 2:
        return None
    agents = tuple(name for name, _ in by_agent)
    # A figure of a single unit has unknown spread and is excluded.
    figures = [one for _, one in by_agent if one.exact or any(part.n > part.centred for part in one.parts)]
    if len(figures) < 2:
        return AgentDifference(agents, None, "none")
    if len(figures) == 2:
        difference = combined([(1.0, figures[0]), (-1.0, figures[1])])
        return AgentDifference(agents, difference.p_value(), difference.method)
    return AgentDifference(agents, *_of_several(figures))


def _of_several(figures: Sequence[Inference]) -> tuple[float | None, str]:
    """Return the p-value for more than two figures; pairwise with Holm's correction if some lack a spread."""
    spreads = [one.spread() for one in figures]
    positive = [spread for spread in spreads if spread is not None and spread[0] > 0]
    if len(positive) < len(figures):
        pairs = [combined([(1.0, one), (-1.0, two)]).p_value() for one, two in combinations(figures, 2)]
        tested = [p for p in pairs if p is not None]
        return (min(holm(tested)) if tested else None), "every pair, Holm's correction"
    units = [_influences(one) for one in figures]
    labels = list(dict.fromkeys(label for of in units for label in of))
    if len(labels) < sum(map(len, units)):
        return _hotelling([one.value for one in figures], np.array([[of.get(n, 0.0) for n in labels] for of in units]))
    return _welch([one.value for one in figures], positive)


def _influences(figure: Inference) -> dict[Any, float]:
    """Return the influence of each unit on a figure, by its label; unlabelled units are distinct."""
    influence: dict[Any, float] = {}
    for number, part in enumerate(figure.parts):
        labels = part.labels or [(id(figure), number, place) for place in range(part.n)]
        for label, moved in zip(labels, part.influence.tolist(), strict=True):
            influence[label] = influence.get(label, 0.0) + moved
    return influence


def _welch(values: Sequence[float], spreads: Sequence[tuple[float, float]]) -> tuple[float, str]:
    from scipy.special import fdtrc

    k = len(values)
    weights = [1 / se**2 for se, _ in spreads]
    total = math.fsum(weights)
    centre = math.fsum(w * value for w, value in zip(weights, values, strict=True)) / total
    between = math.fsum(w * (value - centre) ** 2 for w, value in zip(weights, values, strict=True)) / (k - 1)
    lack = math.fsum((1 - w / total) ** 2 / df for w, (_, df) in zip(weights, spreads, strict=True))
    return float(
        fdtrc(k - 1, (k * k - 1) / (3 * lack), between / (1 + 2 * (k - 2) / (k * k - 1) * lack))
    ), "Welch's analysis of variance"


def _hotelling(values: Sequence[float], influences: Any) -> tuple[float | None, str]:
    from scipy.special import fdtrc

    k, n = influences.shape
    method = "analysis of variance of repeated measures (Hotelling's T2)"
    if n - k + 1 < 1:
        return None, method
    off = np.array(values[1:]) - values[0]
    moved = influences[1:] - influences[0]
    square = float(off @ np.linalg.pinv(moved @ moved.T * n / (n - 1)) @ off)
    return float(fdtrc(k - 1, n - k + 1, square * (n - k + 1) / ((k - 1) * (n - 1)))), method


def tied_sets(estimates: Sequence[Estimate]) -> list[tuple[str, ...]]:
    """Return the maximal groups of agents of which no pair differs significantly, by Holm's method."""
    ranked = sorted(((one, one.inference) for one in estimates if one.inference is not None), key=lambda o: o[0].value)
    pairs = list(combinations(range(len(ranked)), 2))
    tests = [combined([(1.0, ranked[i][1]), (-1.0, ranked[j][1])]).p_value() for i, j in pairs]
    tested = [place for place, p in enumerate(tests) if p is not None]
    adjusted = holm([p for p in tests if p is not None]) if tested else ()
    apart = {pairs[place] for place, p in zip(tested, adjusted, strict=True) if p < LEVEL}
    runs: list[range] = []
    for start in range(len(ranked)):
        end = start + 1
        while end < len(ranked) and not any((i, end) in apart for i in range(start, end)):
            end += 1
        if end - start > 1 and not (runs and end <= runs[-1].stop):
            runs.append(range(start, end))
    return [tuple(str(ranked[i][0].key["agent"]) for i in places) for places in runs]
