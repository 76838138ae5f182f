"""Weak selection on any network: the benefit-to-cost ratio above which cooperation is favoured.

For a donation game (a cooperator pays c, each of its neighbours receives b, payoffs are averaged over neighbours)
the sign of weak selection follows from coalescence times of random walks (Allen et al. 2017, Nature 544). With P the
random step from a member to one whose strategy it may copy and A the step to a neighbour it plays with, cooperation is
favoured if b (t(PPA) - t(A)) > c t(PP), where t(W) is the mean coalescence time of the two ends of a walk W that starts
at a random member. Large ring lattices of degree k give b/c > k for death-birth and b/c > k + 2 for imitation (Ohtsuki
et al. 2006).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import inf

import numpy as np

from ostrom.features.evolution.tensor import Floats
from ostrom.ground.errors import UsageError

MOST_MEMBERS = 64
"""The largest network: the equations have one unknown for each pair of members and take minutes beyond this."""


def critical_ratio(links: Sequence[AbstractSet[int]], rule: str = "death-birth") -> float:
    """Return the ratio b/c above which cooperation is favoured; infinite where no ratio favours it.

    Every member must have the same number of neighbours, so that all are replaced equally often.

    >>> ring = [{(i - 1) % 8, (i + 1) % 8} for i in range(8)]
    >>> round(critical_ratio(ring), 9), critical_ratio([{1, 2}, {0, 2}, {0, 1}])
    (3.0, inf)
    """
    size = len(links)
    if rule not in ("death-birth", "imitation"):
        raise UsageError(f"rule {rule!r} (allowed: death-birth, imitation)")
    if not 2 <= size <= MOST_MEMBERS or len({len(around) for around in links}) != 1 or not links[0]:
        raise UsageError(f"needs 2 to {MOST_MEMBERS} members with equally many neighbours each")
    play = np.zeros((size, size))
    for member, around in enumerate(links):
        play[member, sorted(around)] = 1 / len(around)
    degree = len(links[0])
    take = play if rule == "death-birth" else (play * degree + np.eye(size)) / (degree + 1)
    times = coalescence_times(take)
    twice = take @ take
    gained = float(np.mean(np.sum((twice @ play) * times, axis=1)) - np.mean(np.sum(play * times, axis=1)))
    paid = float(np.mean(np.sum(twice * times, axis=1)))
    return paid / gained if gained > 1e-9 * paid else inf


def coalescence_times(take: Floats) -> Floats:
    """Return the mean meeting time of two random walks along ``take``, for each pair of members."""
    size = len(take)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    place = {pair: row for row, pair in enumerate(pairs)}
    matrix = np.eye(len(pairs))
    for row, (i, j) in enumerate(pairs):
        for one, other in ((i, j), (j, i)):
            for step in np.flatnonzero(take[one]):
                if (met := int(step)) != other:
                    matrix[row, place[min(met, other), max(met, other)]] -= take[one, met] / 2
    solved = np.linalg.solve(matrix, np.ones(len(pairs)))
    times = np.zeros((size, size))
    for row, (i, j) in enumerate(pairs):
        times[i, j] = times[j, i] = solved[row]
    return times
