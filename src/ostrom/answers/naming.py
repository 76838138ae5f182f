"""Where a sentence names options. Works on one sentence of bounded length.

A label is *named* when it stands in marks of its own ([A0], "A0", **A0**, `A0`), or bare when it cannot be
anything but a label. What a bare label may be depends on its look:

code     letters with digits, an underscore, or symbols (A0, GO_ON): named wherever it stands, in any case
name     one capital other than A and I, or capitals only (J, CLEAN): named wherever it stands in its own case
word     anything else (cooperate, Stag, 2): named only as the object of a cue that ends its clause
         ("I choose to cooperate.", "Option 2"); elsewhere it merely *touches* the option
article  A and I: as a word, but elsewhere it says nothing at all ("A good choice")

A label that touches is never an answer, but it makes another one doubtful: "two options" counts both kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ostrom.answers.labels import Labels

Kind = Literal["code", "name", "word", "article"]

PAIRS = {
    "[": "]", "(": ")", "{": "}", "<": ">", '"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "“": "”",
    "‘": "’", "«": "»", "「": "」", "『": "』", "【": "】", "［": "］", "（": "）", ">": "<",
}  # fmt: skip
"""Marks that set a label apart; the last pair is a label between tags."""

GLUE = set("='’-/+\\@#%&~^|$_")
"""Characters that tie a bare label to its neighbour, as in You=A0 or A0's."""

WORD = re.compile(r"[\w'’]+")
_BRACKETED = re.compile(r"\[([^\[\]]{1,80})\]")
_CODE = re.compile(r"([^\W\d_]+)[0-9]+\Z")
_AFTER_CUE = re.compile(r"[\s\"'”’)\]*_`]*(?:[.,;:!]|\Z|(?:because|since|as)\b)", re.IGNORECASE)


def words(text: str) -> frozenset[str]:
    """A list of words, written as people write it."""
    return frozenset(text.split())


_CUES = words(
    "action answer choice choose chooses choosing chose decision move option pick picking play playing select"
    " selecting selection"
)
_LINKS = words("be is my the to will with")
_PEOPLE = words("agent opponent partner person player seat team")


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a label stands in a sentence; ``named`` says whether it can be an answer."""

    key: str
    start: int
    end: int
    named: bool


def mentions(sentence: str, labels: Labels) -> list[Mention]:
    """Every option that the sentence names or touches, from left to right.

    >>> labels = Labels({"C": "A", "D": "B"})
    >>> [(m.key, m.named) for m in mentions("A good choice is [B].", labels)]
    [('D', True)]
    """
    found = []
    for match in labels.pattern.finditer(sentence):
        key = labels.key(match.group())
        if key is None:  # a letter whose cases do not fold one to one
            continue
        label = labels.shown[key]
        kind = kind_of(label)
        start, end = match.span()
        if _marked(sentence, start, end):
            named = True
        elif _glued(sentence, start, end):
            named = False
        elif kind == "code":
            named = True
        elif kind == "name":
            named = match.group() == label and _word_before(sentence, start) not in _PEOPLE
        else:
            named = _cued(sentence, start, end)
            if kind == "article" and not named:
                continue
        found.append(Mention(key, start, end, named))
    return found


def kind_of(label: str) -> Kind:
    """What a bare label looks like; see the module's table.

    >>> [kind_of(label) for label in ("A0", "J", "cooperate", "A")]
    ['code', 'name', 'word', 'article']
    """
    if label in ("A", "I", "a", "i"):
        return "article"
    letters = any(c.isalpha() for c in label)
    digits = any(c.isdigit() for c in label)
    if letters == digits or "_" in label:
        return "code"
    return "name" if label.isupper() else "word"


def unknown(sentence: str, labels: Labels, found: list[Mention]) -> str | None:
    """A would-be label that is none: [A7], or a bare A7 beside options called A0 and A1.

    >>> unknown("I choose A7 and not the rest", Labels({"C": "A0", "D": "A1"}), [])
    'A7'
    """
    for match in _BRACKETED.finditer(sentence):
        if not any(match.start() <= m.start and m.end <= match.end() for m in found):
            return match.group()
    stems = {stem.group(1) for label in labels.by_label if (stem := _CODE.match(label))}
    for match in WORD.finditer(sentence):
        stem = _CODE.match(match.group())
        if stem and stem.group(1) in stems and labels.key(match.group()) is None:
            return match.group()
    return None


def words_before(sentence: str, start: int) -> list[str]:
    """The words before a place, nearest first, lower case."""
    return [word.lower().strip("'’") for word in reversed(WORD.findall(sentence[:start]))]


def _word_before(sentence: str, start: int) -> str:
    return next(iter(words_before(sentence, start)), "")


def _marked(sentence: str, start: int, end: int) -> bool:
    before = sentence[:start]
    after = sentence[end:]
    if before.endswith(" ") and after.startswith(" "):  # [ A0 ]
        before, after = before[:-1], after[1:]
        return before[-1:] in ("[", "(", "{", "`") and after[:1] == PAIRS[before[-1]]
    if after[:1] in (".", ",", "!") and before[-1:] in PAIRS:  # "A0."
        after = after[1:]
    return before[-1:] in PAIRS and after[:1] == PAIRS[before[-1]]


def _glued(sentence: str, start: int, end: int) -> bool:
    before, after = sentence[:start][-1:], sentence[end:]
    # A bracket that never closes may hold the beginning of a longer label.
    return before in GLUE or after[:1] in GLUE or (before == "[" and "]" not in after)


def _cued(sentence: str, start: int, end: int) -> bool:
    """Whether a cue such as "choose" or "my action is" leads to this place and the clause ends behind it."""
    if not _AFTER_CUE.match(sentence, end):
        return False
    for word in words_before(sentence, start):
        if word not in _LINKS:
            return word in _CUES
    return False
