"""Which candidates the data cannot tell apart, so that no weight is ever split between them by accident."""

from __future__ import annotations

import numpy as np

from ostrom.features.inference.choices import ChoiceTable
from ostrom.features.inference.mixture import MixtureFit


def equivalent_groups(table: ChoiceTable) -> tuple[tuple[int, ...], ...]:
    """Candidates that fit every unit equally well whatever the error rate, in order of first appearance."""
    groups: dict[bytes, list[int]] = {}
    for k in range(len(table.candidates)):
        groups.setdefault(np.ascontiguousarray(table.counts[:, k, :]).tobytes(), []).append(k)
    return tuple(tuple(members) for members in groups.values())


def undetermined(fit: MixtureFit) -> tuple[int, ...]:
    """Groups whose weights can be traded against each other without any loss of likelihood.

    Such a trade needs candidates that an optimum may use at all (no loss from a little weight) and a
    combination of them that leaves the likelihood of every unit unchanged.
    """
    usable = np.flatnonzero(fit.slack > -1e-6)
    _, sizes, rows = np.linalg.svd(fit.likelihood[:, usable], full_matrices=True)
    rank = int(np.sum(sizes > 1e-9 * sizes.max()))
    free = rows[rank:]
    return tuple(usable[np.flatnonzero(np.abs(free).max(axis=0) > 1e-6)].tolist()) if free.size else ()
