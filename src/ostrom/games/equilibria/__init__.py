"""Solution concepts for games in normal form, one per file."""

from ostrom.games.equilibria.bargaining import BargainingPoints, bargaining_points
from ostrom.games.equilibria.best_responses import PureEquilibrium, best_responses, pure_equilibria
from ostrom.games.equilibria.dominance import (
    Dominated,
    Elimination,
    dominant_action,
    dominated_actions,
    iterated_elimination,
)
from ostrom.games.equilibria.maximin import MixedSecurity, Security, maximin, mixed_maximin
from ostrom.games.equilibria.mixed_2x2 import MixedEquilibria, Piece, mixed_equilibria_2x2
from ostrom.games.equilibria.welfare import SocialOptimum, pareto_frontier, social_optimum

__all__ = [
    "BargainingPoints",
    "Dominated",
    "Elimination",
    "MixedEquilibria",
    "MixedSecurity",
    "Piece",
    "PureEquilibrium",
    "Security",
    "SocialOptimum",
    "bargaining_points",
    "best_responses",
    "dominant_action",
    "dominated_actions",
    "iterated_elimination",
    "maximin",
    "mixed_equilibria_2x2",
    "mixed_maximin",
    "pareto_frontier",
    "pure_equilibria",
    "social_optimum",
]
