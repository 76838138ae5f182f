"""How good the designs are: do mediators and contracts make cooperation stable?"""

from __future__ import annotations

from typing import Any

import orjson

from ostrom.analysis.intervals import share_of
from ostrom.data.rundata import RunData
from ostrom.mechanisms.designed import Design
from ostrom.replications.coopeval.designs import quality
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels, pretty

QUALITIES = {
    "equilibrium": "everybody cooperating is an equilibrium",
    "dominant": "cooperating (delegating) is weakly dominant",
}


class MechanismDesigns(Panel):
    """The share of designs under which cooperation is an equilibrium, and under which it is dominant."""

    title = "Design quality"

    def draw(self, data: RunData) -> Drawn:
        """Shares by mechanism, game and designer, and every design."""
        made = _designs(data)
        if not made:
            return Drawn(notes=["No player designed anything in this run."])
        notes = []
        missing = sum(d["design"] is None for d in made)
        if missing:
            notes.append(f"{missing} of {len(made)} designs were never made (failed or skipped).")
        by_policy = sum(d["policy"] for d in made)
        if by_policy:
            notes.append(f"{by_policy} designs were put in place of unreadable ones by the study's policy.")
        done = [d for d in made if d["design"] is not None]
        table = Table(
            "mechanisms_designs",
            [
                "mechanism",
                "game",
                "type",
                "seat",
                "seed",
                "state",
                "design",
                "equilibrium",
                "dominant",
                "policy",
            ],
            [list(d.values()) for d in made],
            "Every design. A mediator: the action for 1, 2, ... delegators. A contract: amounts per action.",
        )
        if not done:
            return Drawn(tables=[table], notes=notes)
        caption = (
            "Share of designs under which everybody cooperating is a Nash equilibrium, and under which the "
            "cooperative action (under a mediator: delegating) is weakly dominant; tolerance 1e-9. 95 % "
            "intervals over designs."
        )
        figure = Figure("mechanisms_designs", _chart(done), caption, "Dots of shares of good designs.")
        return Drawn([figure], [table], notes)


def _designs(data: RunData) -> list[dict[str, Any]]:
    rows = data.records(
        "SELECT match, mechanism, game, agent, seat, seed, state, facts, policies FROM matches "
        "WHERE unit = 'preparation' ORDER BY match"
    )
    made = []
    for row in rows:
        unit = data.unit(row["match"])
        if not isinstance(unit.mechanism, Design):
            continue
        design = orjson.loads(row["facts"])["design"] if row["state"] == "done" else None
        found = None if design is None else quality(unit.mechanism.rules, unit.game, design)
        made.append(
            {
                "mechanism": row["mechanism"], "game": row["game"], "type": row["agent"], "seat": row["seat"],
                "seed": row["seed"], "state": row["state"],
                "design": None if design is None else " ".join(map(str, design)),
                "equilibrium": None if found is None else found.equilibrium,
                "dominant": None if found is None else found.dominant,
                "policy": row["policies"] > 0,
            }
        )  # fmt: skip
    return made


def _chart(done: list[dict[str, Any]]) -> Any:
    types = list(dict.fromkeys(d["type"] for d in done))
    names, coloured = labels(types), len(types) <= MOST_COLOURS
    groups: dict[str, list[dict[str, Any]]] = {words: [] for words in QUALITIES.values()}
    for key in dict.fromkeys((d["mechanism"], d["game"], d["type"]) for d in done):
        of = [d for d in done if (d["mechanism"], d["game"], d["type"]) == key]
        place = f"{pretty(key[0])} · {pretty(key[1])}"
        for name, words in QUALITIES.items():
            share = share_of(sum(d[name] for d in of), len(of), unit="design").limits()
            groups[words].append(
                {
                    "label": place if coloured else f"{place} · {names[key[2]]}",
                    "series": names[key[2]] if coloured else "all types",
                    "mean": share.value, "low": share.low, "high": share.high,
                }
            )  # fmt: skip
    series = series_colours([names[t] for t in types] if coloured else ["all types"])
    return dots(groups, axis="share of designs", series=series, domain=(0, 1))


PANEL = MechanismDesigns
