"""Expected payoffs in a finite population: opponents are drawn without replacement, never oneself."""

from __future__ import annotations

from math import comb

import numpy as np

from ostrom.features.evolution.simplex import Floats
from ostrom.ground.errors import UsageError

Counts = tuple[int, ...]


def finite_payoffs(table: Floats, counts: Counts) -> Floats:
    """Expected payoff of each type in a population of ``counts`` (checked before); nan for an absent type.

    >>> finite_payoffs(np.array([[2.0, 0.0], [3.0, 1.0]]), (2, 2)).round(6).tolist()
    [0.666667, 2.333333]
    """
    out = np.full(len(table), np.nan)
    for focal, present in enumerate(counts):
        if present:
            others = list(counts)
            others[focal] -= 1
            out[focal] = _mean_over_draws(table[focal], others, sum(others))
    return out


def _mean_over_draws(table: Floats, left: list[int], size: int) -> float:
    total = 0.0
    for j, count in enumerate(left):
        if not count:
            continue
        if table.ndim == 1:
            total += count * float(table[j])
        else:
            left[j] -= 1
            total += count * _mean_over_draws(table[j], left, size - 1)
            left[j] += 1
    return total / size


def pair_payoffs(table: Floats, mutant: int, resident: int, population: int) -> tuple[Floats, Floats]:
    """Payoffs of mutant and resident with 1..N-1 mutants among N, in closed form (hypergeometric draws)."""
    others = table.ndim - 1

    def mean(focal: int, mutants: int) -> float:
        residents = population - 1 - mutants
        return sum(
            comb(mutants, h)
            * comb(residents, others - h)
            / comb(population - 1, others)
            * float(table[(focal, *(mutant,) * h, *(resident,) * (others - h))])
            for h in range(others + 1)
        )

    present = range(1, population)
    return (
        np.array([mean(mutant, j - 1) for j in present]),
        np.array([mean(resident, j) for j in present]),
    )


def check_counts(table: Floats, counts: Counts) -> None:
    """Refuse counts that do not fit the tensor or are too few to fill the seats of one match."""
    if len(counts) != len(table) or any(count < 0 for count in counts):
        raise UsageError(
            f"a population of {len(table)} types needs {len(table)} counts >= 0 (found {counts})"
        )
    check_size(table, sum(counts))


def check_size(table: Floats, population: int) -> None:
    """Refuse a population in which no match can be seated or nobody can be replaced."""
    least = max(2, table.ndim)
    if population < least:
        raise UsageError(
            f"a game of {table.ndim} seats needs a population of {least} or more (found {population})"
        )
