"""Reward per round as the memory study counts it: by what players see, without those who never chose."""

from ostrom.analysis.measure import Measure
from ostrom.analysis.measures.payoff import paid_by_the_game
from ostrom.replications.memory_curse.played import SPLITS, of_player

MEASURE = Measure(
    name="memory_reward",
    title="Reward per round",
    scale="points",
    definition=(
        "What a player is paid per round of a match; players whose every action the policy gave are left out."
    ),
    needs=("decisions.payoff", "matches.agent_memory"),
    bounds=paid_by_the_game,
    values=of_player("mean_reward"),
    columns=SPLITS,
    source="Liu et al. (2026)",
)
