"""Results of parsing (an answer, or the reason for none), and the end of a reply.

The end is what follows its thoughts, its last lines, its last sentence. Finding it is linear in the reply.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.ground.values import value

Reading = Literal[
    "exact",
    "loose",
    "constrained",
    "logprob",
    "scripted",
    "person",
    "policy",
    "refused",
    "imported",
    "assigned",
    "missed",
]


@value
class Answer:
    """A valid answer. ``value`` is plain data (an option's key, a mapping, a text).

    ``probabilities`` are there when the answer was drawn from a distribution that is known: a stated mixed
    strategy, log-probabilities of the options, or a stochastic strategy that tells its odds.
    ``note`` says what befell the answer (for example which policy replaced an invalid one).
    A decision that nobody answered in time has the reading ``missed`` and no value: the mechanism decides what
    that means, and no agent ever puts an action in its place.
    """

    value: Any
    reading: Reading = "scripted"
    probabilities: Mapping[str, float] | None = None
    note: str | None = None
    facts: Mapping[str, Any] | None = None
    """Facts about the question, such as which label stood for which option."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """No answer: ``reason`` is short, lower case, and shown to the model when it is asked again."""

    reason: str


INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\x00"
BLANK = "".join(chr(c) for c in range(0x3001) if chr(c).isspace()) + INVISIBLE
TURN_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<eos>", "</s>")
"""End-of-turn marks that some servers leave in the text."""

SENTENCE = 2000
"""The longest sentence in characters, which bounds the work on it."""

_BREAKS = ("\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029")
_STOPS = ".!?…。！？؟"
_WIDE_STOPS = "。！？"
_CLOSERS = "\"'”’)]}*_`»」』】］）>"
_ABBREVIATIONS = ("e.g", "i.e", "vs", "cf", "approx")
_NUMBERED = re.compile(r"[0-9]{1,3}\Z")


def final_part(text: str, *, cut: bool = False) -> str | Invalid:
    """Return the reply after its thoughts, or why it is empty.

    >>> final_part("<think>[A1]?</think> [A0]</s>")
    '[A0]'
    >>> final_part("<think>they may")
    Invalid(reason='the reply ends inside its reasoning')
    """
    if cut:
        return Invalid("the reply was cut off before its end")
    if not text.isprintable():
        for pause in _BREAKS:
            text = text.replace(pause, "\n")
    close = text.rfind("</think>")
    if text.rfind("<think>") > close:
        return Invalid("the reply ends inside its reasoning")
    text = (text[close + len("</think>") :] if close >= 0 else text).strip(BLANK)
    # At most a few marks in a row are removed: each removal copies the text.
    for _ in range(4):
        if not text.endswith(TURN_ENDS):
            break
        for mark in TURN_ENDS:
            text = text.removesuffix(mark)
        text = text.rstrip(BLANK)
    return text or Invalid("the reply is empty")


def last_lines(text: str, count: int, speaks: Callable[[str], bool]) -> list[str]:
    """Return the last non-empty lines, last one first; a line beyond ``SENTENCE`` keeps its tail.

    >>> last_lines("I think\\n[A0]\\n```\\n", 2, lambda line: any(c.isalnum() for c in line))
    ['[A0]', 'I think']
    """
    lines: list[str] = []
    end = len(text)
    while end > 0 and len(lines) < count:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip(BLANK)
        end = start - 1
        # One character more than allowed, so that overlong ones are recognised.
        if line and speaks(line):
            lines.append(line[-SENTENCE - 1 :])
    return lines


def last_sentence(line: str, speaks: Callable[[str], bool]) -> str:
    """Return the last sentence of a line. A stop ends a sentence if white space follows it.

    >>> last_sentence("I will not choose A1. [A0]", bool)
    '[A0]'
    >>> last_sentence("1. Given e.g. A1 I say v1.5!", bool)
    '1. Given e.g. A1 I say v1.5!'
    """
    for i in range(len(line) - 1, 0, -1):
        if line[i].isspace():
            head = line[:i].rstrip(_CLOSERS)
            ends = head != "" and head[-1] in _STOPS and not _is_no_end(head)
        else:
            ends = line[i - 1] in _WIDE_STOPS
        if ends and speaks(line[i:]):
            return line[i:].strip()
    return line


def _is_no_end(head: str) -> bool:
    """Return whether the stop after ``head`` belongs to an abbreviation or a list number."""
    if head[-1] != ".":
        return False
    before = head[:-1]
    return bool(_NUMBERED.match(before)) or before.lower().rsplit(None, 1)[-1:] in [[a] for a in _ABBREVIATIONS]


def clipped(text: str, most: int = 60) -> str:
    """Return a short quotation for a message, on one line."""
    line = " ".join(text[: most * 4].split())
    return repr(line if len(line) <= most else line[: most - 3] + "...")
