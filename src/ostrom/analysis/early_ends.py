"""Matches that the game itself can end before the last round: a stock that is gone, a market that closes."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.games.function import FunctionGame

OVER = "json_extract_string(any_value(facts), '$.over')"
"""Why the game ended a match (``End.over``), in SQL over the rows of a match; NULL where it did not."""

UNPLAYED = "TRY_CAST(json_extract_string(any_value(facts), '$.unplayed') AS INTEGER)"
"""How many rounds the game took away where chance ends matches; NULL: all up to the last one."""


def early_ends(data: RunData, measure: str) -> dict[int, tuple[bool, int]]:
    """Whether its game ended a match (``End.over``, whatever the word), and after how many rounds, by match.

    Only of matches that could have ended so: the game leaves something behind for the next round (``stateful``) and
    is played for rounds. Refused where the run has no such match, as all would count as ended in time.
    """
    found: dict[int, tuple[bool, int]] = {}
    rows = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over FROM matches "
        "GROUP BY match ORDER BY match"
    )
    for row in rows:
        unit = data.unit(row["match"])
        stateful = isinstance(unit.game, FunctionGame) and unit.game.stateful and not unit.mechanism.one_shot
        if stateful or row["over"]:
            found[row["match"]] = (row["over"], row["rounds"])
    if rows and not found:
        raise UsageError(
            f"measure {measure}: no match of {data.name} can end early; that takes a game by a rule with "
            "stateful=True that returns End(..., over=...), played for rounds"
        )
    return found
