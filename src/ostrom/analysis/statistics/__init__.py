"""Statistics used by all studies: pure functions on plain sequences, frozen results with an explicit unit.

Every call names its unit of analysis (`unit="match"`) and every result repeats it. Degenerate input raises a
`StatisticsError` (one line); only tables with many cells answer with explicitly undefined cells (None and a
note). Random draws come from a `numpy.random.Generator` of the caller. Importing this package does not
import scipy.
"""

from ostrom.analysis.statistics.counts import (
    ChiSquare,
    Kappa,
    Proportion,
    chi_square,
    cohens_kappa,
    wilson,
)
from ostrom.analysis.statistics.logistic import gee_logistic, logistic_regression
from ostrom.analysis.statistics.means import (
    BayesFactor,
    Correlation,
    EffectSize,
    TTest,
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
from ostrom.analysis.statistics.regression import Coefficient, FittedRegression, linear_mixed_model
from ostrom.analysis.statistics.resampling import (
    Permutation,
    permutation_grouped,
    permutation_paired,
)
from ostrom.analysis.statistics.result import Interval, StatisticsResult, ends, holm, overlap
from ostrom.analysis.statistics.samples import (
    BadSample,
    NotConverged,
    StatisticsError,
    Undefined,
    without_rounding,
)

__all__ = [
    "BadSample",
    "BayesFactor",
    "ChiSquare",
    "Coefficient",
    "Correlation",
    "EffectSize",
    "FittedRegression",
    "Interval",
    "Kappa",
    "NotConverged",
    "Permutation",
    "Proportion",
    "StatisticsError",
    "StatisticsResult",
    "TTest",
    "Undefined",
    "chi_square",
    "cohens_d",
    "cohens_d_paired",
    "cohens_kappa",
    "ends",
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
