"""What strategy a player followed: strategy frequencies and memory-one response tables."""

from ostrom.analysis.inference.choices import PlayedMatch
from ostrom.analysis.inference.comparison import (
    LeftOut,
    leave_one_out,
)
from ostrom.analysis.inference.frequencies import StrategyFrequencies, StrategyWeight, strategy_frequencies
from ostrom.analysis.inference.prescribed import DEFAULT_CANDIDATES, named_candidates, prescribed_moves
from ostrom.analysis.inference.responses import PlayedPair, ResponseTable, StateResponse, response_table
from ostrom.analysis.inference.runs import AgentFrequencies, Responses, RunInference, infer_strategies

__all__ = [
    "DEFAULT_CANDIDATES",
    "AgentFrequencies",
    "LeftOut",
    "PlayedMatch",
    "PlayedPair",
    "ResponseTable",
    "Responses",
    "RunInference",
    "StateResponse",
    "StrategyFrequencies",
    "StrategyWeight",
    "infer_strategies",
    "leave_one_out",
    "named_candidates",
    "prescribed_moves",
    "response_table",
    "strategy_frequencies",
]
