"""Agents that play with an adapter, and what each adapter changed against the base model.

A study calls the base model's type ``base``; any other type with an adapter is an arm. ``forward`` is the one that
Liu et al. (2026, Table 1) print figures for.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate, keyed, trend
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped
from ostrom.replications.memory_curse.played import BY_POLICY, WINDOW, played
from ostrom.replications.memory_curse.regimes import observed_regimes

BASE, FORWARD = "base", "forward"
COLLAPSED, HEALTHY = 0.2, 0.6
"""A match has collapsed if it cooperates in less than a fifth of its actions where half of its cell does in three
fifths or more: means of such cells hide two kinds of matches."""


def arms(data: RunData) -> list[str]:
    """The types of a study that play with an adapter, in its order."""
    types: Mapping[str, Any] = data.study.get("types") or {}
    settings = {name: spec.get("settings") for name, spec in types.items() if isinstance(spec, Mapping)}
    return [name for name, of in settings.items() if of and of.get("adapter")]


@dataclass(frozen=True, slots=True)
class Change:
    """What an adapter changed in one game, against the base model."""

    agent: str
    game: str
    gain: Estimate
    """Cooperation minus that of the base model, paired by history length and seed."""
    slope: Estimate | None
    """The decay: the slope of cooperation over log(1 + history length)."""
    base_slope: Estimate | None
    regime: str | None
    base_regime: str | None
    collapsed: int
    by_policy: float | None


def changes(data: RunData) -> list[Change]:
    """The change of every arm from the base model, for every game that both have played."""
    change_rows = []
    by = ("agent", "game")
    slopes = keyed(trend(data, "memory_cooperation", "history_length", by, log="1+x", where=WINDOW), by)
    regimes = {(agent, game): r.printed for (game, _, agent), r in observed_regimes(data).items()}
    policy = keyed(estimate(data, BY_POLICY, by, where=WINDOW), by)
    collapsed = collapses(data)
    for arm in arms(data):
        gains = contrast(data, "memory_cooperation", "agent", (arm, BASE), ["game"], where=WINDOW)
        for game, gain in keyed(gains, ("game",)).items():
            key, base = (arm, *game), (BASE, *game)
            change_rows.append(
                Change(
                    arm, game[0], gain, slopes.get(key), slopes.get(base), regimes.get(key), regimes.get(base),
                    collapsed.get(key, 0), policy[key].value if key in policy else None,
                )
            )  # fmt: skip
    return change_rows


def collapses(data: RunData) -> dict[tuple[str, str], int]:
    """How many matches of every agent and game have collapsed within an otherwise cooperative cell."""
    cells = grouped(
        ((row["agent"], row["game"], row["history_length"]), (row["match"], row["cooperation"]))
        for row in played(data)
        if row["cooperation"] is not None
    )
    fallen: Counter[tuple[str, str]] = Counter()
    for (agent, game, _), matches in cells.items():
        rates = [sum(of) / len(of) for of in grouped(matches).values()]
        if median(rates) >= HEALTHY:
            fallen[agent, game] += sum(rate < COLLAPSED for rate in rates)
    return fallen
