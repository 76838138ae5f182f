"""Reading and changing plain nested data by dotted paths."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ostrom.ground.errors import StudyError


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set one field by its path, making room on the way; a name alone in the way becomes a mapping.

    >>> d = {"mechanism": "repetition"}
    >>> put(d, "mechanism.rounds", 5); d
    {'mechanism': {'name': 'repetition', 'rounds': 5}}
    """
    *way, last = path.split(".")
    here: Any = data
    for step in way:
        key: Any = int(step) if step.isdigit() and (step not in here) else step
        inner = here.get(key)
        if isinstance(inner, str) and ":" not in inner:
            inner = {"name": inner}
        elif inner is None:
            inner = {}
        elif not isinstance(inner, dict):
            raise StudyError("cannot be given fields", key=".".join(way), found=inner)
        here[key] = inner
        here = inner
    here[int(last) if last.isdigit() else last] = deepcopy(value)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings as one; where both have a mapping these are merged too, else the second one wins.

    A part given anew with another name replaces the old one whole: its parameters are not inherited.

    >>> merge({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}})
    {'a': {'x': 1, 'y': 3}}
    """
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and not _another(old, value):
            result[key] = merge(old, value)
        else:
            result[key] = deepcopy(value)
    return result


def _another(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "name" in new and new["name"] != old.get("name")


WAYS = ("model", "strategy", "person", "recorded")
"""The ways in which an agent can decide; it has exactly one."""


def on_top(agent: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's fields with those of a type or a seat on top; who decides anew no longer decides as before.

    >>> on_top({"model": "a/b", "style": "direct"}, {"strategy": "grim"})
    {'style': 'direct', 'strategy': 'grim'}
    """
    decides = any(over.get(way) for way in WAYS)
    base = {name: value for name, value in agent.items() if not (decides and name in WAYS)}
    return merge(base, over)
