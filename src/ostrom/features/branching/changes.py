"""What a branch changes: fields of its agents, or the number of rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_yaml
from ostrom.studies.factors import Factor
from ostrom.studies.paths import put

ROUNDS = "mechanism.rounds"
WAYS = ("strategy", "model", "person")


def read_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Changes as people write them, by their full paths.

    >>> read_changes(["memory=window:2", "rounds=20"])
    {'agent.memory': 'window:2', 'mechanism.rounds': 20}
    """
    changes: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise StudyError("write it as key=value", key="--set", found=text)
        changes[_full(path)] = read_yaml(value, "--set")
    return changes


def _full(path: str) -> str:
    if path in ("rounds", ROUNDS):
        return ROUNDS
    bare = path.removeprefix("agent.")
    if bare.split(".")[0] not in AgentConfig.model_fields:
        allowed = [f"agent.{name}" for name in AgentConfig.model_fields] + [ROUNDS]
        raise StudyError("cannot be changed in a branch", key="--set", found=path, allowed=allowed)
    return f"agent.{bare}"


def changed_agent(config: AgentConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of an agent with changes, as plain data.

    Another way of deciding replaces the old one, and client settings belong to the model they were made for.
    """
    data: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    for path, value in changes.items():
        if not path.startswith("agent."):
            continue
        field = path.removeprefix("agent.")
        if field in WAYS:
            for way in (*WAYS, "settings"):
                data.pop(way, None)
        put(data, field, value)
    return data


def relabelled(
    labels: Mapping[str, Any], factors: Sequence[Factor], changes: Mapping[str, Any], everywhere: bool
) -> dict[str, Any]:
    """The labels of a cell after changes: a factor that was overridden shows its new level, or none.

    A level is known only where the very field of the factor was changed for all players.
    """
    result = dict(labels)
    for factor in factors:
        for path, value in changes.items():
            touched = {own for level in factor.levels for own in level.assigns if _meet(_bare(own), path)}
            if not touched:
                continue
            kinds = {type(level.label) for level in factor.levels}
            same = everywhere and touched == {path} and type(value) in kinds
            result[factor.name] = value if same else None
    return result


def _bare(path: str) -> str:
    """The field of an agent that a path sets, wherever the agent is described."""
    first, _, rest = path.partition(".")
    if first in ("types", "seats"):
        return f"agent.{rest.partition('.')[2]}".removesuffix(".")
    return path


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def described(changes: Mapping[str, Any], seat: int | None) -> str:
    """Changes in a few words.

    >>> described({"agent.memory": "window:2"}, 1)
    'memory=window:2 at seat 1'
    """
    if not changes:
        return "no change"
    text = ", ".join(f"{path.removeprefix('agent.')}={value}" for path, value in changes.items())
    return text if seat is None else f"{text} at seat {seat}"
