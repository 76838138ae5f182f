"""When two payoffs count as equal.

Payoffs are floats, and 0.1 + 0.2 is not 0.3: a difference far below what the payoffs can resolve is a tie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RELATIVE = 1e-12


def tie_width(payoffs: NDArray[np.float64]) -> float:
    """Differences up to this count as ties: 1e-12 of the largest payoff in absolute value.

    >>> import numpy as np
    >>> bool(abs((0.1 + 0.2) - 0.3) <= tie_width(np.array([0.3, 1.0])))
    True
    """
    return RELATIVE * float(np.abs(payoffs).max())
