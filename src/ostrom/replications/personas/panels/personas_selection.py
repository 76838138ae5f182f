"""Which equilibrium, if any: bars of what profiles were played."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.replications.personas.panels._shared import NOTHING, condition_label, conditions
from ostrom.replications.personas.profiles import Played, of_type, profiles_of, types_in
from ostrom.reports.marks import bars, import_altair
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels

PARTS = {
    "cooperative equilibrium": "#009E73",
    "defective equilibrium": "#4D4D4D",
    "other equilibrium": "#0072B2",
    "cooperative, no equilibrium": "#9bd8c2",
    "defective, no equilibrium": "#b9c0c8",
    "other": "#f0e6d2",
}


class Selection(Panel):
    """Profiles by kind: all cooperative (green), all defective (tragedy), or between; equilibrium or not."""

    title = "Equilibrium selection"

    def draw(self, data: RunData) -> Drawn:
        """One bar per agent and condition, one block per type of scenario."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=[NOTHING])
        by = conditions(data, found)
        names = labels(p.agent for p in found)
        table, blocks = [], []
        for kind in types_in(found):
            counts: dict[tuple[Any, ...], Counter[str]] = {}
            for p in of_type(found, kind):
                counts.setdefault((p.agent, *(p[name] for name in by)), Counter())[part_of(p)] += 1
            rows = []
            for (agent, *rest), of in sorted(counts.items(), key=lambda item: list(names).index(item[0][0])):
                label = f"{names[agent]}: {condition_label(dict(zip(by, rest, strict=True)), by)}"
                for place, part in enumerate(PARTS):
                    rows.append({"label": label, "part": part, "value": of[part], "place": place})
                table.append([kind, agent, *rest, *(of[part] for part in PARTS), sum(of.values())])
            shown = list(dict.fromkeys(str(row["label"]) for row in rows))
            chart = bars(rows, x="share of profiles", parts=PARTS, labels=shown, shares=True)
            blocks.append(chart.properties(title=kind))
        alt = import_altair()
        caption = (
            "What profiles were played: everybody cooperative (the green transition), everybody defective "
            "(the tragedy) or anything else, and whether the profile is a pure Nash equilibrium."
        )
        figure = Figure(
            "personas_selection", alt.vconcat(*blocks), caption, "Stacked bars of kinds of profiles."
        )
        made = Table(
            "personas_selection",
            ["scenario type", "agent", *by, *PARTS, "profiles"],
            table,
            "Counts of profiles.",
        )
        return Drawn([figure], [made])


def part_of(p: Played) -> str:
    """The kind of a profile."""
    whole = "cooperative" if p.green else "defective" if p.tragedy else "other"
    if p.nash:
        return f"{whole} equilibrium"
    return "other" if whole == "other" else f"{whole}, no equilibrium"


PANEL = Selection
