"""What the panels of the memory study share: episodes, honest reasons for emptiness, small curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ostrom.analysis.measures.memory_episodes import Episode, episodes, wholly_by_policy
from ostrom.analysis.measures.memory_estimates import Estimate
from ostrom.analysis.rundata import RunData
from ostrom.reports.cells import agents, why_nothing
from ostrom.reports.charts import curves, series_colours
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels, pretty

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


def lines_by(
    rows: Sequence[Mapping[str, Any]], *, x: str, y: str, domain: Sequence[float] | None, legend: str
) -> Any:
    """Curves over ordered levels: rows need x (a number), mean, low, high, series and facet."""
    levels = [str(v) for v in sorted({row["x"] for row in rows})]
    names = list(dict.fromkeys(row["series"] for row in rows))
    short = labels(names)
    drawn = [{**row, "x": str(row["x"]), "series": short[row["series"]]} for row in rows]
    facets = list(dict.fromkeys(row["facet"] for row in rows))
    return curves(
        drawn, x=x, y=y, facets=facets, series=series_colours([short[n] for n in names]), legend=legend,
        levels=levels, domain=domain,
    )  # fmt: skip


def splits(names: Sequence[str]) -> list[list[str]]:
    """Names in groups that one chart can colour."""
    return [list(names[i : i + MOST_COLOURS]) for i in range(0, len(names), MOST_COLOURS)]


def triple(found: Estimate | None) -> list[float | None]:
    """Value and interval, as columns of a table."""
    return [None, None, None] if found is None else [found.value, found.low, found.high]


def named(*parts: Any) -> str:
    """Several names as one label.

    >>> named("public_goods", None, "ideal")
    'public goods · ideal'
    """
    return JOINT.join(pretty(part) for part in parts if part not in (None, ""))


def distinct(found: Iterable[Episode], key: Callable[[Episode], Any]) -> list[Any]:
    """The values of a key in the order in which they occur."""
    return list(dict.fromkeys(key(e) for e in found))
