"""Survival of types: populations over time, and paths in a triangle for three types."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ostrom.data.rundata import RunData
from ostrom.features.evolution.evolution import DynamicsResult, Tournament, evolve, replicator_paths, run_tournaments
from ostrom.ground.errors import OstromError
from ostrom.replications.coopeval.scores import match_rows, nothing_yet
from ostrom.reports.canvas import Canvas, Spec, drawing
from ostrom.reports.marks import MOST_PANELS, PANEL, above, grid, marks, nominal, quantity, tinted, view
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import INK, MOST_COLOURS, PALETTE, QUIET, RULE
from ostrom.reports.words import labels, written

REST = "others"
REST_COLOUR = "#b8bfc6"
POINTS = 80
"""The number of steps drawn of a path."""
STARTS = tuple((i / 6, j / 6, (6 - i - j) / 6) for i in range(1, 5) for j in range(1, 6 - i))
"""The starts of the paths: evenly spread populations with all three types."""


class MechanismEvolution(Panel):
    """The discrete exponential replicator on the payoffs of every cell, from equal shares."""

    title = "Population streams"

    def __init__(self, eta: float = 0.1, steps: int = 1000, expected: bool = False) -> None:
        self.settings = {"eta": eta, "steps": steps}
        self.expected = bool(expected)

    def draw(self, data: RunData) -> Drawn:
        """Draw one chart per cell; societies and cells with unplayed pairs are listed with the reason."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        by = list(dict.fromkeys(["game", "mechanism", *data.factors]))
        tournaments = run_tournaments(match_rows(data), data.unit, by, expected=self.expected)
        evolved: list[tuple[Tournament, DynamicsResult]] = []
        reasons: dict[str, list[str]] = {}
        for tournament in tournaments:
            if not tournament.matches:
                reasons.setdefault("no match is finished", []).append(_called(tournament))
                continue
            try:
                evolved.append((tournament, evolve(tournament, "replicator", self.settings)))
            except OstromError as error:
                reasons.setdefault(str(error), []).append(_called(tournament))
        notes = [f"{'; '.join(cells)}: {why}." for why, cells in reasons.items()]
        if not evolved:
            return Drawn(notes=notes)
        table = _table(evolved, by)
        if max(len(t.types) for t, _ in evolved) < 2:
            return Drawn([], [table], [*notes, "There is one type only: its population cannot change."])
        if len(evolved) > MOST_PANELS:
            notes.append(f"The charts show the first {MOST_PANELS} of {len(evolved)} cells; the table has all.")
        first_panels = evolved[:MOST_PANELS]
        figures = [_streams(first_panels, self.settings)]
        if all(len(t.types) == 3 for t, _ in first_panels) and len({t.types for t, _ in first_panels}) == 1:
            figures.append(_simplex(first_panels, self.settings))
        return Drawn(figures, [table], notes)


def _called(tournament: Tournament) -> str:
    return " · ".join(written(value) for value in dict.fromkeys(tournament.cell.values()))


def _streams(evolved: Sequence[tuple[Tournament, DynamicsResult]], settings: Mapping[str, Any]) -> Figure:
    total: dict[str, float] = {}
    for _, result in evolved:
        for name, share in result.shares["final"].items():
            total[name] = total.get(name, 0.0) + share
    types = list(total)
    # With more types than colours, small ones are merged.
    order = types if len(type_colours(types)) == len(types) else sorted(types, key=lambda t: -total[t])
    names, colours = labels(types), type_colours(order)
    palette = {names.get(name, name): colour for name, colour in colours.items()}
    rows: list[dict[str, Any]] = []
    for tournament, result in evolved:
        assert result.path is not None
        for step in _sampled(len(result.path.states)):
            shares: dict[str, float] = dict.fromkeys(palette, 0.0)
            for name, share in zip(tournament.types, result.path.states[step], strict=True):
                shares[names[name] if names[name] in shares else REST] += float(share)
            rows += [
                {"step": step, "type": name, "share": share, "place": place, "facet": _called(tournament)}
                for place, (name, share) in enumerate(shares.items())
            ]
    facets = list(dict.fromkeys(row["facet"] for row in rows))
    caption = (
        f"Shares of types under the discrete exponential replicator (eta {settings['eta']:g}, at most "
        f"{settings['steps']} steps, equal shares at the start) on mean scores of all runs."
    )
    return Figure("mechanisms_streams", streams(rows, facets, palette), caption, "Stacked areas of population shares.")


def _sampled(count: int) -> list[int]:
    """Return the steps to draw: dense at the beginning, and always the last.

    >>> _sampled(3)
    [0, 1, 2]
    """
    return sorted({int(step) for step in (np.linspace(0, 1, POINTS) ** 2 * (count - 1)).round().astype(int)})


def _simplex(evolved: Sequence[tuple[Tournament, DynamicsResult]], settings: Mapping[str, Any]) -> Figure:
    paths = {}
    for tournament, _ in evolved:
        states = replicator_paths(tournament.tensor().values, np.array(STARTS), **settings)
        drawn = states[_sampled(len(states))]
        paths[_called(tournament)] = [drawn[:, start].tolist() for start in range(len(STARTS))]
    types = evolved[0][0].types
    names = labels(types)
    chart = triangles(paths, [names[t] for t in types], list(type_colours(types).values()))
    caption = f"Paths of populations of three types from {len(STARTS)} starts; dots mark where they end."
    return Figure("mechanisms_simplex", chart, caption, "Triangles with paths of populations.")


def _table(evolved: Sequence[tuple[Tournament, DynamicsResult]], by: list[str]) -> Table:
    rows = [
        [
            *tournament.cell.values(), name, len(tournament.matches), mean, result.shares["final"][name],
            result.facts["fitness"][name], result.facts["steps"], result.facts["settled"],
        ]
        for tournament, result in evolved
        for name, mean in tournament.means().items()
    ]  # fmt: skip
    columns = [*by, "type", "matches", "mean score", "final share", "final fitness", "steps", "settled"]
    return Table("mechanisms_evolution", columns, rows, "Mean scores and populations at the end.")


def type_colours(types: Sequence[str]) -> dict[str, str]:
    """A colour per type; with more types than colours the last ones share grey as "others"."""
    if len(types) <= MOST_COLOURS:
        return dict(zip(types, PALETTE, strict=False))
    return {**dict(zip(types[: MOST_COLOURS - 1], PALETTE, strict=False)), REST: REST_COLOUR}


@drawing
def streams(
    canvas: Canvas, rows: Sequence[Mapping[str, Any]], facets: Sequence[str], colours: Mapping[str, str]
) -> Spec:
    """Stacked shares over steps in small multiples: rows need step, type, share, place, facet."""
    columns, room = canvas.panels(min(len(facets), 3), PANEL)
    width, key = min(480, room - canvas.axis([0.5])), canvas.legend(colours, title=None)
    end = max(row["step"] for row in rows)
    along: Spec = {
        "scale": {"type": "sqrt", "nice": False, "domain": [0, end]},
        "axis": {"grid": False, "values": [0, end // 4, end], "format": ",d", "labelFlush": True},
    }
    panels = []
    for at, facet in enumerate(facets):
        first, last = at % columns == 0, at + columns >= len(facets)
        encoding = {
            "x": quantity("step", title="step (square-root scale)" if last else None, **along),
            "y": quantity("share", stack="zero", title="share of population" if first else None,
                        scale={"domain": [0, 1]}, axis={"values": [0, 0.5, 1]}),
            "color": tinted("type", colours, key),
            "order": quantity("place"),
        }  # fmt: skip
        of = [dict(row) for row in rows if row["facet"] == facet]
        panels.append(
            view([marks("area", encoding, interpolate="monotone")], width, 150, above(canvas, facet, width), of)
        )
    return grid(panels, columns, align="each")


def corner_place(shares: Sequence[float]) -> tuple[float, float]:
    """Return the position of a population of three types in the triangle: first left, second right, third on top.

    >>> corner_place([0.0, 1.0, 0.0]), corner_place([0.5, 0.5, 0.0])
    ((1.0, 0.0), (0.5, 0.0))
    """
    return shares[1] + shares[2] / 2, shares[2] * sqrt(3) / 2


@drawing
def triangles(
    canvas: Canvas,
    paths: Mapping[str, Sequence[Sequence[Sequence[float]]]],
    types: Sequence[str],
    colours: Sequence[str],
) -> Spec:
    """Paths of populations in a triangle per facet; a dot marks where each path ends."""
    corners = [corner_place([float(i == k) for i in range(3)]) for k in range(3)]
    at = {
        "x": quantity("x", axis=None, scale={"domain": [-0.12, 1.12]}),
        "y": quantity("y", axis=None, scale={"domain": [-0.14, 1.0]}),
    }
    names = [
        {"x": x, "y": y + (0.06 if i == 2 else -0.07), "name": types[i], "colour": colours[i]}
        for i, (x, y) in enumerate(corners)
    ]
    frame = [{"x": x, "y": y, "order": i} for i, (x, y) in enumerate([*corners, corners[0]])]
    columns, room = canvas.panels(min(len(paths), 3), PANEL)
    width = min(230, room)
    panels = []
    for title, lines in paths.items():
        drawn = [
            {"x": place[0], "y": place[1], "path": path, "order": step}
            for path, line in enumerate(lines)
            for step, place in enumerate(map(corner_place, line))
        ]
        ends = [{"x": x, "y": y} for x, y in (corner_place(line[-1]) for line in lines)]
        flow = {**at, "detail": nominal("path"), "order": quantity("order")}
        layers = [
            marks("line", {**at, "order": quantity("order")}, frame, color=RULE, strokeWidth=1.5),
            marks("line", flow, drawn, color=QUIET, strokeWidth=1.1, opacity=0.8),
            marks("point", at, ends, filled=True, color=INK, size=42, opacity=1),
            marks("text", {**at, "text": nominal("name"), "color": nominal("colour", scale=None)}, names, fontSize=11,
                  fontWeight="bold"),
        ]  # fmt: skip
        panels.append(view(layers, width, width * 0.9, canvas.title(title, width, bold=True)))
    return grid(panels, columns)
