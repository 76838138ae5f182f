"""Reading an amount: one number, alone on the last line of a reply or as the JSON object {"amount": 40}. Never guesses.

A number is written in plain digits, with a point before decimals. ``exact``: the last line that says anything is the
number alone, in any of its marks (brackets, quotes, emphasis, a final stop), or the reply ends with the JSON object.
``loose``: the line is "Answer:" or "Amount:" and the number. Units, thousands separators, "about", ranges and exponents
are refused, in the JSON object too, as are digits of other scripts: each of them could mean another amount. -0 is 0.
More decimals than the step has are refused from three on, since 1.000 is a thousand in half of the world. A reply that
ends with two different answers is refused, in whatever forms they are. Amounts of the table: 0 to 5000 in steps of 1.

    reply                          | reading | amount
    40                             | exact   | 40
    [40]                           | exact   | 40
    **[40].**                      | exact   | 40
    40.0                           | exact   | 40
    I share.↵[40]                  | exact   | 40
    {"amount": 40}                 | exact   | 40
    Answer: 40                     | loose   | 40
    Amount: [40]                   | loose   | 40
    I give 40                      | invalid |
    40 coins                       | invalid |
    $40                            | invalid |
    40%                            | invalid |
    about 40                       | invalid |
    ~40                            | invalid |
    30-40                          | invalid |
    30 or 40                       | invalid |
    [30]↵[40]                      | invalid |
    30↵{"amount": 40}              | invalid |
    {"amount": 30}↵40              | invalid |
    {"amount": 30} {"amount": 40}  | invalid |
    1,000                          | invalid |
    1.000                          | invalid |
    1 000                          | invalid |
    -0                             | exact   | 0
    {"amount": -0.0}               | exact   | 0
    1e3                            | invalid |
    {"amount": 1e3}                | invalid |
    +40                            | invalid |
    007                            | invalid |
    ４０                           | invalid |
    NaN                            | invalid |
    40.5                           | invalid |
    99999999999999999999           | invalid |
    forty                          | invalid |
    {"amount": "40"}               | invalid |
    {"amount": 4e1}                | invalid |
    {"amount": 1.000}              | invalid |
    {"amount": 40, "why": 1}       | invalid |
"""

import re
from typing import Any

from ostrom.answers.choice import without_marks
from ostrom.answers.reading import Answer, Invalid, Reading, clipped, final_part, last_lines, last_object
from ostrom.games.amounts import Amounts

_LONGEST = 80
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,9})?", re.ASCII)
_OBJECT = re.compile(r"\{\s*\"amount\"\s*:\s*(" + _NUMBER.pattern + r")\s*\}[\s`.,;]*\Z", re.ASCII)
_LEAD = re.compile(r"(?:(?:my|the|final)\s+)*(?:answer|amount)\s*(?::|=|\bis\b)\s*", re.ASCII | re.IGNORECASE)
_SPEAKS = re.compile(r"[^\W_]")


def read_number(text: str, amounts: Amounts, *, strict: bool = False, cut: bool = False) -> Answer | Invalid:
    """Return the amount that the reply ends with.

    >>> read_number("They gave much. [40]".replace(". ", ".\\n"), Amounts(0, 100)).value
    40
    >>> read_number("about 40", Amounts(0, 100)).reason
    "the last line must be one number alone, from 0 to 100, found 'about 40'"
    """
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part
    if part.rstrip("`\n ").endswith("}"):
        return _from_object(part, amounts)
    lines = last_lines(part, 2, _says_something)
    if not lines:
        return Invalid("the reply says nothing")
    bare = _bare(lines[0])
    lead = None if bare is not None or strict else _LEAD.match(lines[0])
    digits = bare if lead is None else _bare(lines[0][lead.end() :])
    return (
        Invalid(f"the last line must be one number alone, {range_text(amounts)}, found {clipped(lines[0])}")
        if digits is None
        else _alone(digits, lines[1:], amounts, "loose" if lead else "exact")
    )


def _alone(digits: str, before: list[str], amounts: Amounts, reading: Reading) -> Answer | Invalid:
    """Return a number in plain digits, unless another answer stands right before it."""
    other = next((number for line in before if (number := _bare(line) or _from_object_text(line)) is not None), None)
    if other is not None and other != digits:
        return Invalid(f"the reply ends with two numbers, {other} and {digits}; give only one")
    decimals = len(digits.partition(".")[2])
    if decimals > max(2, amounts.decimals):
        return Invalid(f"{digits} has {decimals} decimals; write the number without thousands separators")
    return _on_grid(float(digits) if decimals else int(digits), digits, amounts, reading)


def _bare(line: str) -> str | None:
    """Return the number that is the whole line, apart from marks."""
    return (
        None
        if len(line) > _LONGEST
        else next((rest for rest in without_marks(line.strip(), ".") if _NUMBER.fullmatch(rest)), None)
    )


def _from_object(part: str, amounts: Amounts) -> Answer | Invalid:
    content = last_object(part)
    if isinstance(content, Invalid):
        return content
    if set(content.value) != {"amount"}:
        return Invalid('the JSON object must have the key "amount" and no other')
    amount: Any = content.value["amount"]
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return Invalid(f"the amount must be a number, {range_text(amounts)}")
    amount_text = part[content.start : content.end].rpartition(":")[2].strip("} \t\r\n")
    if not _NUMBER.fullmatch(amount_text):
        return Invalid(f"write the amount in plain digits, {range_text(amounts)}, found {clipped(amount_text)}")
    return _alone(amount_text, last_lines(part[: content.start], 1, _says_something), amounts, "exact")


def _from_object_text(text: str) -> str | None:
    """Return the number of the JSON object that a text ends with."""
    match = _OBJECT.search(text[-_LONGEST:])
    return None if match is None else match[1]


def _says_something(line: str) -> bool:
    return bool(_SPEAKS.search(line))


def _on_grid(amount: float, digits: str, amounts: Amounts, reading: Reading) -> Answer | Invalid:
    return (
        Invalid(f"the number must be {range_text(amounts)}, found {digits}")
        if not amounts.has(amount)
        else Answer(amounts.value(amounts.place(amount)), reading)
    )


def range_text(amounts: Amounts) -> str:
    """Describe the allowed amounts.

    >>> range_text(Amounts(0, 10, 0.5))
    'from 0 to 10 in steps of 0.5'
    """
    steps = "" if amounts.step == 1 else f" in steps of {amounts.step}"
    return f"from {amounts.low} to {amounts.high}{steps}"
