"""Akata et al. (2025), Playing repeated games with large language models."""
