"""The round of a norm: from when on nearly all do the same."""

from ostrom.analysis.measures.norm import measure

MEASURE = measure(
    "norm_round",
    "Round in which the norm emerges",
    "count",
    "The first round from which on, to the end of the match, at least nine tenths of the players do the same thing. "
    "Matches without a norm at their end have no value.",
    "CASE WHEN broken < rounds THEN broken + 1 END",
)
