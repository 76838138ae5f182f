"""Role by role: who acts green, who regrets, and how far profiles lie from an equilibrium."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData
from ostrom.replications.personas.panels._shared import NOTHING, condition_label, conditions
from ostrom.replications.personas.panels.personas_nash_map import COLUMNS, cells
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import Rate, role_shares
from ostrom.replications.personas.regret import distances, regrets
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import Share, labels


class Roles(Panel):
    """Green actions and regret by role, distance to the nearest equilibrium by condition."""

    title = "Role by role"

    def draw(self, data: RunData) -> Drawn:
        """Dots of green shares with intervals over scenarios; three tables."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=[NOTHING])
        by = conditions(data, found)
        green = role_shares(found, by=("agent", *by))
        tables = [
            Table(
                "personas_roles", ["scenario type", "agent", *by, "role", *COLUMNS],
                [[r.scenario_type, *r.key.values(), *cells(r)] for r in green],
                "Share of green actions by role.",
            ),
            Table(
                "personas_regret",
                ["scenario type", "agent", *by, "role", "n", "mean regret", "low", "high", "best replies",
                 "scenarios", "method", "note"],
                [
                    [r.scenario_type, *r.key.values(), r.role, r.n, r.mean,
                     r.estimate.low, r.estimate.high, Share(r.best_reply_share),
                     r.estimate.n, r.estimate.method, r.estimate.note or None]
                    for r in regrets(found, by=("agent", *by))
                ],
                "Regret in payoff units: what the best reply to the others' actual actions would have added; "
                "intervals over scenarios.",
            ),
            self._distances(distances(found, by=("agent", *by)), by),
        ]  # fmt: skip
        caption = (
            "Share of green actions by role over all scenarios with one canonical equilibrium. Whiskers are "
            "95 % intervals over scenarios."
        )
        figure = Figure("personas_roles", _chart(green, by), caption, "Dots of green shares by role.")
        return Drawn([figure], tables)

    def _distances(self, made: list[Any], by: list[str]) -> Table:
        steps = sorted({d for of in made for d in of.counts if d is not None})
        rows = [
            [
                of.scenario_type,
                *of.key.values(),
                of.mean,
                *(of.counts.get(d, 0) for d in steps),
                of.counts.get(None, 0),
            ]
            for of in made
        ]
        return Table(
            "personas_distance",
            ["scenario type", "agent", *by, "mean", *(f"{d} changes" for d in steps), "no equilibrium"],
            rows,
            "Distance to the nearest pure equilibrium: how many players would have to change.",
        )


def _chart(green: list[Rate], by: list[str]) -> Any:
    kind = green[0].scenario_type
    shown = [r for r in green if r.scenario_type == kind and r.share is not None]
    names = labels(r.key["agent"] for r in shown)
    series = list(dict.fromkeys(condition_label(r.key, by) for r in shown))
    groups: dict[str, list[dict[str, Any]]] = {}
    for r in shown:
        groups.setdefault(names[r.key["agent"]], []).append(
            {
                "label": r.key["role"],
                "series": condition_label(r.key, by),
                "mean": r.share,
                "low": r.ends[0],
                "high": r.ends[1],
            }
        )
    tones = series_colours(series, ordered=len(series) > MOST_COLOURS)
    return dots(groups, axis="share of green actions", series=tones, domain=(0, 1))


PANEL = Roles
