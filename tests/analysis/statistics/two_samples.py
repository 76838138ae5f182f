"""A permutation test of two samples, as a table of values and labels."""

from typing import Any

import numpy as np

from ostrom.analysis.statistics import Permutation, permutation_grouped


def permutation_two_sample(first: Any, second: Any, **options: Any) -> Permutation:
    """Whether two independent samples could be one: units swap sides."""
    values = np.concatenate([first, second])
    return permutation_grouped(values, np.repeat([1.0, 0.0], [len(first), len(second)]), **options)
