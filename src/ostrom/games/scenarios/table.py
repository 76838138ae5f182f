"""The payoff table of a scenario file: every profile once, one finite number per role."""

from collections.abc import Mapping
from itertools import product
from math import isfinite, prod
from typing import Any, TypeAlias

from ostrom.games.scenarios.scenario import Profile, Role
from ostrom.ground.errors import StudyError


def read_table(rows: dict[str, Any], roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """The table in the order of the profiles, or a :class:`StudyError` that names the row at fault."""
    payoffs: dict[Profile, tuple[float, ...]] = {}
    for written, row in rows.items():
        key = f"payoffs.{written}"
        profile = read_profile(written.split(), roles, file, key)
        if profile in payoffs:
            raise StudyError("duplicate profile", file=file, key=key, actual=" ".join(profile))
        payoffs[profile] = _numbers(row, roles, file, key)
    wanted = prod(len(role.actions) for role in roles)
    if len(payoffs) < wanted:
        missing = next(p for p in product(*(role.action_keys for role in roles)) if p not in payoffs)
        raise StudyError(
            f"{wanted - len(payoffs)} of {wanted} profiles missing, the first is {' '.join(missing)!r}",
            file=file,
            key="payoffs",
        )
    return {profile: payoffs[profile] for profile in product(*(role.action_keys for role in roles))}


def read_profile(words: list[str], roles: tuple[Role, ...], file: str, key: str) -> Profile:
    """A profile as action keys in the order of the roles."""
    if len(words) != len(roles):
        raise StudyError(
            f"must name one action for each of the {len(roles)} roles",
            file=file,
            key=key,
            actual=" ".join(words),
            allowed=[role.key for role in roles],
        )
    for action, role in zip(words, roles, strict=True):
        if action not in role.action_keys:
            raise StudyError(
                f"unknown action for {role.key}", file=file, key=key, actual=action, allowed=role.action_keys
            )
    return tuple(words)


def _numbers(row: Any, roles: tuple[Role, ...], file: str, key: str) -> tuple[float, ...]:
    if not isinstance(row, list):
        raise StudyError("must be a list of numbers, one per role", file=file, key=key, actual=row)
    if len(row) != len(roles):
        names = [role.key for role in roles]
        raise StudyError(
            f"must hold {len(roles)} payoffs, one per role, has {len(row)}", file=file, key=key, allowed=names
        )
    for role, value in zip(roles, row, strict=True):
        # True is an int to Python and would silently count as 1.
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise StudyError(
                "payoff must be a finite number", file=file, key=f"{key}.{role.key}", actual=_error_text(value)
            )
    return tuple(float(value) for value in row)


def _finite(value: int | float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:
        return False


def _error_text(value: object) -> object:
    if value is None:
        return "nothing"
    return value if len(str(value)) <= 40 else f"{str(value)[:40]}..."


Model: TypeAlias = Mapping[str, Mapping[str, float]]
Line: TypeAlias = tuple[frozenset[tuple[int, str]], float]


def evaluate(model: Model, roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """The payoff table that a model describes."""
    if set(model) != {role.key for role in roles}:
        raise StudyError(
            "must have one part per role",
            file=file,
            key="model",
            actual=", ".join(model),
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


def check_model(model: Model, roles: tuple[Role, ...], table: dict[Profile, tuple[float, ...]], file: str) -> None:
    """Refuse a table that its own model does not reproduce."""
    for profile, modelled in evaluate(model, roles, file).items():
        for role, expected, frozen in zip(roles, modelled, table[profile], strict=True):
            if not abs(expected - frozen) <= 1e-9:
                raise StudyError(
                    f"payoff differs from the scenario's model, which gives {expected:g}",
                    file=file,
                    key=f"payoffs.{' '.join(profile)}.{role.key}",
                    actual=frozen,
                )


def _played(term: str, roles: tuple[Role, ...], file: str, owner: str) -> frozenset[tuple[int, str]]:
    return frozenset(_place(part.strip(), roles, file, f"model.{owner}.{term}") for part in term.split("&"))


def _place(word: str, roles: tuple[Role, ...], file: str, key: str) -> tuple[int, str]:
    wanted, _, action = word.rpartition(":")
    places = [
        (seat, action) for seat, role in enumerate(roles) if action in role.action_keys and wanted in ("", role.key)
    ]
    if len(places) == 1:
        return places[0]
    if places:
        raise StudyError(f"several roles have the action, write ROLE:{action}", file=file, key=key, actual=word)
    all_actions = [action for role in roles for action in role.action_keys]
    raise StudyError("unknown action", file=file, key=key, actual=word, allowed=all_actions)
