"""Reading a choice: one option, named at the end of a reply. Never guesses; says how it read.

``exact``: the last line that says anything is one label alone, in any of its marks (brackets, quotes,
emphasis, a final stop). ``loose``: the last sentence of that line names exactly one option, undoubtedly
(see ``naming.reason_not_settled``). Labels are case-sensitive when two of them differ by case alone,
otherwise any case will do for a label alone or in marks. Anything before the last line, a bracket included, is
reasoning and no answer. Labels of the table: A0, A1.

    reply                                         | reading | label
    A0                                            | exact   | A0
    [A0]                                          | exact   | A0
    **[A0]**                                      | exact   | A0
    `[A0]`                                        | exact   | A0
    "A0".                                         | exact   | A0
    a0                                            | exact   | A0
    I will not choose A1.↵[A0]                    | exact   | A0
    ```↵[A0]↵```                                  | exact   | A0
    [A0]↵↵                                        | exact   | A0
    Answer: A0                                    | loose   | A0
    Action: [A0]                                  | loose   | A0
    Option A0                                     | loose   | A0
    - [A0]                                        | loose   | A0
    so my action is [A0].                         | loose   | A0
    I will not choose A1. [A0]                    | loose   | A0
    They do not trust me, so I choose A1.         | loose   | A1
    I choose A1 because they are not nice.        | loose   | A1
    $\\boxed{A1}$                                  | loose   | A1
    [A0]↵I hope that this was wise.               | invalid |
    I choose A0. Good luck!                       | invalid |
    I will not choose A1.                         | invalid |
    Instead of A1 I take the other one.           | invalid |
    Should I choose A0?                           | invalid |
    If I choose A0, I earn more.                  | invalid |
    I expect that the other player will choose A0 | invalid |
    A0 or A1                                      | invalid |
    I choose A0, not A1.                          | invalid |
    [A0]↵[A1]                                     | invalid |
    - A0↵- A1                                     | invalid |
    [A7]                                          | invalid |
    I choose A7 over A0.                          | invalid |
    R5: You=A0, P2=A0 -> 200                      | invalid |
    [A0                                           | invalid |
    A00                                           | invalid |
    ...                                           | invalid |
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from ostrom.answers.labels import LONGEST, Labels, normal, prepared
from ostrom.answers.naming import mentions, reason_not_settled, unknown, without_marks
from ostrom.answers.reading import SENTENCE, Answer, Invalid, clipped, final_part, last_lines, last_sentence

_LONGEST_LINE = LONGEST + 64
_SHORT = 40
_LIST_MARK = re.compile(r"(?:[-*+•>]|[0-9]{1,3}[.)])\s+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def read_choice(text: str, labels: Mapping[str, str], *, strict: bool = False, cut: bool = False) -> Answer | Invalid:
    """Return the key of the option that the reply ends with; ``labels`` maps keys to shown labels.

    ``strict`` allows the exact reading alone; ``cut`` says that the reply was stopped by the token limit.

    >>> read_choice("They cheated. I will not choose A0. [A1]", {"C": "A0", "D": "A1"}).value
    'D'
    >>> read_choice("so A0 or A1", {"C": "A0", "D": "A1"})
    Invalid(reason='the last sentence names more than one option: [A0] and [A1]')
    """
    return (
        _read_short(text, tuple(labels.items()), strict, cut)
        if len(text) <= _SHORT
        else _read(text, labels, strict, cut)
    )


@lru_cache(maxsize=4096)
def _read_short(text: str, labels: tuple[tuple[str, str], ...], strict: bool, cut: bool) -> Answer | Invalid:
    """Cache for short replies, which repeat often."""
    return _read(text, dict(labels), strict, cut)


def _read(text: str, labels: Mapping[str, str], strict: bool, cut: bool) -> Answer | Invalid:
    ready = prepared(labels)
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part

    def speaks(piece: str) -> bool:
        return bool(_LETTER_OR_DIGIT.search(piece)) or any(label in piece for label in labels.values())

    lines = last_lines(part, 2, speaks)
    if not lines:
        return Invalid("the reply says nothing")
    key = alone(lines[0], ready)
    listed = _item(lines[0])
    item = key if listed is lines[0] else alone(listed, ready)
    before = alone(_item(lines[1]), ready) if len(lines) > 1 else None
    if item is not None and before is not None and item != before:
        return Invalid(f"the reply ends with two options, {_two(before, item, labels)}; give only one")
    if key is not None:
        return Answer(key, "exact")
    return (
        Invalid(f"the last line must be {ready.bracketed()} alone, found {clipped(lines[0])}")
        if strict
        else _loose(last_sentence(lines[0], speaks), ready)
    )


def alone(line: str, labels: Labels) -> str | None:
    """Return the option whose label is the whole line, apart from marks.

    >>> alone("**[A0].**", Labels({"C": "A0", "D": "A1"}))
    'C'
    """
    if len(line) > _LONGEST_LINE:
        return None
    return next(
        (key for key in (labels.key(rest) for rest in without_marks(normal(line), ".!。")) if key is not None), None
    )


def _item(line: str) -> str:
    """Return the line without a list marker."""
    mark = _LIST_MARK.match(line)
    return line[mark.end() :] if mark else line


def _loose(sentence: str, labels: Labels) -> Answer | Invalid:
    if len(sentence) > SENTENCE:
        return Invalid(f"the last sentence is longer than {SENTENCE} characters; end with {labels.bracketed()} alone")
    sentence = normal(sentence)
    mentioned = mentions(sentence, labels)
    if (stranger := unknown(sentence, labels, mentioned)) is not None:
        return Invalid(f"{clipped(stranger)} is not one of the options {labels.bracketed()}")
    keys = list(dict.fromkeys(m.key for m in mentioned))
    if len(keys) > 1:
        return Invalid(f"the last sentence names more than one option: {_two(keys[0], keys[1], labels.shown)}")
    if not any(m.named for m in mentioned):
        return Invalid(f"the last sentence names none of the options {labels.bracketed()}: {clipped(sentence)}")
    why = reason_not_settled(sentence, mentioned)
    return Answer(keys[0], "loose") if why is None else Invalid(f"{why}: {clipped(sentence)}")


def _two(first: str, second: str, labels: Mapping[str, str]) -> str:
    return f"[{labels[first]}] and [{labels[second]}]"
