"""What a cleaned past gives back: cooperation against the number X of real rounds left in the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.replications.memory_curse.episodes import Episode, grouped
from ostrom.replications.memory_curse.estimates import Estimate, difference, estimate


@dataclass(frozen=True, slots=True)
class Recovery:
    """One point of the curve of an agent, game, style and mode."""

    agent: str
    game: str
    style: str | None
    mode: str
    window: int
    real: int
    """X: how many rounds of the window are real."""
    cooperation: Estimate
    gain: Estimate | None
    """Cooperation minus that of the baseline, a window of real rounds only; None without a baseline."""
    recovered: float | None
    """The gain as a share of what the baseline lacks to full cooperation; None where it lacks nothing."""


def recoveries(rows: Sequence[Episode]) -> list[Recovery]:
    """All points, X rising.

    The baseline of a curve is its own point X = window; where that was not played, matches with the plain
    window of the same length.
    """
    plain = grouped(
        (r for r in rows if r.memory.name == "window" and r.alike),
        lambda r: (r.agent, r.game, r.style, r.length),
    )
    cleaned = grouped(
        (r for r in rows if r.memory.name == "sanitized"),
        lambda r: (r.agent, r.game, r.style, str(r.memory.mode), r.memory.length or 0),
    )
    found = []
    for (agent, game, style, mode, window), of in cleaned.items():
        points = dict(sorted(grouped(of, lambda r: r.memory.real or 0).items()))
        base = points.get(window) or plain.get((agent, game, style, window), [])
        level = estimate(base)
        for real, at in points.items():
            here = estimate(at)
            if here is None:
                continue
            gain = difference(at, base) if level is not None and real != window else None
            share = None
            if gain is not None and level is not None and level.value < 1:
                share = gain.value / (1 - level.value)
            found.append(Recovery(agent, game, style, mode, window, real, here, gain, share))
    return found
