"""The payoffs of a game as a table for people."""

from __future__ import annotations

from ostrom.games.game import Game
from ostrom.games.parameters import shown


def payoff_table(game: Game) -> tuple[tuple[str, ...], ...]:
    """Rows of cells, the header first: a matrix for two seats, one row per outcome for any other number.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> for row in payoff_table(build()): print(row)
    ('', 'cooperate', 'defect')
    ('cooperate', '3, 3', '0, 5')
    ('defect', '5, 0', '1, 1')
    """
    if game.seats == 2:
        rows, columns = game.actions
        body = [(name, *(_paid(game, (i, j)) for j in range(len(columns)))) for i, name in enumerate(rows)]
        return (("", *columns), *body)
    header = tuple(f"seat {seat}" for seat in range(1, game.seats + 1))
    return (
        (*header, "payoffs"),
        *(
            (*(game.actions[seat][action] for seat, action in enumerate(profile)), _paid(game, profile))
            for profile in game.profiles()
        ),
    )


def _paid(game: Game, profile: tuple[int, ...]) -> str:
    return ", ".join(shown(value) for value in game.payoff(profile))
