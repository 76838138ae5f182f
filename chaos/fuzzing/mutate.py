"""Valid inputs made invalid: small changes to texts and to nested data, drawn from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any

LONGEST = 20_000
"""Texts are cut here: length is tried by repetition, not by patience."""

ODD = (
    "\x00", "\t", "\r", "\x85", "\u2028", "\ufeff", "\u200b", "\u0301", "é", "😀", "\ud800", "İ", "ß", "合", "\x1b[31m",
    "\\", '"', "'", "`", "{", "}", "[", "]", "(", ")", "<", ">", ":", ",", "-", "#", "&", "*", "!", "|", "%",
    "@", "~",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "1", "-1", "1e999", "-1e999", "1e-999", ".nan", ".inf", "NaN", "Infinity", "0x", "0o9", "0b2", "1_000",
    "190:20:30", "2001-99-99", "99999999999999999999999999", "9" * 5000, "1/0", "1/3", "0.1", "٣", "１",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 100, 10**6, 2**63, 2**64 - 1, 10**30, -(10**30), 0.5, -0.5, float("nan"),
    float("inf"), 1e308, "", " ",
    "x", "null", "2001-01-01", "a" * 300, "\n", "line\nbreak", "\ud800", "{{ x }}", "{% for %}", "name:1,2,k=3",
    [], {},
    [[]], [None], {"": None}, {"name": None}, {"name": "x"}, {1: 2}, [1, "a", None, {}], b"bytes", (1, 2),
)  # fmt: skip


def text(rng: Random, seeds: Sequence[str], words: Sequence[str] = ()) -> str:
    """One of the seeds after one to six changes; now and then nothing but noise."""
    if rng.random() < 0.02:
        return "".join(rng.choice(ODD) for _ in range(rng.randrange(40)))
    found = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        found = _change(rng, found, seeds, words)
    return found[:LONGEST]


def _change(rng: Random, old: str, seeds: Sequence[str], words: Sequence[str]) -> str:
    start = rng.randrange(len(old) + 1)
    end = min(len(old), start + int(rng.expovariate(0.15)))
    piece = old[start:end]
    match rng.randrange(9):
        case 0:
            return old[:start] + old[end:]
        case 1:
            return old[:start]
        case 2:
            return old[:start] + rng.choice(ODD) + old[end:]
        case 3:
            return old[:start] + rng.choice(NUMBERS) + old[end:]
        case 4 if words:
            return old[:start] + rng.choice(words) + old[rng.choice((start, end)) :]
        case 5:
            return old[:start] + piece * rng.choice((2, 2, 3, 50, 1000)) + old[end:]
        case 6:
            other = rng.choice(seeds)
            return old[:start] + other[rng.randrange(len(other) + 1) :]
        case 7:
            return _move_line(rng, old)
        case _:
            return old[:start] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + old[end:]


def _move_line(rng: Random, old: str) -> str:
    lines = old.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    if rng.random() < 0.3:
        line = rng.choice(("  ", "    ", "\t", "- ", "? ")) + line
    for _ in range(rng.choice((0, 1, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def tree(rng: Random, seeds: Sequence[Any], words: Sequence[str] = ()) -> Any:
    """One of the seeds with one to four of its places changed."""
    found = deepcopy(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4))):
        with suppress(RecursionError):  # what an earlier change made so deep cannot be copied
            found = _graft(rng, found, words)
    return found


def _graft(rng: Random, root: Any, words: Sequence[str]) -> Any:
    places: list[tuple[Any, Any]] = []
    _walk(root, places, 0)
    if not places or rng.random() < 0.01:
        return any_value(rng, words)
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(words) if words else "x"] = holder.pop(key)
        case 2:
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"name": holder[key]}
        case 3:
            other, place = rng.choice(places)
            holder[key] = deepcopy(other.get(place) if isinstance(other, dict) else _at(other, place))
        case 4 if isinstance(holder[key], str):
            holder[key] = text(rng, [holder[key]], words)
        case _:
            holder[key] = any_value(rng, words)
    return root


def _at(items: list[Any], place: int) -> Any:
    return items[place] if place < len(items) else None


def _walk(node: Any, places: list[tuple[Any, Any]], depth: int) -> None:
    if depth > 12:
        return
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        places.append((node, key))
        _walk(value, places, depth + 1)


def any_value(rng: Random, words: Sequence[str] = ()) -> Any:
    """Some plain value, nested now and then, sometimes very deep."""
    draw = rng.random()
    if words and draw < 0.3:
        return rng.choice(words)
    if draw < 0.32:
        return deep(rng.choice((20, 200, 900, 3000)), (lambda x: [x]) if rng.random() < 0.5 else (lambda x: {"a": x}))
    if draw < 0.42:
        return {rng.choice(words or ("a", "b")): rng.choice(VALUES) for _ in range(rng.randrange(4))}
    return deepcopy(rng.choice(VALUES))


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    """A value inside so many others."""
    found: Any = 1
    for _ in range(levels):
        found = wrap(found)
    return found
