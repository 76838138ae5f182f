"""Prediction accuracy: how often a player or observer predicts an action rightly."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="prediction_accuracy",
    title="Right predictions",
    scale="share",
    definition=(
        "Whether a prediction is what the predicted player then did, by round (column round) and by whom it is "
        "about (column target_agent). Missed predictions and void rounds are left out."
    ),
    unit="decision",
    needs=("decisions.target",),
    values=(
        "SELECT p.match, p.player, p.round, a.agent AS target_agent, (p.answer = a.action)::INTEGER AS value "
        "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
        "WHERE starts_with(p.kind, 'predict') AND a.kind = 'act' AND a.action IS NOT NULL AND p.answer IS NOT NULL "
        "ORDER BY p.round, p.match, p.player, p.target"
    ),
)
