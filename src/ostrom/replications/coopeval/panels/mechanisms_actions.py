"""How often each action is chosen, by mechanism, game and type."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.actions import ActionShare, action_shares
from ostrom.replications.coopeval.panels._shared import nothing_yet
from ostrom.reports.cells import agents, levels
from ostrom.reports.marks import bars
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS, PALETTE, colours
from ostrom.reports.words import labels, pretty


class MechanismActions(Panel):
    """What players choose under each mechanism; delegating is a choice of its own."""

    title = "Action frequencies"

    def draw(self, data: RunData) -> Drawn:
        """One figure per game, one bar per mechanism and type."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        place = {name: i for i, name in enumerate(agents(data))}
        order = {name: i for i, name in enumerate(levels(data, "mechanism"))}
        found = sorted(
            action_shares(data), key=lambda s: (order.get(s.mechanism, -1), place.get(s.agent, -1))
        )
        if not found:
            return Drawn(notes=["No action was chosen in a finished match."])
        games = [game for game in levels(data, "game") if any(share.game == game for share in found)]
        figures = [_figure(game, [share for share in found if share.game == game]) for game in games]
        rows: list[list[Any]] = [
            [s.mechanism, s.game, s.agent, s.choice, s.share, s.chosen, s.decisions, s.matches, s.stated]
            for s in found
        ]
        columns = ["mechanism", "game", "type", "choice", "share", "chosen", "decisions", "matches", "stated"]
        table = Table(
            "mechanisms_actions",
            columns,
            rows,
            "Choices in finished matches; stated: its mean stated probability, where all state odds.",
        )
        return Drawn(figures, [table])


def _figure(game: str, found: list[ActionShare]) -> Figure:
    choices = list(dict.fromkeys(share.choice for share in found))
    tones = colours(choices, ordered=True) if len(choices) > MOST_COLOURS else list(PALETTE)
    parts = {pretty(choice): tone for choice, tone in zip(choices, tones, strict=False)}
    names, mechanisms = labels(s.agent for s in found), labels(s.mechanism for s in found)
    rows = [
        {
            "label": f"{mechanisms[s.mechanism]} · {names[s.agent]}",
            "part": pretty(s.choice),
            "value": s.share,
            "place": choices.index(s.choice),
        }
        for s in found
        if s.chosen
    ]
    order = list(dict.fromkeys(str(row["label"]) for row in rows))
    chart = bars(rows, x="share of decisions", parts=parts, labels=order, shares=True)
    return Figure(
        f"mechanisms_actions_{game}",
        chart.properties(title=pretty(game)),
        f"Choices in {pretty(game)}, all rounds of finished matches.",
        f"Stacked bars of choices by mechanism and type in {pretty(game)}.",
    )


PANEL = MechanismActions
