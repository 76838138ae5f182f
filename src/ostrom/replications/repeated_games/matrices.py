"""The payoff matrices of families of 2x2 games as a chart (Akata et al. 2025, Figure 2)."""

from collections.abc import Sequence

from ostrom.data.rundata import RunData
from ostrom.games import build_game
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.ordinal import ordinal_game
from ostrom.reports.canvas import Canvas, Spec, drawing
from ostrom.reports.marks import grid, marks, nominal, view
from ostrom.reports.panel import Drawn, Figure, Panel
from ostrom.reports.theme import INK, RULE, SEQUENCE
from ostrom.reports.words import pretty

CANONICAL = (122, 67, 12, 4, 23, 56)
"""Harmony, Prisoner's Dilemma, Chicken, Biased Cycle, Battle, Deadlock: symmetric ones if a family has any."""
LABELS = "JF"
SIZE = 130
COLUMNS = 3


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
    columns = max(1, min(COLUMNS, int((canvas.width + 24) // (SIZE + 54))))
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
