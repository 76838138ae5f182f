"""Measures of Tewolde et al. (2026): what players do with institutions."""
