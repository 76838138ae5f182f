"""Does the persona matter more when payoffs are visible? Lines that are not parallel say so."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.statistics import StatisticsError, ends
from ostrom.data.rundata import RunData
from ostrom.replications.personas.effects import effects, logistic
from ostrom.replications.personas.panels._shared import NOTHING
from ostrom.replications.personas.profiles import Played, profiles_of, types_in
from ostrom.replications.personas.rates import Rate, rates
from ostrom.reports.marks import curves, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, pretty

NEEDED = ("persona", "payoffs")


class Interaction(Panel):
    """Rates of the four cells, the effects in percentage points, and the logistic model with interaction."""

    title = "Persona and visibility of payoffs"

    def __init__(self, measure: str = "nash_rate") -> None:
        self.measure = measure

    def draw(self, data: RunData) -> Drawn:
        """One small multiple per agent and type of scenario."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=[NOTHING])
        if not set(NEEDED) <= set(data.factors):
            return Drawn(notes=[f"The study does not vary both {' and '.join(NEEDED)}."])
        made = rates(found, self.measure)
        table = Table(
            "personas_effects",
            [
                "scenario type", "agent", "effect", "at", "points", "low", "high", "scenarios", "method",
                "note",
            ],
            [
                [
                    e.scenario_type, e.key["agent"], e.effect, e.at, e.points, e.estimate.low,
                    e.estimate.high, e.estimate.n, e.estimate.method, e.estimate.note or None,
                ]
                for e in effects(found, self.measure)
            ],
            f"Effects on the {pretty(self.measure)} in percentage points: persona = without minus with, "
            "visibility = visible minus hidden, interaction = persona effect visible minus hidden. Intervals "
            "over scenarios.",
        )  # fmt: skip
        model, notes = _models(found, self.measure)
        caption = (
            f"{pretty(self.measure).capitalize()} with hidden and visible payoffs, with and without persona. "
            "Bands are 95 % intervals over scenarios."
        )
        figure = Figure(
            "personas_interaction",
            self._chart(data, made),
            caption,
            "Lines of rates by visibility and persona.",
        )
        return Drawn([figure], [table, *model], notes)

    def _chart(self, data: RunData, made: list[Rate]) -> Any:
        names = labels(r.key["agent"] for r in made)
        series = {who: f"persona {who}" for who in data.levels["persona"]}
        rows = [
            {
                "x": r.key["payoffs"],
                "mean": r.share,
                "low": r.ends[0],
                "high": r.ends[1],
                "series": series[r.key["persona"]],
                "facet": f"{names[r.key['agent']]}, {r.scenario_type}",
            }
            for r in made
            if r.share is not None
        ]
        return curves(
            rows,
            x="payoffs",
            y=pretty(self.measure),
            facets=list(dict.fromkeys(row["facet"] for row in rows)),
            series=series_colours(list(series.values())),
            legend=None,
            levels=[str(level) for level in data.levels["payoffs"]],
        )


def _models(found: list[Played], measure: str) -> tuple[list[Table], list[str]]:
    rows, notes = [], []
    for agent in dict.fromkeys(p.agent for p in found):
        own = [p for p in found if p.agent == agent]
        for kind in types_in(own):
            try:
                model = logistic(own, measure, kind)
            except StatisticsError as error:
                notes.append(f"No logistic model for {agent}, {kind}: {error}.")
                continue
            rows += [
                [
                    kind,
                    agent,
                    c.term,
                    c.estimate,
                    c.se,
                    c.p,
                    c.odds_ratio,
                    *ends(c.odds_ratio_ci),
                    c.note,
                ]
                for c in model.coefficients
            ]
    if not rows:
        return [], notes
    columns = ["scenario type", "agent", "term", "estimate", "se", "p", "odds ratio", "low", "high", "note"]
    caption = (
        f"Logistic model of the {pretty(measure)} with interaction, clustered by scenario (GEE); the "
        "reference is a neutral player with hidden payoffs."
    )
    return [Table("personas_logistic", columns, rows, caption)], notes


PANEL = Interaction
