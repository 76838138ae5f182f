"""Response time: how long people take to decide."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="response_time",
    title="Response time",
    scale="seconds",
    definition=(
        "Seconds from showing a decision of a match to a person until the answer, averaged over the match; missed "
        "decisions are left out."
    ),
    needs=("decisions.shown", "decisions.answered"),
    values=(
        "SELECT match, player, avg((answered - shown) / 1000.0) AS value FROM decisions "
        "WHERE unit = 'match' AND reading = 'person' AND shown IS NOT NULL GROUP BY match, player"
    ),
)
