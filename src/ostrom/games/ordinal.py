"""The 144 strict ordinal 2x2 games (Rapoport & Guyer 1966; Robinson & Goforth 2005) from twelve patterns.

Each seat ranks the four outcomes from 1 to 4 without ties. Modulo exchanging rows and exchanging columns this
gives 24 x 24 / 4 = 144 games. In the table of Akata et al. (2025) the ranks of seat 1 depend only on the row
and those of seat 2 only on the column, so twelve patterns say everything and a typing error is impossible.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from ostrom.games.game import Game
from ostrom.ground.errors import GameError

Ranks = tuple[int, int, int, int]
"""Ranks at (row 1, column 1), (row 1, column 2), (row 2, column 1), (row 2, column 2)."""

PATTERNS: tuple[Ranks, ...] = (
    (3, 2, 4, 1),  # Chicken
    (2, 3, 4, 1),  # Battle
    (1, 3, 4, 2),  # Hero
    (1, 2, 4, 3),  # Compromise
    (2, 1, 4, 3),  # Deadlock
    (3, 1, 4, 2),  # Prisoner's Dilemma
    (4, 1, 3, 2),  # Stag Hunt
    (4, 1, 2, 3),  # Assurance
    (4, 2, 1, 3),  # Coordination
    (4, 3, 1, 2),  # Peace
    (4, 3, 2, 1),  # Harmony
    (4, 2, 3, 1),  # Concord
)
"""Seat 1's ranks in rows 1 to 12 of the table, each named after the symmetric game of that row."""

FAMILIES = ("cyclic", "win-win", "biased", "unfair", "second-best", "pd-family", "tragic")


@dataclass(frozen=True)
class OrdinalGame:
    """One of the 144 games: its place in the table, ranks, name and family."""

    number: int
    row: int
    col: int
    name: str
    other_name: str | None
    family: str
    seat1: Ranks
    seat2: Ranks

    @property
    def matrix(self) -> list[list[tuple[float, float]]]:
        """The ranks as a matrix of pairs."""
        cells = list(zip(self.seat1, self.seat2, strict=True))
        return [[cells[0], cells[1]], [cells[2], cells[3]]]


@cache
def ordinal_game(number: int) -> OrdinalGame:
    """The ordinal game of a number from 1 to 144.

    >>> game = ordinal_game(67)
    >>> game.name, game.family, game.seat1, game.seat2
    ("Prisoner's Dilemma", 'pd-family', (3, 1, 4, 2), (3, 4, 1, 2))
    """
    if not 1 <= number <= 144:
        raise GameError(f"ordinal games are numbered from 1 to 144 (found {number})")
    row, col = (number - 1) // 12 + 1, (number - 1) % 12 + 1
    seat1, seat2 = PATTERNS[row - 1], transposed(PATTERNS[12 - col])
    return OrdinalGame(
        number, row, col, NAMES[row - 1][col - 1], OTHER_NAMES.get(number), family(seat1, seat2), seat1, seat2
    )


@cache
def ordinal_games() -> tuple[OrdinalGame, ...]:
    """Return all 144 ordinal games in the order of their numbers."""
    return tuple(ordinal_game(number) for number in range(1, 145))


def transposed(ranks: Ranks) -> Ranks:
    """Return ranks with rows and columns exchanged: the other seat's view."""
    a, b, c, d = ranks
    return a, c, b, d


def family(seat1: Ranks, seat2: Ranks) -> str:
    """Return the family of a game by the payoffs of its pure equilibria; the first match wins.

    >>> family((4, 1, 3, 2), (4, 3, 1, 2))
    'win-win'
    """
    at = [
        (seat1[i], seat2[i])
        for i in range(4)
        if seat1[i] >= seat1[i ^ 2] and seat2[i] >= seat2[i ^ 1]  # i ^ 2: the other row; i ^ 1: the other column
    ]
    if not at:
        return "cyclic"
    for paid, name in (((4, 4), "win-win"), ((3, 4), "biased"), ((2, 4), "unfair"), ((3, 3), "second-best")):
        if any(tuple(sorted(cell)) == paid for cell in at):
            return name
    cells = list(zip(seat1, seat2, strict=True))
    return "pd-family" if any(a > x and b > y for x, y in at for a, b in cells) else "tragic"


def classify(game: Game) -> OrdinalGame | None:
    """Return which of the 144 a 2x2 game is, by the order of its payoffs; None for ties or other shapes.

    >>> from ostrom.games import games
    >>> build = games.get("chicken")
    >>> classify(build()).name
    'Chicken'
    """
    if tuple(map(len, game.actions)) != (2, 2):
        return None
    seat1, seat2 = (_ranks([float(x) for x in game.payoffs[..., seat].ravel()]) for seat in (0, 1))
    return None if seat1 is None or seat2 is None else _by_ranks()[seat1, seat2]


def _ranks(values: list[float]) -> Ranks | None:
    order = sorted(values)
    if len(set(order)) < 4:
        return None
    a, b, c, d = (order.index(v) + 1 for v in values)
    return a, b, c, d


def exchanged(ranks: Ranks, rows: bool, cols: bool) -> Ranks:
    """Ranks with the two rows exchanged, the two columns, or both."""
    a, b, c, d = (ranks[i ^ (2 * rows) ^ (1 * cols)] for i in range(4))
    return a, b, c, d


@cache
def _by_ranks() -> dict[tuple[Ranks, Ranks], OrdinalGame]:
    return {
        (exchanged(game.seat1, rows, cols), exchanged(game.seat2, rows, cols)): game
        for game in ordinal_games()
        for rows, cols in product((False, True), repeat=2)
    }


NAMES: tuple[tuple[str, ...], ...] = (
    (  # row 1
        "Hegemony",
        "Samaritan Dilemma",
        "Quasi Altruist",
        "Biased Cycle",
        "Inferior Cycle",
        "Endless",
        "Called Bluff",
        "Bully",
        "Unfair Type",
        "Skewed Battle",
        "Asym Battle",
        "Chicken",
    ),
    (  # row 2
        "Samson",
        "Generous",
        "Generous",
        "Quasi Cycle",
        "Tragic Cycle",
        "Inspector",
        "Patron",
        "Protector",
        "Protector",
        "Quasi Battle",
        "Battle",
        "Asym Battle",
    ),
    (  # row 3
        "Delilah",
        "Generous",
        "Generous",
        "Pursuit Cycle",
        "Fixed Sum",
        "Missile Crisis",
        "Patron",
        "Protector",
        "Protector",
        "Hero",
        "Quasi Battle",
        "Skewed Battle",
    ),
    (  # row 4
        "Hostage",
        "Benevolent",
        "Subsym Benevolent",
        "Second Best",
        "Second Best",
        "Big Bully",
        "Tragedy",
        "Asym Delight",
        "Pure Delight",
        "Protector",
        "Protector",
        "Unfair Type",
    ),
    (  # row 5
        "Blackmail Type",
        "Benevolent Type",
        "Benevolent",
        "Second Best",
        "Second Best",
        "Hamlet",
        "Total Conflict",
        "Deadlock",
        "Asym Delight",
        "Protector",
        "Protector",
        "Bully",
    ),
    (  # row 6
        "Hegemony Type",
        "Altruist Type",
        "Altruist",
        "Revelation",
        "Alibi",
        "Asym Prisoner's Dilemma",
        "Prisoner's Dilemma",
        "Total Conflict",
        "Tragedy",
        "Patron",
        "Patron",
        "Called Bluff",
    ),
    (  # row 7
        "Low Conflict",
        "Aligned",
        "Pure Aligned",
        "Asym Coordination",
        "Asym Assurance",
        "Stag Hunt",
        "Asym Prisoner's Dilemma",
        "Hamlet",
        "Big Bully",
        "Missile Crisis",
        "Inspector",
        "Endless",
    ),
    (  # row 8
        "Mutual",
        "Privileged",
        "Privileged",
        "Pure Coordination",
        "Assurance",
        "Asym Assurance",
        "Alibi",
        "Second Best",
        "Second Best",
        "Fixed Sum",
        "Tragic Cycle",
        "Inferior Cycle",
    ),
    (  # row 9
        "Mutual",
        "Privileged",
        "Privileged",
        "Coordination",
        "Pure Coordination",
        "Asym Coordination",
        "Revelation",
        "Second Best",
        "Second Best",
        "Pursuit Cycle",
        "Quasi Cycle",
        "Biased Cycle",
    ),
    (  # row 10
        "Aligned",
        "Asym Harmony",
        "Mixed Harmony",
        "Privileged",
        "Privileged",
        "Pure Aligned",
        "Altruist",
        "Benevolent",
        "Subsym Benevolent",
        "Generous",
        "Generous",
        "Quasi Altruist",
    ),
    (  # row 11
        "Pure Aligned",
        "Harmony",
        "Asym Harmony",
        "Privileged",
        "Privileged",
        "Aligned",
        "Altruist Type",
        "Benevolent Type",
        "Benevolent",
        "Generous",
        "Generous",
        "Samaritan Dilemma",
    ),
    (  # row 12
        "No Conflict",
        "Pure Aligned",
        "Aligned",
        "Mutual",
        "Mutual",
        "Low Conflict",
        "Hegemony Type",
        "Blackmail Type",
        "Hostage",
        "Delilah",
        "Samson",
        "Hegemony",
    ),
)
"""The names of the games in the table: ``NAMES[row - 1][column - 1]``."""

OTHER_NAMES = {45: "Compromise", 111: "Peace", 133: "Concord"}
"""Other names of symmetric games in Bruns (2015), by the number of the game."""
