"""The figures of Tewolde et al. (2026) from a run: one file per group of published figures."""
