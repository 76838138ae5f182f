"""Which agents a result covers, and which factors it averages over.

Models and people are studied, scripts are company. A result has one row per studied agent; where a run has nothing but
scripts these are what it studies. A run that is bound to a registration keeps all of its agents, as it was registered.
What a study varies and a result neither fixes nor shows is averaged over, and is named.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ostrom.data.manifests import is_before_2
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.values import grouped

Agents: TypeAlias = str | Sequence[str] | None
"""None for the studied agents; ``all``, or names (in a text: separated by commas)."""
ALL = "all"
NAMING = ("agent", "agent_id", "model", "strategy")
"""Columns that identify a player: a condition on one of them selects agents."""
EARLIER = "studied agents (before 2.0: all)"


def kinds_of(run: RunData) -> Mapping[str, bool]:
    """Return the agents of a run in the order of its study; True for a model or a person, False for a script."""
    if run.agent_kinds is None:
        rows = run.undivided.records(
            "SELECT agent, bool_or(strategy IS NULL) AS studied, min(match) AS first, min(player) AS place "
            "FROM matches WHERE unit = 'match' AND agent IS NOT NULL GROUP BY agent ORDER BY first, place"
        )
        kinds = {str(row["agent"]): bool(row["studied"]) for row in rows}
        order = [name for name in (run.manifest.get("study") or {}).get("types") or {} if name in kinds]
        run.agent_kinds = {name: kinds[name] for name in dict.fromkeys((*order, *kinds))}
    return run.agent_kinds


def studied_agents(run: RunData) -> list[str]:
    """Return the agents under study: models and people, or all agents if there are neither."""
    kinds = kinds_of(run)
    return [name for name, studied in kinds.items() if studied or not any(kinds.values())]


def chosen_agents(run: RunData, agents: Agents = None, where: Any = None) -> frozenset[str] | None:
    """Return the agents of a run whose values enter a result; None for all.

    A condition on a column that says who a player is chooses by itself.
    """
    if agents is None:
        return None if run.manifest.get("registered") or names_agents(where) else frozenset(studied_agents(run))
    return None if ALL in (names := names_in(agents)) else frozenset(names)


def names_in(agents: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in a text or a list."""
    texts = agents.split(",") if isinstance(agents, str) else agents
    return tuple(text.strip() for text in texts if text.strip())


def check_agents(runs: Iterable[RunData], agents: Agents) -> None:
    """Refuse an agent that no run has."""
    names = dict.fromkeys(name for run in runs for name in kinds_of(run))
    UnknownName.refuse("agent", (name for name in names_in(agents or ()) if name != ALL), names)


def names_agents(where: Any, *columns: str) -> bool:
    """Return whether a condition, or the column of a contrast, selects agents.

    >>> names_agents({"agent": "tft"}), names_agents("k > 3 AND model IS NULL"), names_agents({"game": "pd"})
    (True, True, False)
    """
    return (
        any(re.search(rf"(?<![\w'.]){name}(?![\w'])", where) for name in NAMING)
        if isinstance(where, str)
        else any(name in NAMING for name in (*(where or ()), *columns))
    )


def agents_in_question(agents: Agents, by: Iterable[str] = (), compared: Iterable[str] = ()) -> Agents:
    """Return the agents of a query: one that compares agents or splits by strategy covers all of them."""
    naming = names_agents(None, *compared, *({"strategy"} & {*by}))
    return ALL if agents is None and naming else agents


def population_words(runs: Sequence[RunData], agents: Agents = None, where: Any = None, *, gates: bool = False) -> str:
    """Say whose values a command shows; gate files may have been written for all agents."""
    if agents is not None:
        names = names_in(agents)
        return "all agents" if ALL in names else f"agents {', '.join(names)}"
    if any(run.manifest.get("registered") for run in runs):
        return "all agents (registered)"
    if names_agents(where):
        return "agents as asked for"
    return EARLIER if gates or any(is_before_2(run.manifest) for run in runs) else "studied agents"


def averaged_over(
    cells: Iterable[Any], factors: Iterable[str], columns: Collection[str], named: Collection[str] = ()
) -> dict[str, int]:
    """Return the factors that figures average over, with the number of levels in one figure.

    ``cells`` are what the figures are made of: cells of a plan that meet the condition, or values that were measured.
    ``columns`` are the columns that tell the figures apart, or whose levels are compared; ``named`` those that the
    question itself balances or names. A factor that the shown columns determine is not averaged over.

    >>> cells = [{"game": g, "k": k, "wording": "a"} for g in ("pd", "sh") for k in (1, 2, 3)]
    >>> averaged_over(cells, ["game", "k", "wording"], ["k"])
    {'game': 2}
    """
    groups = grouped((tuple(cell[name] for name in columns), cell) for cell in cells)
    rest = [name for name in dict.fromkeys(factors) if name not in columns and name not in named]
    level_counts = {name: max((len({cell[name] for cell in of}) for of in groups.values()), default=0) for name in rest}
    return {name: many for name, many in level_counts.items() if many > 1}


def averaged_words(averaged: Mapping[str, int]) -> str:
    """Say what a figure averages over; empty if nothing.

    >>> averaged_words({"game": 4, "memory": 3})
    'averaged over game (4), memory (3)'
    """
    return "averaged over " + ", ".join(f"{name} ({many})" for name, many in averaged.items()) if averaged else ""


def refuse_mixed_people(runs: Iterable[RunData], agents: Collection[str]) -> None:
    """Refuse a mean over people and models."""
    for run in runs:
        people = {row["agent"] for row in run.records(
            "SELECT DISTINCT agent FROM matches WHERE unit = 'match' AND strategy IS NULL AND model IS NULL"
        )} & {*agents}  # fmt: skip
        if people and {*agents} - people:
            raise UsageError(
                f"people ({', '.join(sorted(people))}) and other agents ({', '.join(sorted({*agents} - people))}) "
                "are not averaged: name either of them with agents"
            )
