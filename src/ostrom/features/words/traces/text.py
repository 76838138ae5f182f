"""What counts as the reasoning of a reply: what came beside it, and its text without the answer.

A reply may bring reasoning in a field of its own (``raw`` thoughts, or a ``summary`` of them) and may reason
in its text (``written``). What is analysed is the field, then the text before the final answer: a last line
that is the answer and nothing more (an option alone or in brackets, also after "Answer:"), or a JSON object
at the end. A last line that argues ("They cheated, so I choose A1.") stays. A reply that only answers has no
reasoning, which is not the same as reasoning without a match.
"""

from __future__ import annotations

import re

_MARKS = " \t*_`'\"“”‘’.!,;:()[]{}<>$\\|#-–—•="
_SPEAKS = re.compile(r"[^\W_]")
_BRACKETED = re.compile(r"[\s*_`'\"#>\-–•]*\[[^\[\]]{1,80}\][\s*_`'\".!]*")
_HEADED = re.compile(
    r"[\s*_`#>\-–•]*(?:(?:so|therefore|thus|hence)[,\s]+)?(?:my|the|your)?\s*(?:final\s+|last\s+)?"
    r"(?:answer|action|choice|decision|move|option)\b[\s*_`]*(?:is)?[\s*_`]*[:=]?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"```[A-Za-z]*")
_LONGEST = 200
"""No answer alone is longer; a cap keeps every pattern far from quadratic time."""


def reasoning_of(
    reply: str | None, reasoning: str | None = None, kind: str | None = None, label: str | None = None
) -> tuple[str, str]:
    """The text to analyse and what it is made of; both empty where nothing was reasoned.

    ``kind`` is the kind of the reasoning field, ``label`` the option's label that the reply was read as.

    >>> reasoning_of("They cheated.\\n[A1]")
    ('They cheated.', 'written')
    >>> reasoning_of("[A1]", "Trust is gone.", "raw")
    ('Trust is gone.', 'raw')
    >>> reasoning_of("[A1]")
    ('', '')
    """
    parts, kinds = [], []
    if reasoning and _SPEAKS.search(reasoning):
        parts.append(reasoning.strip())
        kinds.append(kind if kind and kind != "none" else "raw")
    written = without_answer(reply or "", label)
    if _SPEAKS.search(written):
        parts.append(written)
        kinds.append("written")
    return "\n\n".join(parts), "+".join(kinds)


def without_answer(reply: str, label: str | None = None) -> str:
    """A reply without its final answer.

    >>> without_answer("I hope so.\\n\\n**Answer: [A0]**"), without_answer("So I choose A0.")
    ('I hope so.', 'So I choose A0.')
    >>> without_answer('Even odds.\\n{"A0": 50, "A1": 50}')
    'Even odds.'
    """
    text = _unfenced(reply)
    if text.endswith("}"):
        start = _object_start(text)
        if start is not None:
            return _unfenced(text[:start])
    lines = text.split("\n")
    while lines and not _SPEAKS.search(lines[-1]):
        lines.pop()
    if lines and _answers(lines[-1], label):
        lines.pop()
    return _unfenced("\n".join(lines))


def _unfenced(text: str) -> str:
    """A text without white space and the mark of a code block at its end."""
    text = text.rstrip()
    head, _, last = text.rpartition("\n")
    return head.rstrip() if _FENCE.fullmatch(last.strip()) else text


def _answers(line: str, label: str | None) -> bool:
    """Whether a line is an answer alone."""
    line = line.strip()
    if len(line) > _LONGEST:
        return False
    if _is_option(line, label):
        return True
    headed = _HEADED.fullmatch(line)
    return headed is not None and _is_option(headed["rest"], label)


def _is_option(piece: str, label: str | None) -> bool:
    core = piece.strip(_MARKS)
    if not core:
        return False
    if label is not None and core.casefold() == label.strip(_MARKS).casefold():
        return True
    return len(core.split()) == 1 or _BRACKETED.fullmatch(piece) is not None


def _object_start(text: str) -> int | None:
    """Where the JSON object at the end of a text begins; None if its brackets do not match."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] == "}":
            depth += 1
        elif text[place] == "{":
            depth -= 1
            if not depth:
                return place
    return None
