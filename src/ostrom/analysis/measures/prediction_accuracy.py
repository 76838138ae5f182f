"""Prediction accuracy: how often a player or observer predicts an action rightly."""

from ostrom.analysis.measure import Measure
from ostrom.analysis.predictions import PREDICTIONS

MEASURE = Measure(
    name="prediction_accuracy",
    title="Right predictions",
    scale="share",
    definition=(
        "Whether a prediction is what the predicted player then did, by round (column round) and by whom it is "
        "about (column target_agent); the next decision of that player in the round counts. Missed predictions "
        "and void rounds are left out."
    ),
    unit="decision",
    needs=("decisions.target",),
    values=(
        "SELECT match, player, round, target_agent, (answer = action)::INTEGER AS value "
        f"FROM {PREDICTIONS} WHERE answer IS NOT NULL ORDER BY round, match, player, target"
    ),
)
