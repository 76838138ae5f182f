"""Cooperation as the memory study counts it: by what players see, without those who never chose."""

from ostrom.analysis.measure import Measure
from ostrom.replications.memory_curse.played import SPLITS, of_player

MEASURE = Measure(
    name="memory_cooperation",
    title="Cooperation",
    scale="share",
    definition=(
        "The share of a player's cooperative actions in a match; "
        "players whose every action the policy gave are left out."
    ),
    needs=("matches.cooperation", "matches.agent_memory"),
    values=of_player("cooperation"),
    columns=SPLITS,
    source="Liu et al. (2026)",
)
