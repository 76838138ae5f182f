"""The figures of Akata et al. (2025) from a run: one file per group of published figures."""
