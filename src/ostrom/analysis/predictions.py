"""Predictions beside what the predicted player then did."""

PREDICTIONS = (
    "(SELECT p.match, p.player, p.round, p.target, p.answer, a.agent AS target_agent, a.action "
    "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
    "WHERE starts_with(p.kind, 'predict') AND a.kind = 'act' AND a.action IS NOT NULL "
    "QUALIFY row_number() OVER (PARTITION BY p.match, p.player, p.step, p.target ORDER BY a.step < p.step, a.step) = 1)"
)
"""A table in SQL with a row for each prediction.

Where the predicted player decides several times in a round, its next decision counts.
"""
