"""Odds as whole percentages that sum to 100 and keep within caps."""

from __future__ import annotations

from collections.abc import Mapping

from ostrom.ground.errors import StudyError


def whole_percentages(odds: Mapping[str, float], caps: Mapping[str, int] | None = None) -> dict[str, int]:
    """Round to whole percentages by largest remainder; what a cap cuts off goes to the options with room.

    The cut part is shared in proportion to the odds of the options with room, or evenly if they have none.

    >>> whole_percentages({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    {'a': 34, 'b': 33, 'c': 33}
    >>> whole_percentages({"cooperate": 0.0, "defect": 1.0}, {"defect": 40})
    {'cooperate': 60, 'defect': 40}
    """
    room = {option: 100 if caps is None else caps.get(option, 100) for option in odds}
    if sum(room.values()) < 100:
        raise StudyError("the caps leave no room for percentages that sum to 100", found=dict(caps or {}))
    exact = _within(odds, room)
    # The margin accepts sums like 0.1 + 0.2 that are slightly below a whole number.
    whole = {option: int(share + 1e-9) for option, share in exact.items()}
    by_remainder = sorted(exact, key=lambda option: whole[option] - exact[option])
    for option in by_remainder[: 100 - sum(whole.values())]:
        whole[option] += 1
    return whole


def _within(odds: Mapping[str, float], room: Mapping[str, int]) -> dict[str, float]:
    """Percentages under the caps, not yet whole."""
    share = {option: 100.0 * p for option, p in odds.items()}
    for _ in odds:
        excess = sum(max(0.0, share[o] - room[o]) for o in share)
        if excess <= 1e-9:
            break
        share = {o: min(share[o], room[o]) for o in share}
        free = [o for o in share if share[o] < room[o]]
        weight = {o: share[o] for o in free}
        if not any(weight.values()):
            weight = dict.fromkeys(free, 1.0)
        total = sum(weight.values())
        for o in free:
            share[o] += excess * weight[o] / total
    return share
