"""The payoff matrices of the families of 2x2 games as a picture (Akata et al. 2025, Figure 2)."""

from collections.abc import Sequence
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.games import build_game
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.ordinal import ordinal_game
from ostrom.reports.marks import import_altair, inline
from ostrom.reports.panel import Drawn, Figure, Panel
from ostrom.reports.theme import INK, RULE, SEQUENCE
from ostrom.reports.words import pretty

CANONICAL = (122, 67, 12, 4, 23, 56)
"""Harmony, Prisoner's Dilemma, Chicken, Biased Cycle, Battle, Deadlock: symmetric ones where a family has any."""
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
        """The picture of the games, which is the same for every run."""
        figure = Figure(
            "games_matrices",
            import_altair().concat(*map(_matrix, (game.number for game in self.games)), columns=COLUMNS, spacing=24),
            "One game of each family: ranks from 4, the best, to 1, of player 1 (rows) and player 2 (columns). Pure "
            "equilibria are shaded; a cyclic game has none.",
            "Payoff matrices of " + ", ".join(f"{game.name} ({game.family})" for game in self.games) + ".",
        )
        return Drawn([figure])


def _matrix(number: int) -> Any:
    alt = import_altair()
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
    base = alt.Chart(inline(cells)).encode(
        x=alt.X("column:N", sort=list(LABELS), title=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False)),
        y=alt.Y("row:N", sort=list(LABELS), title=None, axis=alt.Axis(ticks=False)),
    )
    shade = alt.condition("datum.stable", alt.value(SEQUENCE[0]), alt.value("white"))
    return alt.layer(
        base.mark_rect(stroke=RULE, strokeWidth=1).encode(color=shade),
        base.mark_text(fontSize=14, color=INK).encode(text="ranks:N"),
    ).properties(
        width=SIZE,
        height=SIZE * 0.6,
        title=alt.TitleParams(f"{pretty(ordinal.family)}: {ordinal.name} ({number})", fontSize=11),
    )
