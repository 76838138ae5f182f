"""What strategy a player followed: strategy frequencies and memory-one response tables."""

from ostrom.analysis.repeated_play import DEFAULT_CANDIDATES, named_candidates, prescribed_moves
from ostrom.features.inference.frequencies import (
    LeftOut,
    StrategyFrequencies,
    StrategyWeight,
    leave_one_out,
    strategy_frequencies,
)
from ostrom.features.inference.mixture import PlayedMatch
from ostrom.features.inference.runs import (
    AgentFrequencies,
    PlayedPair,
    Responses,
    ResponseTable,
    RunInference,
    StateResponse,
    infer_strategies,
    response_table,
)

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
