"""What is varied: factors, their levels, and the cells that all combinations make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import StudyError
from ostrom.studies.sources import Entry, sources


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor: how tables call it and which fields it sets."""

    label: str | int | float | bool | None
    assigns: Mapping[str, Any]
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of the tables that follow from the level."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that is varied."""

    name: str
    levels: tuple[Level, ...]

    @property
    def traits(self) -> tuple[str, ...]:
        """The names of the columns that follow from its levels."""
        return tuple(dict.fromkeys(name for level in self.levels for name in level.traits))


def read_factors(vary: Mapping[str, Any], file: str | None = None) -> tuple[Factor, ...]:
    """The factors of a study. Three ways to write one:

    ``path: [levels]`` varies a field; ``name: {set: path, to: [levels]}`` does so under a name of its own;
    ``name: {label: {path: value, ...}, ...}`` sets several fields at once. In place of a list, the levels of
    the first two can come from a source: ``{from: scenarios, family: commons}``.

    >>> [f.name for f in read_factors({"agent.memory": ["window:1"], "who": {"a": {"seats.1.style": "direct"}}})]
    ['memory', 'who']
    """
    factors = []
    taken: set[str] = set()
    for key, given in vary.items():
        where = f"vary.{key}"
        if isinstance(given, Mapping) and set(given) == {"set", "to"}:
            factor = _field(key, given["set"], given["to"], where, file)
        elif isinstance(given, Mapping) and not isinstance(given.get("from"), str):
            factor = _compound(key, given, where, file)
        else:
            short = key.rpartition(".")[2]
            factor = _field(key if short in taken else short, key, given, where, file)
        if factor.name in taken or factor.name in RESERVED:
            raise StudyError(
                "a factor needs a name of its own: write 'name: {set: path, to: [levels]}'",
                file=file, key=where, found=factor.name,
            )  # fmt: skip
        taken.add(factor.name)
        factors.append(factor)
    for factor in factors:
        for trait in factor.traits:
            if trait in taken or trait in RESERVED:
                raise StudyError(
                    f"its levels bring a column {trait!r}, which another factor or table has already",
                    file=file, key=f"vary.{factor.name}",
                )  # fmt: skip
        taken.update(factor.traits)
    return tuple(factors)


RESERVED = frozenset(
    "run match unit seed generation step round player seat agent kind part target answer action label options "
    "cooperative payoff expected probabilities p_cooperate reading invalid missed complaints score state reason "
    "agent_id agent_memory agent_style role opponents rounds_played cooperation expected_score policies facts "
    "missed_decisions note rationale copied branch counterfactual sample".split()
)
"""Columns of the tables that a factor must not hide."""


def _field(name: str, path: Any, levels: Any, where: str, file: str | None) -> Factor:
    if not isinstance(path, str):
        raise StudyError("'set' must name a field", file=file, key=where, found=path)
    if isinstance(levels, Mapping) and isinstance(levels.get("from"), str):
        entries = _drawn_from(levels, where, file)
        return Factor(name, tuple(Level(e.label, {path: e.value}, e.traits) for e in entries))
    if not isinstance(levels, list) or not levels:
        raise StudyError("needs a list of at least one level", file=file, key=where, found=levels)
    labels = [_label(level) for level in levels]
    if len(set(map(str, labels))) != len(labels):
        labels = [_whole_label(level) for level in levels]
    if len(set(map(str, labels))) != len(labels):
        raise StudyError("names a level twice", file=file, key=where, found=levels)
    return Factor(name, tuple(Level(lb, {path: v}) for lb, v in zip(labels, levels, strict=True)))


def _drawn_from(spec: Mapping[str, Any], where: str, file: str | None) -> list[Entry]:
    """The entries of a named source; one that reads files looks beside the study file first."""
    source = str(spec["from"])
    params = {key: value for key, value in spec.items() if key != "from"}
    if "beside" in sources.parameters(source):
        if "beside" in params:
            raise StudyError("there is no such key", file=file, key=f"{where}.beside")
        params["beside"] = None if file is None else str(Path(file).parent)
    entries = list(sources.build({"name": source, **params}, key=where, file=file))
    labels = [str(entry.label) for entry in entries]
    if not entries or len(set(labels)) != len(labels):
        raise StudyError(f"source {source} gives no level, or two of one name", file=file, key=where)
    return entries


def _compound(name: str, levels: Mapping[str, Any], where: str, file: str | None) -> Factor:
    if not levels:
        raise StudyError("needs at least one level", file=file, key=where, found=dict(levels))
    made = []
    for label, assigns in levels.items():
        if not isinstance(assigns, Mapping):
            raise StudyError(
                "a named level sets fields, for example {agent.style: direct}",
                file=file, key=f"{where}.{label}", found=assigns,
            )  # fmt: skip
        for path in assigns:
            if not isinstance(path, str):
                raise StudyError("must name a field", file=file, key=f"{where}.{label}", found=path)
        made.append(Level(label, dict(assigns)))
    return Factor(name, tuple(made))


def _label(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value.get("label") or value.get("name") or _whole_label(value)
    return value if isinstance(value, str | int | float | bool) or value is None else _whole_label(value)


def _whole_label(value: Any) -> Any:
    if isinstance(value, Mapping) and "name" in value:
        rest = ",".join(f"{k}={v}" for k, v in value.items() if k != "name")
        return f"{value['name']}:{rest}"
    return value if isinstance(value, str | int | float | bool) else _text(value)


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
