"""Cooperation on the way to the end, by the number of rounds still to come."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="cooperation_to_go",
    title="Cooperation by rounds to go",
    scale="share",
    definition=(
        "Whether a player's action is cooperative, by the number of rounds to go (column rounds_to_go; 0 is the "
        "last round). Matches of one round are left out."
    ),
    unit="decision",
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, player, rounds - round AS rounds_to_go, cooperative::INTEGER AS value FROM ("
        "SELECT match, player, round, cooperative, max(round) OVER (PARTITION BY match) AS rounds FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL) WHERE rounds > 1 "
        "ORDER BY rounds_to_go DESC, match, player"
    ),
)
