"""What strategy a player followed: strategy frequencies and memory-one response tables."""

from ostrom.analysis.inference.choices import PlayedMatch
from ostrom.analysis.inference.comparison import (
    CandidateSet,
    LeftOut,
    compare_candidate_sets,
    leave_one_out,
)
from ostrom.analysis.inference.frequencies import StrategyFrequencies, StrategyWeight, strategy_frequencies
from ostrom.analysis.inference.responses import PlayedPair, Response, ResponseTable, response_table

__all__ = [
    "CandidateSet",
    "LeftOut",
    "PlayedMatch",
    "PlayedPair",
    "Response",
    "ResponseTable",
    "StrategyFrequencies",
    "StrategyWeight",
    "compare_candidate_sets",
    "leave_one_out",
    "response_table",
    "strategy_frequencies",
]
