"""A map of Nash rates: one line per agent, one column per condition, one block per type of scenario."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName
from ostrom.replications.personas.panels._shared import NOTHING, condition_label, conditions
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import MEASURES, Rate, rates
from ostrom.reports.maps import side_by_side, tiles
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import Share, labels, pretty

COLUMNS = ("successes", "n", "share", "low", "high", "scenarios", "method", "note")


class NashMap(Panel):
    """How often profiles are equilibria; ``measure`` takes any other rate of profiles."""

    def __init__(self, measure: str = "nash_rate") -> None:
        if measure not in MEASURES:
            raise UnknownName("measure of profiles", measure, MEASURES)
        self.measure = measure
        self.title = f"{pretty(measure).capitalize()} by agent and condition"

    def draw(self, data: RunData) -> Drawn:
        """The map, and a table with intervals."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=[NOTHING])
        by = conditions(data, found)
        made = rates(found, self.measure, by=("agent", *by))
        table = Table(
            f"personas_{self.measure}",
            ["scenario type", "agent", *by, *COLUMNS],
            [[r.scenario_type, *r.key.values(), *cells(r)] for r in made],
            f"{pretty(self.measure).capitalize()} with 95 % intervals over scenarios.",
        )
        caption = (
            "Share of played profiles"
            + (" that are pure Nash equilibria" if self.measure == "nash_rate" else "")
            + " by agent and condition, for all scenarios with one canonical equilibrium and for each class; "
            "mixed scenarios stand apart."
        )
        figure = Figure(
            f"personas_{self.measure}", _chart(made, by), caption, f"Map of the {pretty(self.measure)}."
        )
        return Drawn([figure], [table])


def cells(rate: Rate) -> list[Any]:
    """A rate as cells of a table."""

    made = rate.as_dict()
    shown = [None if made[name] is None else Share(made[name]) for name in ("share", "low", "high")]
    return [rate.successes, rate.n, *shown, made["scenarios"], made["method"], rate.note or None]


def _chart(made: list[Rate], by: list[str]) -> Any:
    names = labels(r.key["agent"] for r in made)
    shown = [r for r in made if r.share is not None]
    across = list(dict.fromkeys(condition_label(r.key, by) for r in shown))
    down, kinds = list(names.values()), dict.fromkeys(r.scenario_type for r in shown)
    maps = [
        tiles(
            [
                {"x": condition_label(r.key, by), "y": names[r.key["agent"]], "value": r.share}
                for r in shown
                if r.scenario_type == kind
            ],
            across=across, down=down, legend="share", domain=(0.0, 1.0), title=kind, percent=True,
            beside=len(kinds),
        )
        for kind in kinds
    ]  # fmt: skip
    return side_by_side(maps, across, down)


PANEL = NashMap
