"""What players are paid in whole matches."""

from __future__ import annotations

from ostrom.data.rundata import RunData

ACTED = (
    "SELECT match, player, sum(payoff) AS total FROM decisions WHERE kind = 'act' AND payoff IS NOT NULL "
    "GROUP BY match, player ORDER BY match, player"
)
PAID = "SELECT match, player, total FROM matches WHERE total IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"


def totals(data: RunData) -> dict[int, dict[int, float]]:
    """The sum of payoffs over all rounds, by match and player; also of players who had nothing to decide."""
    found: dict[int, dict[int, float]] = {}
    for row in data.records(PAID if "total" in data.columns("matches") else ACTED):
        found.setdefault(row["match"], {})[row["player"]] = row["total"]
    return found
