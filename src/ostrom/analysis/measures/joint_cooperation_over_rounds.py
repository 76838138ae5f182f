"""Joint cooperation over rounds: whether all players cooperate in a round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="joint_cooperation_over_rounds",
    title="Joint cooperation over the rounds",
    scale="share",
    definition="Whether every player of a match plays a cooperative action, by round (column round).",
    unit="decision",
    needs=("decisions.cooperative",),
    columns=("round",),
    values=(
        "SELECT match, round, bool_and(cooperative)::INTEGER AS value FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, round ORDER BY round, match"
    ),
    source="Akata et al. (2025), Figure 7",
)
