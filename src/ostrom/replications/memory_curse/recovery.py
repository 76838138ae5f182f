"""What a cleaned past gives back: cooperation against the number X of real rounds left in the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.played import WINDOW, keyed

RATE = "memory_cooperation"
CURVE = ("game", "memory_mode", "history_length", "agent", "style")


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


def recoveries(data: RunData) -> list[Recovery]:
    """All points of all curves.

    The baseline of a curve is its own point X = window; where that was not played, matches with the plain
    window of the same length.
    """
    by = (*CURVE, "real_rounds")
    points = keyed(estimate(data, RATE, by, where={"memory_kind": "sanitized", "alike": True}), by)
    plain = keyed(estimate(data, RATE, CURVE, where=WINDOW), CURVE)
    baselines: dict[tuple[Any, ...], tuple[Estimate, bool]] = {}
    for game, mode, window, agent, style, _ in points:
        curve = game, mode, window, agent, style
        base = points.get((*curve, window)) or plain.get((game, None, window, agent, style))
        if base is not None:
            baselines[curve] = base, (*curve, window) in points
    gains = {}
    for mode, window, real in dict.fromkeys((key[1], key[2], key[5]) for key in points if key[2] != key[5]):
        for own in {kept for curve, (_, kept) in baselines.items() if curve[1:3] == (mode, window)}:
            where = {
                "memory_mode": mode if own else [mode, None], "history_length": window, "alike": True,
            }  # fmt: skip
            rest = ("game", "agent", "style")
            for one in contrast(data, RATE, "real_rounds", (real, window), rest, where=where):
                curve = one.key["game"], mode, window, one.key["agent"], one.key["style"]
                if curve in baselines and baselines[curve][1] == own:
                    gains[*curve, real] = one
    found = []
    for key, here in points.items():
        game, mode, window, agent, style, real = key
        gain, share = gains.get(key), None
        if gain is not None and (level := baselines[key[:-1]][0].value) < 1:
            share = gain.value / (1 - level)
        found.append(Recovery(agent, game, style, mode, window, real, here, gain, share))
    return found
