"""Settings of model clients, checked by name before a client is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.models.keys import checked_url
from ostrom.models.numbers import at_least_one, positive


def check_values(settings: Mapping[str, Any]) -> None:
    """Refuse values that no client takes; which settings a client has, ``check_name`` says.

    >>> check_values({"timeout": 30, "connections": 4})
    """
    for name, value in settings.items():
        if value is not None and name in _RULES:
            _RULES[name](name, value)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise StudyError("must be a text", key=name, found=value)


def _url(name: str, value: Any) -> None:
    _text(name, value)
    checked_url(value, source=name)


def _dialect(name: str, value: Any) -> None:
    from ostrom.models.dialects import DIALECTS

    if value not in DIALECTS:
        raise StudyError("unknown dialect", key=name, found=value, allowed=sorted(DIALECTS))


def _abilities(name: str, value: Any) -> None:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(item, str) for item in names):
        raise StudyError("must be a list of names", key=name, found=value)


def _scale(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -10 <= value <= 10:
        raise StudyError("must be a number from -10 to 10", key=name, found=value)


_RULES: dict[str, Callable[[str, Any], object]] = {
    "timeout": lambda name, value: positive(value, name),
    "connections": lambda name, value: at_least_one(value, name),
    "slots": lambda name, value: at_least_one(value, name),
    "threads": lambda name, value: at_least_one(value, name),
    "context": lambda name, value: at_least_one(value, name),
    "base_url": _url,
    "key_variable": _text,
    "dialect": _dialect,
    "abilities": _abilities,
    "adapter": _text,
    "scale": _scale,
}
