"""Identity and readable names of foreign agent configurations: two settings never merge."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping

Configuration = Mapping[str, object]

_NAMING = (
    ("model", "model_name", "model_id", "llm", "name"),
    ("type", "agent_type", "kind", "class", "strategy"),
)


def identity(configuration: Configuration) -> str:
    """Hash of the whole configuration; key order and 1 against 1.0 make no difference.

    >>> identity({"model": "m", "t": 1}) == identity({"t": 1.0, "model": "m"})
    True
    """
    text = json.dumps(_plain(configuration), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def labels(configurations: Mapping[str, Configuration]) -> dict[str, str]:
    """A distinct readable label per identity: model and type, then the settings that tell namesakes apart.

    >>> labels({"a1": {"model": "m", "t": 0}, "b2": {"model": "m", "t": 1}, "c3": {"model": "n"}})
    {'a1': 'm t=0', 'b2': 'm t=1', 'c3': 'n'}
    """
    flat = {key: _flat(configuration) for key, configuration in configurations.items()}
    names = {key: _name(fields) for key, fields in flat.items()}
    for group in _namesakes(names):
        # Only settings on which the namesakes differ; a namesake that lacks one says so with "-".
        differing = sorted(
            field
            for field in {field for key in group for field in flat[key]}
            if len({flat[key].get(field) for key in group}) > 1
        )
        for key in group:
            notes = " ".join(f"{field}={flat[key].get(field, '-')}" for field in differing)
            names[key] = f"{names[key]} {notes}".strip()
    for group in _namesakes(names):
        for key in group:
            names[key] = f"{names[key]} #{key[:8]}".strip()
    return names


def _namesakes(names: Mapping[str, str]) -> list[list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for key, name in names.items():
        groups[name].append(key)
    return [group for group in groups.values() if len(group) > 1]


def _name(fields: Mapping[str, str]) -> str:
    parts = []
    for candidates in _NAMING:
        # A nested field such as llm.model names the agent as well as a plain one.
        matches = (
            text
            for last in candidates
            for field, text in fields.items()
            if field.split(".")[-1] == last and text
        )
        part = next(matches, None)
        if part is not None:
            parts.append(part)
    return " ".join(parts) if parts else "agent"


def _flat(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        out: dict[str, str] = {}
        for key, inner in value.items():
            out |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
        return out
    return {prefix: value if isinstance(value, str) else json.dumps(_plain(value), sort_keys=True)}
