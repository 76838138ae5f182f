"""Analysis of runs: measures, estimates, tests and comparisons with published figures."""
