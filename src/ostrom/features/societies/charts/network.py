"""A society's network over time: one circle for each round, coloured by the members' actions or types."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import cos, pi, sin
from typing import Any, Literal

from ostrom.data.rundata import RunData
from ostrom.features.societies.networks import Seen, facts_of, seen_rounds
from ostrom.ground.values import grouped
from ostrom.reports.canvas import Canvas, Spec, drawing
from ostrom.reports.cells import spread, varied
from ostrom.reports.layout import JOINT, cell_label
from ostrom.reports.marks import grid, marks, quantity, tinted, view
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import COOPERATES, DEFECTS, LINE, QUIET, colours

SIZE = 150
MOST_LINKS = 1500
"""The most links drawn: beyond this a circle would be a filled disc."""


class NetworkOverTime(Panel):
    """One row per match (the first ones of cells that are spread over the study), one circle per chosen round.

    ``colour`` is ``action`` (cooperates or not) or ``type`` (what a member plays as). Members keep their place on the
    circle: neighbours on a ring stand side by side, communities are arcs; a point is larger the more links it has.
    """

    title = "The network over time"

    def __init__(
        self,
        rounds: Sequence[int] | None = None,
        matches: int = 3,
        colour: Literal["action", "type"] = "action",
        title: str | None = None,
    ) -> None:
        for holds, problem in (
            (colour in ("action", "type"), f"colour must be action or type (found {colour!r})"),
            (1 <= matches <= 12, f"matches must lie between 1 and 12 (found {matches})"),
            (
                rounds is None or (not isinstance(rounds, str) and 1 <= len(rounds) <= 8),
                f"rounds must list 1 to 8 rounds (found {rounds!r})",
            ),
        ):
            if not holds:
                raise ValueError(problem)
        self.rounds, self.matches, self.colour = rounds, matches, colour
        self.title = title or self.title

    def draw(self, data: RunData) -> Drawn:
        """Circles, and a table of what they show."""
        facts = facts_of(data)
        if not facts:
            return Drawn(notes=["No finished match has a network."])
        chosen = self._choose(data, [*facts])
        rounds = grouped((one.match, (one.round, one)) for one in seen_rounds(data) if one.match in chosen)
        seen, rows = {match: dict(of) for match, of in rounds.items()}, []
        heads = {
            row["match"]: row for row in data.records("SELECT * FROM matches WHERE player = 1") if row["match"] in seen
        }
        members = sorted({agent for of in seen.values() for s in of.values() for agent in s.agent.values()})
        tones = (
            {"cooperates": COOPERATES, "does not cooperate": DEFECTS, "sits out": LINE}
            if self.colour == "action"
            else {**dict(zip(members, colours(members), strict=True)), "sits out": LINE}
        )
        circles: list[tuple[str, Sequence[tuple[Seen, Mapping[str, Any], str]]]] = []
        for match in chosen:
            picked = {at: seen[match][at] for at in _picked(sorted(seen[match]), self.rounds)}
            label = cell_label(heads[match], varied(data))
            drawn = [(one, facts[match], f"round {at}") for at, one in picked.items()]
            circles.append((JOINT.join(filter(None, [f"match {match}", label])), drawn))
            for at, one in picked.items():
                active = [did for did in one.cooperates.values() if did is not None]
                share = sum(active) / len(active) if active else None
                rows.append([match, label, at, len(one.action), len(one.links), share])
        crowded = any(len(one.links) > MOST_LINKS for _, drawn in circles for one, *_ in drawn)
        chart = _circles(self._circle, circles, tones)
        what = "whether they cooperate" if self.colour == "action" else "the type they play as"
        caption = (
            f"Members of a society on a circle, coloured by {what}; lines are links, larger points have more of them. "
            "Single matches: the first of cells that are spread evenly over the study."
        )
        figure = Figure(
            f"network_{self.colour}", chart, caption, f"Networks of {len(chosen)} matches in {len(rows)} rounds."
        )
        table = Table(
            f"network_{self.colour}", ["match", "cell", "round", "members", "links", "cooperation"], rows,
            "What the circles show.",
        )  # fmt: skip
        return Drawn([figure], [table], ["Links are left out where there are too many to tell apart."] * crowded)

    def _choose(self, data: RunData, available: Sequence[int]) -> list[int]:
        by = ", ".join(f'"{name}"' for name in data.factors)
        firsts = data.records(
            "SELECT min(match) AS match FROM matches WHERE player = 1 AND state = 'done' "
            + (f"GROUP BY {by} " if by else "")
            + "ORDER BY 1"
        )
        return spread([row["match"] for row in firsts if row["match"] in available], self.matches)

    def _circle(self, seen: Seen, facts: Mapping[str, Any], title: str, tones: Mapping[str, str], key: Spec) -> Spec:
        size = len(facts["homes"])
        place = {
            player + 1: (round(sin(2 * pi * home / size), 4), round(cos(2 * pi * home / size), 4))
            for player, home in enumerate(facts["homes"])
        }
        degree = Counter(end for pair in seen.links for end in pair)
        dots = [
            {"x": x, "y": y, "is": self._is(seen, player), "links": degree[player]} for player, (x, y) in place.items()
        ]
        lines = [
            {"x": place[one][0], "y": place[one][1], "x2": place[other][0], "y2": place[other][1]}
            for one, other in sorted(seen.links)
        ]
        at = {side: quantity(side, axis=None, scale={"domain": [-1.08, 1.08]}) for side in "xy"}
        looks = {
            "size": quantity(
                "links", legend=None, scale={"domain": [0, max(degree.values(), default=1)], "range": [14, 90]}
            ),
            "color": tinted("is", tones, key),
        }
        layers = [marks("point", {**at, **looks}, dots, filled=True, opacity=1)]
        if lines and len(lines) <= MOST_LINKS:
            ends = {**at, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
            layers.insert(0, marks("rule", ends, lines, color=QUIET, opacity=0.35, strokeWidth=0.6))
        return view(layers, SIZE, SIZE, {"text": title, "fontWeight": "normal", "offset": 2, "frame": "group"})

    def _is(self, seen: Seen, player: int) -> str:
        if player not in seen.action:
            return "sits out"
        did = "cooperates" if seen.cooperates[player] else "does not cooperate"
        return seen.agent[player] if self.colour == "type" else did


@drawing
def _circles(
    canvas: Canvas,
    circle: Callable[..., Spec],
    circles: Sequence[tuple[str, Sequence[tuple[Seen, Mapping[str, Any], str]]]],
    tones: Mapping[str, str],
) -> Spec:
    """A row of circles for each match, in as many columns as fit."""
    columns, key = max(1, int((canvas.width + 14) // (SIZE + 14))), canvas.legend(tones, title=None)
    rows = [
        {
            "title": canvas.title(title, canvas.width, bold=True), "columns": columns, "spacing": 14,
            "concat": [circle(*one, tones, key) for one in drawn],
        }
        for title, drawn in circles
    ]  # fmt: skip
    return grid(rows, 1, spacing=16)


def _picked(available: Sequence[int], wanted: Sequence[int] | None) -> list[int]:
    """Return the rounds to draw: the requested ones that were played, or four spread over the match."""
    played = [number for number in wanted or () if number in available]
    return spread(available, 4) if wanted is None else played or [available[-1]]


CHART = NetworkOverTime
