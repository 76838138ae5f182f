"""Played profiles of a run for panels, and the conditions that they are split by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.replications.personas.profiles import Played
from ostrom.reports.words import pretty

NOTHING = "No one-shot match is finished, so there is no profile to show."


def conditions(data: RunData, found: Sequence[Played]) -> list[str]:
    """The factors that make conditions: all that vary, but for the one that names the game itself."""
    made = []
    for name in data.factors:
        values = {p.cell.get(name) for p in found}
        if len(values) > 1 and not all(p.cell.get(name) == p.scenario for p in found):
            made.append(name)
    return made


def condition_label(key: Mapping[str, Any], by: Sequence[str]) -> str:
    """A condition in words.

    >>> condition_label({"persona": "yes", "payoffs": "hidden"}, ["persona", "payoffs"])
    'persona yes, payoffs hidden'
    """
    return ", ".join(f"{pretty(name)} {pretty(key[name])}" for name in by) or "all"
