"""Reading free text: bounded by words and characters, refused when too long, never cut in silence."""

from __future__ import annotations

from ostrom.answers.ending import final_part
from ostrom.answers.forms import Text
from ostrom.answers.reading import Answer, Invalid


def read_text(text: str, form: Text, *, cut: bool = False) -> Answer | Invalid:
    """What the reply says, thoughts and outer white space removed.

    >>> read_text(" Let us both win. ", Text(words=5)).value
    'Let us both win.'
    >>> read_text("one two three", Text(words=2))
    Invalid(reason='the text has 3 words; at most 2 are allowed')
    """
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part
    if len(part) > form.characters:
        return Invalid(f"the text has {len(part)} characters; at most {form.characters} are allowed")
    if (words := len(part.split())) > form.words:
        return Invalid(f"the text has {words} words; at most {form.words} are allowed")
    try:
        part.encode()
    except UnicodeEncodeError:
        return Invalid("the text contains half of a surrogate pair, which is no character")
    return Answer(part, "exact")
