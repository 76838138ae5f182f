"""What a mechanism's effect is made of: incentives, words, length and their interaction, from its controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ostrom.analysis.estimate import Estimate, combined, fixed
from ostrom.analysis.measure import measures
from ostrom.analysis.statistics.anova import anova
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.analysis.units import observations, per_match
from ostrom.data.rundata import RunData
from ostrom.reports.layout import Layout, dot_chart
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import listed, pretty

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


class ControlEffects(Panel):
    """``factor`` has the arms none, length, sham, induced and mechanism; results are split by the columns ``by``."""

    title = "What the effect of a mechanism is made of"

    def __init__(
        self,
        measure: Any = "cooperation",
        factor: str = "control",
        by: Sequence[str] = ("agent", "mechanism"),
        where: Mapping[str, Any] | None = None,
    ) -> None:
        self.measure, self.factor, self.by, self.where = measures.named(measure), factor, list(by), where

    def draw(self, data: RunData) -> Drawn:
        """Effects with intervals, an analysis of variance for each group, Tukey's comparisons, and a sentence each."""
        found = [
            replace(e, key={**e.key, "effect": name})
            for name, weights in EFFECTS.items()
            for e in combined(data, self.measure, self.factor, weights, self.by, where=self.where)
        ]
        if not found:
            return Drawn(
                notes=["No mechanism was played with all of its controls (none, length, sham, induced)."]
            )
        columns = [*self.by, "effect", self.measure.name, "low", "high", "n", "method"]
        rows = [[*e.key.values(), e.value, e.low, e.high, e.n, e.method] for e in found]
        caption = (
            "Incentives: the induced game minus none. Words: the sham minus a text of the same length. Length: that "
            "text minus none. Interaction: what the mechanism does beyond these. The four sum to the total. "
            "95 % intervals."
        )
        tables = [Table("control_effects", columns, rows, caption), *self._analyses(data)]
        layout = Layout(None if len(self.by) < 2 else self.by[0], (*self.by[1:], "effect"), False, (), {})
        chart = dot_chart(found, layout, axis=f"difference in {self.measure.title.lower()}", domain=None)
        figure = Figure(
            "control_effects", chart, caption, f"{len(found)} effects of mechanisms and their parts."
        )
        return Drawn([figure], tables, self._sentences(found))

    def _sentences(self, found: Sequence[Estimate]) -> list[str]:
        groups: dict[tuple[Any, ...], dict[str, Estimate]] = {}
        for e in found:
            groups.setdefault(tuple(e.key[name] for name in self.by), {})[e.key["effect"]] = e
        said = []
        for key, effects in groups.items():
            who = ", ".join(pretty(part) for part in key)
            parts = {name: e for name, e in effects.items() if name != "total"}
            sure = [name for name, e in parts.items() if e.low is not None and 0 not in e]
            open_ = [name for name, e in parts.items() if e.low is None]
            told = listed([f"{name} {fixed(e.value)}" for name, e in parts.items()])
            total = f"{fixed(effects['total'].value)} in all: " if "total" in effects else ""
            end = (
                f"surely not zero: {listed(sure)}"
                if sure
                else "no part is surely other than zero at this size"
            )
            more = f"; without an interval: {listed(open_)}" if open_ else ""
            said.append(f"{who}: {total}{told}; {end}{more}.")
        return said

    def _analyses(self, data: RunData) -> list[Table]:
        """Incentives by words, two ways, and all pairs of arms, for every group that allows it."""
        lines, pairs, undefined = list[list[Any]](), list[list[Any]](), Counter[str]()
        for key, rows in observations(data, self.measure, self.where).groups(self.by).items():
            units = [(u.rows[0][self.factor], u.value) for u in per_match(rows).values()]
            crossed = [(CROSSED[arm], value) for arm, value in units if arm in CROSSED]
            arms = [(arm, value) for arm, value in units if arm in {*CROSSED, "length"}]
            try:
                both = anova(
                    [value for _, value in crossed],
                    {
                        "incentives": [cell[0] for cell, _ in crossed],
                        "words": [cell[1] for cell, _ in crossed],
                    },
                    unit="match",
                )
                one = anova([v for _, v in arms], {self.factor: [arm for arm, _ in arms]}, unit="match")
            except StatisticsError as problem:
                undefined[str(problem)] += 1
                continue
            lines += [
                [*key, s.source, s.df, s.sum_squares, s.f, s.p, s.partial_eta_squared] for s in both.sources
            ]
            pairs += [[*key, c.key["comparison"], c.value, c.low, c.high, c.p] for c in one.comparisons]
        left = "".join(f" Groups without one: {n} ({why})." for why, n in undefined.items())
        made = []
        if lines or undefined:
            head = [*self.by, "source", "df", "sum_squares", "f", "p", "partial_eta_squared"]
            made.append(Table("control_anova", head, lines, f"Two-way analysis of variance, type II.{left}"))
        if pairs:
            head = [*self.by, "comparison", self.measure.name, "low", "high", "p"]
            made.append(Table("control_tukey", head, pairs, "All pairs of arms, after Tukey and Kramer."))
        return made
