"""When two stretches of text are the same: case, white space, hyphens and apostrophes.

Every rule works on single characters, so a position in the normalised text is a position in the original.
``str.lower`` and ``str.casefold`` alone are no help there: they turn 'İ' and 'ß' into two characters.
"""

from __future__ import annotations

import re

HYPHENS = "-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
"""Characters that join the parts of a term. Models write long-term with U+2011 and win-win with an en dash;
the em dash separates clauses and is not among them."""

# Pairs that are one letter although their full case foldings differ or are longer than one character.
# Turkish dotted and dotless i are read as i, which is what regular expressions that ignore case do as well.
# U+0345 would fold from a mark to the letter iota; a letter must not appear where none was, so it stays.
_SPECIAL = {
    "\u0130": "i",
    "\u0131": "i",
    "\u0345": "\u0345",
    "\u1fd3": "\u0390",
    "\u1fe3": "\u03b0",
    "\ufb05": "\ufb06",
    "\u2019": "'",
}
_GAP = re.compile(rf"[\s{re.escape(HYPHENS)}]+")


def fold(char: str) -> str:
    """One character without its case, always one character long.

    >>> "".join(map(fold, "RİSK Straße ſuſpect can’t"))
    "risk straße suspect can't"
    """
    if char in _SPECIAL:
        return _SPECIAL[char]
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char


def close_gaps(text: str) -> str:
    """Text with every run of white space and hyphens as one blank, none at the ends.

    >>> close_gaps(" Long \\u2011\\n term")
    'Long term'
    """
    return _GAP.sub(" ", text).strip(" ")


def normal_form(term: str) -> str:
    """The form in which terms are compared: two terms with one normal form are one term.

    >>> normal_form("Long-Term") == normal_form("long  term")
    True
    """
    return "".join(map(fold, close_gaps(term)))


def is_word_character(char: str) -> bool:
    """Letters and digits. The underscore is not one, so that the emphasised ``_risk_`` is read as risk."""
    return char.isalnum()
