"""From which round on moves were predicted without a mistake (Akata et al. 2025).

Predictions are asked by the mechanism (of players or of an observer) or made on the way to a choice (style
social). Each is held against what the predicted seat then did in that round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.data.rundata import RunData, quoted


def first_right_rounds(data: RunData, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    """From which round on every prediction is right: one row per match, predictor and predicted seat.

    ``from_round`` is None where even the last prediction is wrong.
    """
    keys = "match player seat agent agent_style strategy target".split()
    picked = ", ".join(f"p.{quoted(name)}" for name in dict.fromkeys([*keys, *by]))
    return data.records(
        f"SELECT {picked}, a.agent AS target_agent, "
        "max(CASE WHEN p.answer IS DISTINCT FROM a.action THEN p.round END) AS wrong, "
        "CASE WHEN wrong IS NULL THEN min(p.round) WHEN wrong < max(p.round) THEN wrong + 1 END AS from_round "
        "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
        "WHERE starts_with(p.kind, 'predict') AND p.state = 'done' AND p.unit = 'match' "
        "AND a.kind = 'act' AND a.action IS NOT NULL GROUP BY ALL ORDER BY p.match, p.player, p.target"
    )
