"""Matches that the game itself can end before the last round: a stock that is gone, a market that closes."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.games.steps import can_end
from ostrom.ground.errors import UsageError

OVER = "json_extract_string(any_value(facts), '$.over')"
"""Why the game ended a match (``End.over``), in SQL over the rows of a match; NULL where it did not."""

UNPLAYED = "TRY_CAST(json_extract_string(any_value(facts), '$.unplayed') AS INTEGER)"
"""How many rounds the game took away where chance ends matches; NULL: all up to the last one."""


def early_ends(data: RunData, measure: str) -> dict[int, tuple[bool, int]]:
    """Whether its game ended a match (``End.over``, whatever the word), and after how many rounds, by match.

    Only of matches that are played for rounds and could have ended so: a match of the same game did, or matches
    that are tried out do (``can_end``). Refused where the run has no such match, as all would count as survived.
    """
    found: dict[int, tuple[bool, int]] = {}
    rows = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over FROM matches "
        "GROUP BY match ORDER BY match"
    )
    units = {row["match"]: data.unit(row["match"]) for row in rows}
    rows = [row for row in rows if not units[row["match"]].mechanism.one_shot]
    ended = {_key(units[row["match"]].game) for row in rows if row["over"]}
    for row in rows:
        game = units[row["match"]].game
        if _key(game) in ended or (isinstance(game, FunctionGame) and can_end(game)):
            found[row["match"]] = (row["over"], row["rounds"])
    if units and not found:
        raise UsageError(
            f"measure {measure}: no match of {data.name} can end early; that takes a game by a rule that returns "
            "End(..., over=...), played for rounds"
        )
    return found


def _key(game: Game) -> str:
    return f"{game.name} {sorted(game.params.items())}"
