"""The payoff table of a scenario file: every profile once, one finite number per role."""

from __future__ import annotations

from itertools import product
from math import isfinite, prod
from typing import Any

from ostrom.games.scenarios.scenario import Profile, Role
from ostrom.ground.errors import StudyError


def read_table(rows: dict[str, Any], roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """The table in the order of the profiles, or a :class:`StudyError` that names the row at fault."""
    found: dict[Profile, tuple[float, ...]] = {}
    for written, row in rows.items():
        key = f"payoffs.{written}"
        profile = read_profile(written.split(), roles, file, key)
        if profile in found:
            raise StudyError("duplicate profile", file=file, key=key, found=" ".join(profile))
        found[profile] = _numbers(row, roles, file, key)
    wanted = prod(len(role.actions) for role in roles)
    if len(found) < wanted:
        missing = next(p for p in product(*(role.action_keys for role in roles)) if p not in found)
        raise StudyError(
            f"{wanted - len(found)} of {wanted} profiles missing, the first is {' '.join(missing)!r}",
            file=file,
            key="payoffs",
        )
    return {profile: found[profile] for profile in product(*(role.action_keys for role in roles))}


def read_profile(written: list[str], roles: tuple[Role, ...], file: str, key: str) -> Profile:
    """A profile as action keys in the order of the roles."""
    if len(written) != len(roles):
        raise StudyError(
            f"must name one action for each of the {len(roles)} roles",
            file=file,
            key=key,
            found=" ".join(written),
            allowed=[role.key for role in roles],
        )
    for action, role in zip(written, roles, strict=True):
        if action not in role.action_keys:
            raise StudyError(
                f"unknown action for {role.key}", file=file, key=key, found=action, allowed=role.action_keys
            )
    return tuple(written)


def _numbers(row: Any, roles: tuple[Role, ...], file: str, key: str) -> tuple[float, ...]:
    if not isinstance(row, list):
        raise StudyError("must be a list of numbers, one per role", file=file, key=key, found=row)
    if len(row) != len(roles):
        names = [role.key for role in roles]
        raise StudyError(
            f"must hold {len(roles)} payoffs, one per role, has {len(row)}", file=file, key=key, allowed=names
        )
    for role, value in zip(roles, row, strict=True):
        # True is an int to Python and would silently count as 1.
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise StudyError(
                "payoff must be a finite number",
                file=file,
                key=f"{key}.{role.key}",
                found=_shown(value),
            )
    return tuple(float(value) for value in row)


def _finite(value: int | float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:
        return False


def _shown(value: object) -> object:
    if value is None:
        return "nothing"
    return value if len(str(value)) <= 40 else f"{str(value)[:40]}..."
