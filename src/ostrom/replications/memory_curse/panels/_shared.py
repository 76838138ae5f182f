"""What the panels of the memory study share: honest reasons for emptiness, and columns of tables."""

from __future__ import annotations

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.played import played, silent
from ostrom.reports.cells import why_nothing

NO_WINDOW = "No finished match gives all players the same window."


def why_empty(data: RunData, lacking: str) -> str:
    """Why a panel has nothing to show: nothing played, nothing chosen, or not the design it is about."""
    if any(row["cooperation"] is not None for row in played(data)):
        return lacking
    if many := silent(data):
        return (
            f"No answer could be read: all actions of {many} players in finished matches were given by the "
            "policy, so there is nothing that agents chose."
        )
    return why_nothing(data)


def by_policy(data: RunData) -> list[str]:
    """A word of caution where the policy chose in place of an agent."""
    worst = max((row["by_policy"] or 0.0 for row in played(data)), default=0.0)
    if not worst:
        return []
    return [f"In some matches up to {100 * worst:.0f} % of a player's actions were given by the policy."]


def triple(found: Estimate | None) -> list[float | None]:
    """Value and interval, as columns of a table."""
    return [None, None, None] if found is None else [found.value, found.low, found.high]
