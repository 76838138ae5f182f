"""Tewolde et al. (2026), CoopEval: mechanisms and evolution."""
