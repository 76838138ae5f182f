"""What the panels of the memory study share: episodes, honest reasons for emptiness, small curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.episodes import Episode, episodes, wholly_by_policy
from ostrom.replications.memory_curse.estimates import Estimate
from ostrom.reports.cells import agents, why_nothing

JOINT = " · "
NO_WINDOW = "No finished match gives all players the same window."


def played(data: RunData) -> list[Episode]:
    """The episodes of a run in which cooperation is defined."""
    return [e for e in episodes(data) if e.cooperation is not None]


def same_window(found: Iterable[Episode]) -> list[Episode]:
    """Those of matches in which all players remember the same number of last rounds."""
    return [e for e in found if e.alike and e.memory.name == "window" and e.length is not None]


def why_empty(data: RunData, found: Sequence[Episode], lacking: str) -> str:
    """Why a panel has nothing to show: nothing played, nothing chosen, or not the design it is about."""
    if found:
        return lacking
    silent = wholly_by_policy(data)
    if silent:
        return (
            f"No answer could be read: all actions of {silent} players in finished matches were given by the "
            "policy, so there is nothing that agents chose."
        )
    return why_nothing(data)


def by_policy(found: Iterable[Episode]) -> list[str]:
    """A word of caution where the policy chose in place of an agent."""
    worst = max((e.by_policy for e in found), default=0.0)
    if not worst:
        return []
    return [f"In some matches up to {100 * worst:.0f} % of a player's actions were given by the policy."]


def rough(points: Iterable[Estimate]) -> list[str]:
    """A word of caution where intervals rest on very few matches."""
    known = list(points)
    few = sum(1 < p.matches < 5 for p in known)
    if not few:
        return []
    return [
        f"{few} of {len(known)} intervals rest on fewer than five matches and are rough: resampling so few "
        "matches understates how much they vary."
    ]


def agent_order(data: RunData, found: Iterable[Episode]) -> list[str]:
    """The agents of the episodes, in the order of the study."""
    met = {e.agent for e in found}
    return [name for name in agents(data) if name in met]


def triple(found: Estimate | None) -> list[float | None]:
    """Value and interval, as columns of a table."""
    return [None, None, None] if found is None else [found.value, found.low, found.high]


def distinct(found: Iterable[Episode], key: Callable[[Episode], Any]) -> list[Any]:
    """The values of a key in the order in which they occur."""
    return list(dict.fromkeys(key(e) for e in found))
