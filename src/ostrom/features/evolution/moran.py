"""Moran process with frequency-dependent fitness (Moran, 1958; Nowak et al., 2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ostrom.features.evolution.process import draw
from ostrom.features.evolution.simplex import Floats
from ostrom.ground.errors import UsageError


@dataclass(frozen=True)
class Moran:
    """Birth in proportion to fitness, death at random.

    Fitness of payoff p: ``linear`` 1 - w + w p (needs positive fitness), ``exponential`` exp(w p).
    """

    selection: float
    mapping: Literal["linear", "exponential"] = "linear"

    def __post_init__(self) -> None:
        if self.mapping not in ("linear", "exponential"):
            raise UsageError(f"unknown fitness mapping {self.mapping!r} (allowed: linear, exponential)")
        if self.selection < 0.0 or (self.mapping == "linear" and self.selection > 1.0):
            raise UsageError(
                f"Moran selection must be >= 0, and at most 1 with linear fitness (found {self.selection})"
            )

    def log_fitness(self, payoffs: Floats) -> Floats:
        """Logarithm of fitness; absent types (nan) stay nan.

        >>> Moran(0.5).log_fitness(np.array([1.0])).tolist()
        [0.0]
        """
        if self.mapping == "exponential":
            return self.selection * payoffs
        raw = 1.0 - self.selection + self.selection * payoffs
        if np.any(raw <= 0.0):
            raise UsageError(
                f"linear Moran fitness must be positive (found {float(np.nanmin(raw))!r} at selection "
                f"{self.selection}); lower the selection or use the exponential mapping"
            )
        logs: Floats = np.log(raw)
        return logs

    def log_ratio(self, mutant: Floats, resident: Floats) -> Floats:
        """log(T-/T+) = log fitness of the resident minus that of the mutant."""
        return self.log_fitness(resident) - self.log_fitness(mutant)

    def step(self, counts: Floats, payoffs: Floats, rng: np.random.Generator) -> tuple[int, int]:
        """One birth and one death (dying type, born type); the newborn's parent may die too."""
        logs = self.log_fitness(payoffs)
        present = counts > 0
        weights = np.where(present, counts * np.exp(np.where(present, logs - np.nanmax(logs), 0.0)), 0.0)
        born = draw(weights, rng)
        return draw(counts, rng), born
