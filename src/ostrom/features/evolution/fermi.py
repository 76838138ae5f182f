"""Pairwise comparison with the Fermi rule (Blume, 1993; Traulsen, Nowak & Pacheco, 2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostrom.features.evolution.process import draw
from ostrom.features.evolution.simplex import Floats
from ostrom.ground.errors import UsageError


@dataclass(frozen=True)
class Fermi:
    """A random individual copies another one with probability 1 / (1 + exp(-beta (model - own payoff)))."""

    beta: float

    def __post_init__(self) -> None:
        if self.beta < 0.0:
            raise UsageError(f"the Fermi intensity beta must not be negative (found {self.beta})")

    def log_ratio(self, mutant: Floats, resident: Floats) -> Floats:
        """log(T-/T+) = -beta (payoff of the mutant - payoff of the resident)."""
        return -self.beta * (mutant - resident)

    def copying(self, own: float, model: float) -> float:
        """Probability of copying the model.

        >>> Fermi(1.0).copying(2.0, 2.0)
        0.5
        """
        gap = self.beta * (model - own)
        # Each branch exponentiates a number <= 0, so strong selection cannot overflow.
        return float(1.0 / (1.0 + np.exp(-gap))) if gap >= 0.0 else float(np.exp(gap) / (1.0 + np.exp(gap)))

    def step(self, counts: Floats, payoffs: Floats, rng: np.random.Generator) -> tuple[int, int]:
        """One comparison of two different individuals (type that loses, type that gains)."""
        own = draw(counts, rng)
        others = counts.copy()
        others[own] -= 1
        model = draw(others, rng)
        copies = rng.random() < self.copying(float(payoffs[own]), float(payoffs[model]))
        return own, model if copies else own
