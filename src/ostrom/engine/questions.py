"""What a decision asks, in words that a journal keeps: a replay that asks anything else is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ostrom.answers import Form
from ostrom.ground.errors import RunError
from ostrom.mechanisms.protocol import Decision

_TEXTS: dict[tuple[str, int], tuple[Form, str]] = {}
_MOST = 1000


class ReplayDiffers(RunError):
    """The rules, fed with the journaled answers, do not do what they did when the answers were given."""


def asked(decision: Decision) -> str:
    """Kind and form of a decision as canonical JSON.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.base import act
    >>> from ostrom.mechanisms.protocol import View
    >>> asked(act(View(build_game("prisoners_dilemma"), 0, "none")))
    '["act","Choice",{"options":["cooperate","defect"]}]'
    """
    kind, form = decision.kind, decision.form
    known = _TEXTS.get((kind, id(form)))
    if known is not None and known[0] is form:  # rules use the same form object in every round
        return known[1]
    data = [kind, type(form).__name__, form]
    text = orjson.dumps(data, option=orjson.OPT_SORT_KEYS, default=_plain).decode()
    if len(_TEXTS) >= _MOST:
        _TEXTS.clear()
    _TEXTS[kind, id(form)] = (form, text)
    return text


def compare(unit: int, step: int, decision: Decision, journaled: str | None) -> None:
    """Refuse a decision that is not the one whose answer was journaled."""
    if journaled is not None and journaled != asked(decision):
        raise ReplayDiffers(
            f"match {unit}, step {step}, player {decision.player + 1}: the rules ask something else than they did: "
            f"journaled {_short(journaled)}, rebuilt {_short(asked(decision))}"
        )


def compare_count(unit: int, step: int, used: int, held: int) -> None:
    """Refuse a replay that does not use all journaled answers: the rules now ask fewer questions."""
    if used != held:
        raise ReplayDiffers(
            f"match {unit}, step {step}: the rules take another course than they did: journaled {held} answers, "
            f"rebuilt up to here {used}"
        )


def compare_end(unit: int, what: str, journaled: Any, rebuilt: Any) -> None:
    """Refuse an end of a match that is not the one journaled; players are told apart where scores differ."""
    if same(journaled, rebuilt):
        return
    where = f"match {unit}"
    if what == "scores" and len(journaled) == len(rebuilt):
        player = next(p for p, (a, b) in enumerate(zip(journaled, rebuilt, strict=True)) if not same(a, b))
        where += f", player {player + 1}"
    raise ReplayDiffers(
        f"{where}: the {what} differ: journaled {_shown(journaled)}, rebuilt {_shown(rebuilt)}"
    )


def same(one: Any, other: Any) -> bool:
    """Whether plain data is the same, apart from the last bits of its numbers.

    >>> same([0.1 + 0.2, {"a": 1}], [0.3, {"a": 1.0}]), same([2.1], [2.4])
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _shown(value: Any) -> str:
    return _short(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode())


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
