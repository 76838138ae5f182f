"""Charts of Akata et al. (2025): payoff matrices (Figure 2), and player 1 against player 2 (Figures 3 and 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.population import ALL
from ostrom.data.rundata import RunData
from ostrom.games import build_game
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.ordinal import ordinal_game
from ostrom.reports.canvas import Canvas, Spec, drawing, ticks_for
from ostrom.reports.cells import DONE, agents, varied
from ostrom.reports.declared import triple
from ostrom.reports.layout import cell_label
from ostrom.reports.marks import MOST_PANELS, grid, marks, nominal, tiles, view
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import INK, RULE, SEQUENCE
from ostrom.reports.words import labels, pretty

MEASURES = {
    "defection": ("defection", "defection rate of player 1", "defection rate"),
    "coordination": ("coordination", "share of rounds in which both played the same action", "same action"),
    "favourite": (
        "favourite", "how often player 1 played the action of its own best outcome", "own favourite",
    ),
    "score": ("payoff", "payoff per round of player 1", "payoff per round"),
}  # fmt: skip
"""By table column: the measure, its description, and the legend of a map."""
COLUMNS = "defection1 defection2 score1 score2 coordination favourite1 favourite2".split()
Pairs = dict[tuple[Any, ...], dict[str, Estimate]]
"""Estimates by table column, for each block, player 1 and player 2."""


class GamesPairs(Panel):
    """Who did what against whom: defection and score; in games without a cooperative action coordination and
    the rate of the own favourite instead of defection."""

    title = "What every pair of players did"

    def draw(self, data: RunData) -> Drawn:
        """One map per measure and block of the study: a combination of game and varied factors."""
        players = f"SELECT game, count(seat) AS n FROM matches WHERE {DONE} GROUP BY run, match, game"
        seats = data.records(f"SELECT max(n) AS n, count(DISTINCT game) AS games FROM ({players})")[0]
        if seats["n"] != 2:
            return Drawn(notes=["Nothing to show: it needs finished matches between two players."])
        factors = varied(data)
        by = [*(["game"] if seats["games"] > 1 and "game" not in factors else []), *factors]
        blocks: dict[tuple[Any, ...], Pairs] = {}
        for pair, estimates in _pairs(data, by).items():
            blocks.setdefault(pair[:-2], {})[pair] = estimates
        table = _table(blocks, by)
        if len(blocks) > MOST_PANELS:
            many = f"{len(blocks)} combinations of {', '.join(by)} are too many for maps: see the table."
            return Drawn(tables=[table], notes=[many])
        named, figures = labels(agents(data)), []
        for name, (_, meaning, legend) in MEASURES.items():
            panel_blocks = [block for block in blocks.values() if name in _meaningful(block)]
            if panel_blocks:
                figures.append(
                    Figure(
                        f"games_pairs_{name}",
                        tiles(
                            [_map(named, block, by, name) for block in panel_blocks],
                            legend=legend,
                            titles=("player 2", "player 1"),
                            digits=1 if name == "score" else 2,
                        ),
                        f"{meaning.capitalize()}: rows are player 1, columns player 2. Means over the matches "
                        "of a pair, intervals are in the table; what never met is white.",
                        f"Heat map, player 1 against player 2: {meaning}.",
                    )
                )
        return Drawn(figures, [table])


def _pairs(data: RunData, by: list[str]) -> Pairs:
    by_pair: Pairs = {}
    for name, (measure, *_) in reversed(MEASURES.items()):  # every pair has a score
        for one in estimate(data, measure, [*by, "seat", "agent", "opponents"], where="seat IS NOT NULL", agents=ALL):
            pair = (one.key["agent"], one.key["opponents"])[:: 1 if one.key["seat"] == 1 else -1]
            column = name if name == "coordination" else f"{name}{one.key['seat']}"
            by_pair.setdefault((*(one.key[c] for c in by), *pair), {})[column] = one
    return by_pair


def _meaningful(block: Pairs) -> tuple[str, ...]:
    """Return the applicable measures: defection only if both players can cooperate."""
    dilemma = all("defection1" in estimates and "defection2" in estimates for estimates in block.values())
    measures = ("defection", "score") if dilemma else ("coordination", "favourite", "score")
    return tuple(m for m in measures if any(_column(m) in estimates for estimates in block.values()))


def _column(measure: str) -> str:
    return measure if measure == "coordination" else f"{measure}1"


def _map(named: dict[Any, str], block: Pairs, by: list[str], measure: str) -> Mapping[str, Any]:
    column = _column(measure)
    drawn = {pair: estimates[column] for pair, estimates in block.items() if column in estimates}
    met = {who for pair in drawn for who in pair[-2:]}
    order = [label for agent, label in named.items() if agent in met]
    return {
        "rows": [{"x": named[pair[-1]], "y": named[pair[-2]], "value": one.value} for pair, one in drawn.items()],
        "across": order, "down": order,
        "domain": ticks_for(e.value for e in drawn.values()).domain if measure == "score" else (0.0, 1.0),
        "title": cell_label(dict(zip(by, next(iter(drawn)), strict=False)), by) if by else "",
    }  # fmt: skip


def _table(blocks: dict[tuple[Any, ...], Pairs], by: list[str]) -> Table:
    rows = [
        [*pair, max(one.n for one in cells.values()), *(part for c in COLUMNS for part in triple(cells.get(c)))]
        for block in blocks.values()
        for pair, cells in block.items()
    ]
    parts = [part for name in COLUMNS for part in (name, f"{name}_low", f"{name}_high")]
    return Table(
        "games_pairs",
        [*by, "player1", "player2", "matches", *parts],
        rows,
        "Ordered pairs of players. Rates are taken within a match and averaged over matches, with 95 % intervals; "
        "favourite is the action of a seat's own best outcome, where there is one.",
    )


CANONICAL = (122, 67, 12, 4, 23, 56)
"""Harmony, Prisoner's Dilemma, Chicken, Biased Cycle, Battle, Deadlock: symmetric ones if a family has any."""
LABELS = "JF"
SIZE = 130


class GamesMatrices(Panel):
    """One game of every family, the ranks of both players in every cell; pure equilibria are shaded."""

    title = "Payoff matrices of the families"

    def __init__(self, numbers: Sequence[int] = CANONICAL) -> None:
        if not numbers:
            raise ValueError("numbers must name at least one game")
        self.games = [ordinal_game(number) for number in numbers]

    def draw(self, data: RunData) -> Drawn:  # noqa: ARG002
        """Draw the games, the same for every run."""
        figure = Figure(
            "games_matrices",
            _matrices([game.number for game in self.games]),
            "One game of each family: ranks from 4, the best, to 1, of player 1 (rows) and player 2 (columns). Pure "
            "equilibria are shaded; a cyclic game has none.",
            "Payoff matrices of " + ", ".join(f"{game.name} ({game.family})" for game in self.games) + ".",
        )
        return Drawn([figure])


@drawing
def _matrices(canvas: Canvas, numbers: Sequence[int]) -> Spec:
    columns = max(1, min(3, int((canvas.width + 24) // (SIZE + 54))))
    return grid([_matrix(canvas, number) for number in numbers], columns, spacing=24)


def _matrix(canvas: Canvas, number: int) -> Spec:
    game, ordinal = build_game(f"ordinal_2x2:{number}"), ordinal_game(number)
    stable = {equilibrium.profile for equilibrium in pure_equilibria(game)}
    cells = [
        {
            "row": LABELS[profile[0]],
            "column": LABELS[profile[1]],
            "ranks": ", ".join(f"{paid:g}" for paid in game.payoff(profile)),
            "stable": profile in stable,
        }
        for profile in game.profiles()
    ]
    shared = {
        "x": nominal("column", sort=list(LABELS), title=None, axis={"orient": "top", "labelAngle": 0, "ticks": False}),
        "y": nominal("row", sort=list(LABELS), title=None, axis={"ticks": False}),
    }
    shade = {"condition": {"test": "datum.stable", "value": SEQUENCE[0]}, "value": "white"}
    layers = [
        marks("rect", {**shared, "color": shade}, stroke=RULE, strokeWidth=1),
        marks("text", {**shared, "text": nominal("ranks")}, fontSize=14, color=INK),
    ]
    title = {"text": canvas.title(f"{pretty(ordinal.family)}: {ordinal.name} ({number})", SIZE + 20), "fontSize": 11}
    return view(layers, SIZE, SIZE * 0.6, title, cells)
