"""Cooperation by round: how many cooperate in each round, by the type that decides."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="cooperation_by_round",
    title="Cooperation by round",
    scale="share",
    definition=(
        "The share of the actions of a round that are cooperative, by the type that decided (columns round, agent). "
        "Where ways of playing spread, that is the type a player plays as in that round."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, round, agent, avg(cooperative::INTEGER) AS value, count(*) AS weight FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, round, agent ORDER BY match, round, agent"
    ),
    columns=("round",),
)
