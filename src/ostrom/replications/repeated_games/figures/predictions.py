"""From which round on all predictions of an alternating player are right, as a player and as an observer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostrom.analysis.references import Own
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.figures.averages import median_round
from ostrom.replications.repeated_games.moves import BOS, Match, Side, always
from ostrom.replications.repeated_games.predictions import first_right_rounds

AS_PLAYER, AS_OBSERVER = "first_correct_round_as_player", "first_correct_round_as_observer"


def predictions(data: RunData, found: Sequence[Match]) -> Iterator[Own]:
    """Medians over the series of predictions about a player that changes its action every round."""
    alternating = always(found, BOS, Side.alternates)
    battles = {match.number for match in found if match.game == BOS}
    series: dict[tuple[str, str], list[int | None]] = {}
    for row in first_right_rounds(data):
        # A strategy predicts by its own rule, and a social agent predicts on the way to its choice.
        asked = row["strategy"] is None and row["agent_style"] != "social"
        if asked and row["match"] in battles and row["target_agent"] in alternating:
            measure = AS_OBSERVER if row["seat"] is None else AS_PLAYER
            series.setdefault((row["agent"], measure), []).append(row["from_round"])
    for (agent, measure), reached in series.items():
        yield from median_round(("", BOS, measure), agent, reached, "never right", "series")
