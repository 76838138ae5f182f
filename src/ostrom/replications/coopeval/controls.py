"""Decomposition of a mechanism's effect into incentives, words, length and interaction, by its controls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ostrom.analysis.estimate import Estimate, combined, fixed
from ostrom.analysis.measure import Measure
from ostrom.analysis.statistics.anova import anova
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.analysis.units import observations, per_match
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped
from ostrom.reports.words import join_labels, written

EFFECTS: Mapping[str, Mapping[str, float]] = {
    "total": {"mechanism": 1, "none": -1},
    "incentives": {"induced": 1, "none": -1},
    "words": {"sham": 1, "length": -1},
    "length": {"length": 1, "none": -1},
    "interaction": {"mechanism": 1, "induced": -1, "sham": -1, "none": 1},
}
"""Every effect as weights of the arms; the last four sum to the total."""
CROSSED = {"none": ("no", "no"), "induced": ("yes", "no"), "sham": ("no", "yes"), "mechanism": ("yes", "yes")}
"""The arms that cross incentives (first) with words (second)."""


def effects(
    data: RunData, measure: Measure, factor: str, by: Sequence[str], where: Mapping[str, Any] | None
) -> list[Estimate]:
    """Return every effect with its interval, for each group with the needed arms."""
    return [
        replace(e, key={**e.key, "effect": name})
        for name, weights in EFFECTS.items()
        for e in combined(data, measure, factor, weights, by, where=where)
    ]


def sentences(found: Sequence[Estimate], by: Sequence[str]) -> list[str]:
    """Describe the parts of the effect, one sentence for each group."""
    groups = grouped((tuple(e.key[name] for name in by), (e.key["effect"], e)) for e in found)
    texts = []
    for key, of in groups.items():
        effects = dict(of)
        who = ", ".join(written(part) for part in key)
        parts = {name: e for name, e in effects.items() if name != "total"}
        sure = [name for name, e in parts.items() if e.low is not None and 0 not in e]
        open_ = [name for name, e in parts.items() if e.low is None]
        parts_text = join_labels([f"{name} {fixed(e.value)}" for name, e in parts.items()])
        total = f"{fixed(effects['total'].value)} in all: " if "total" in effects else ""
        end = f"surely not zero: {join_labels(sure)}" if sure else "no part is surely other than zero at this size"
        more = f"; without an interval: {join_labels(open_)}" if open_ else ""
        texts.append(f"{who}: {total}{parts_text}; {end}{more}.")
    return texts


def analyses(
    data: RunData, measure: Measure, factor: str, by: Sequence[str], where: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return rows of incentives by words (two-way), of all pairs of arms, and a remark on groups without these."""
    lines, pairs, undefined = list[list[Any]](), list[list[Any]](), Counter[str]()
    for key, rows in observations(data, measure, where).groups(by).items():
        units = [(u.rows[0][factor], u.value) for u in per_match(rows).values()]
        crossed = [(CROSSED[arm], value) for arm, value in units if arm in CROSSED]
        arms = [(arm, value) for arm, value in units if arm in {*CROSSED, "length"}]
        try:
            both = anova(
                [value for _, value in crossed],
                {"incentives": [cell[0] for cell, _ in crossed], "words": [cell[1] for cell, _ in crossed]},
                unit="match",
            )
            one = anova([v for _, v in arms], {factor: [arm for arm, _ in arms]}, unit="match")
        except StatisticsError as problem:
            undefined[str(problem)] += 1
            continue
        lines += [[*key, s.source, s.df, s.sum_squares, s.f, s.p, s.partial_eta_squared] for s in both.sources]
        pairs += [[*key, c.key["comparison"], c.value, c.low, c.high, c.p] for c in one.comparisons]
    return {"variance": lines, "pairs": pairs, "without": _without(undefined)}


def two_way(data: RunData, measure: Measure, factors: Sequence[str], by: Sequence[str]) -> dict[str, Any]:
    """Return rows of two factors with interaction, of Tukey's comparisons, and a remark on groups without these."""
    lines, pairs, undefined = list[list[Any]](), list[list[Any]](), Counter[str]()
    for key, rows in observations(data, measure).groups(by).items():
        units = list(per_match(rows).values())
        labels = {name: [unit.rows[0][name] for unit in units] for name in factors}
        try:
            fit = anova([unit.value for unit in units], labels, unit="match")
        except StatisticsError as problem:
            undefined[str(problem)] += 1
            continue
        lines += [[*key, s.source, s.df, s.sum_squares, s.f, s.p, s.partial_eta_squared] for s in fit.sources]
        pairs += [[*key, c.key["factor"], c.key["comparison"], c.value, c.low, c.high, c.p] for c in fit.comparisons]
    return {"variance": lines, "pairs": pairs, "without": _without(undefined)}


def _without(undefined: Mapping[str, int]) -> str:
    return "".join(f" Groups without one: {n} ({why})." for why, n in undefined.items())
