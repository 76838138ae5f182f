"""Settled predictions: from which round on a player or observer predicts without a mistake."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="prediction_settled",
    title="All predictions right from here on",
    scale="share",
    definition=(
        "Whether all predictions about a player are right from a round (column round) to the end of the match, "
        "by whom they are about (column target_agent)."
    ),
    unit="decision",
    needs=("decisions.target",),
    values=(
        "SELECT p.match, p.player, p.round, a.agent AS target_agent, (p.round > coalesce(max("
        "CASE WHEN p.answer IS DISTINCT FROM a.action THEN p.round END) "
        "OVER (PARTITION BY p.match, p.player, p.target), 0))::INTEGER AS value "
        "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
        "WHERE starts_with(p.kind, 'predict') AND a.kind = 'act' AND a.action IS NOT NULL "
        "ORDER BY p.round, p.match, p.player, p.target"
    ),
    source="Akata et al. (2025)",
)
