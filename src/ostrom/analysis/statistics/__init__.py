"""Statistics: pure functions on plain sequences.

Every result with an uncertainty is an Estimate or holds one.

Every call names its unit of analysis (`unit="match"`) and every result repeats it. Degenerate input raises a
`StatisticsError` (one line); only tables with many cells answer with explicitly undefined cells (None and a
note). Random draws come from a `numpy.random.Generator` of the caller. Importing this package does not
import scipy.
"""

from ostrom.analysis.statistics.counts import ChiSquare, Kappa, chi_square, cohens_kappa, wilson
from ostrom.analysis.statistics.logistic import gee_logistic, logistic_regression
from ostrom.analysis.statistics.means import (
    BayesFactor,
    cohens_d,
    cohens_d_paired,
    jzs_from_t,
    jzs_paired,
    jzs_two_sample,
    paired_t,
    pearson,
    student_t,
    welch_t,
)
from ostrom.analysis.statistics.regression import FittedRegression, linear_mixed_model
from ostrom.analysis.statistics.resampling import Permutation, permutation_grouped, permutation_paired
from ostrom.analysis.statistics.result import Estimate, StatisticalTest, holm, overlap
from ostrom.analysis.statistics.samples import BadSample, NotConverged, StatisticsError, Undefined, without_rounding

__all__ = [
    "BadSample",
    "BayesFactor",
    "ChiSquare",
    "Estimate",
    "FittedRegression",
    "Kappa",
    "NotConverged",
    "Permutation",
    "StatisticalTest",
    "StatisticsError",
    "Undefined",
    "chi_square",
    "cohens_d",
    "cohens_d_paired",
    "cohens_kappa",
    "gee_logistic",
    "holm",
    "jzs_from_t",
    "jzs_paired",
    "jzs_two_sample",
    "linear_mixed_model",
    "logistic_regression",
    "overlap",
    "paired_t",
    "pearson",
    "permutation_grouped",
    "permutation_paired",
    "student_t",
    "welch_t",
    "wilson",
    "without_rounding",
]
