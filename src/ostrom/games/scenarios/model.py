"""Where a scenario's numbers come from: a base value per role, effects of single actions, and couplings.

A model line such as ``CLEAN & REGULATE: 4`` adds 4 to the role's payoff in every profile in which both
actions are played. ``base`` is what the role gets before any line applies. Where two roles share an action
key, the line says which one it means: ``seller:WAIT & buyer:WAIT``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TypeAlias

from ostrom.games.scenarios.scenario import Profile, Role
from ostrom.ground.errors import StudyError

Model: TypeAlias = Mapping[str, Mapping[str, float]]
Line: TypeAlias = tuple[frozenset[tuple[int, str]], float]


def evaluate(model: Model, roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """The payoff table that a model describes."""
    if set(model) != {role.key for role in roles}:
        raise StudyError(
            "must have one part per role",
            file=file,
            key="model",
            found=", ".join(model),
            allowed=[role.key for role in roles],
        )
    bases: list[float] = []
    lines: list[list[Line]] = []
    for role in roles:
        part = dict(model[role.key])
        if "base" not in part:
            raise StudyError("is missing", file=file, key=f"model.{role.key}.base")
        bases.append(part.pop("base"))
        lines.append([(_played(term, roles, file, role.key), effect) for term, effect in part.items()])
    table: dict[Profile, tuple[float, ...]] = {}
    for profile in product(*(role.action_keys for role in roles)):
        played = set(enumerate(profile))
        table[profile] = tuple(
            # Decimal inputs, binary sums: ten digits keep 0.1 + 0.2 at 0.3.
            round(base + sum(effect for needed, effect in own if needed <= played), 10)
            for base, own in zip(bases, lines, strict=True)
        )
    return table


def check_model(
    model: Model, roles: tuple[Role, ...], table: dict[Profile, tuple[float, ...]], file: str
) -> None:
    """Refuse a table that its own model does not reproduce."""
    for profile, modelled in evaluate(model, roles, file).items():
        for role, expected, frozen in zip(roles, modelled, table[profile], strict=True):
            if not abs(expected - frozen) <= 1e-9:
                raise StudyError(
                    f"payoff differs from the scenario's model, which gives {expected:g}",
                    file=file,
                    key=f"payoffs.{' '.join(profile)}.{role.key}",
                    found=frozen,
                )


def _played(term: str, roles: tuple[Role, ...], file: str, owner: str) -> frozenset[tuple[int, str]]:
    return frozenset(_place(part.strip(), roles, file, f"model.{owner}.{term}") for part in term.split("&"))


def _place(written: str, roles: tuple[Role, ...], file: str, key: str) -> tuple[int, str]:
    wanted, _, action = written.rpartition(":")
    places = [
        (seat, action)
        for seat, role in enumerate(roles)
        if action in role.action_keys and wanted in ("", role.key)
    ]
    if len(places) == 1:
        return places[0]
    if places:
        raise StudyError(
            f"several roles have the action, write ROLE:{action}", file=file, key=key, found=written
        )
    known = [action for role in roles for action in role.action_keys]
    raise StudyError("unknown action", file=file, key=key, found=written, allowed=known)
