"""Latency: how long a model takes to reply."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="latency",
    title="Seconds per reply",
    scale="seconds",
    definition="The time from sending a request to its complete reply, averaged over the replies of a match.",
    needs=("calls.latency",),
    values=(
        "SELECT match, player, avg(latency) AS value FROM calls "
        "WHERE error IS NULL AND latency IS NOT NULL GROUP BY match, player"
    ),
)
