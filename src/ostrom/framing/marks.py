"""Marks in a text that stand for values which are put in later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARKS = re.compile("\ue000(\\w+)\ue001")


def mark(name: str) -> str:
    """Stands for a value that is put in later; its first and last characters are in no text of ours."""
    return f"\ue000{name}\ue001"


def split_marks(text: str) -> list[str]:
    """The pieces of a text with marks: what is said, and in between (every second one) the names of holes."""
    return _MARKS.split(text)


def put_in(pieces: list[str], holes: Mapping[str, Any]) -> str:
    """The pieces with values in their holes; a text that is put in is never looked at again.

    >>> put_in(["Round ", "round", "."], {"round": 7})
    'Round 7.'
    """
    if len(pieces) == 1:
        return pieces[0]
    filled = pieces.copy()
    for place in range(1, len(pieces), 2):
        filled[place] = str(holes[pieces[place]])
    return "".join(filled).strip("\n")
