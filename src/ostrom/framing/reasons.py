"""Why a reply could not be read, in other languages: the readers say it in English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from ostrom.ground.errors import StudyError

Reason: TypeAlias = tuple[re.Pattern[str], str]
"""What a reader says, with holes, and its translation."""


def read_reasons(text: str, file: str) -> list[Reason]:
    """The lines ``ENGLISH = TRANSLATION`` of a file; ``{}`` stands for anything, and goes where the next one is.

    >>> read = read_reasons("the percentages sum to {}, not 100 = {}!\\n{} = unlesbar", "reasons.txt")
    >>> translated("the percentages sum to 90, not 100", read), translated("no label", read)
    ('90!', 'unlesbar')
    """
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        english, separator, other = line.partition(" = ")
        if not separator or other.count("{}") > english.count("{}"):
            raise StudyError("is no line ENGLISH = TRANSLATION", file=file, found=line[:80])
        found.append((re.compile("(.*?)".join(map(re.escape, english.split("{}")))), other))
    if not found or not found[-1][0].fullmatch(""):
        raise StudyError("must end with a line {} = TRANSLATION for all other reasons", file=file)
    return found


def translated(reason: str, reasons: Sequence[Reason]) -> str:
    """The translation of the first line that fits."""
    for english, other in reasons:
        fits = english.fullmatch(reason.replace("\n", " "))
        if fits is not None:
            first, *rest = other.split("{}")
            return first + "".join(part for pair in zip(fits.groups(), rest, strict=False) for part in pair)
    raise AssertionError("the last line fits everything")
