"""The same matching rules as plain regular expressions: slow, and short enough to check by eye.

The tests hold the fast matcher of ostrom.features.words.lexicons to this definition, and the benchmark measures
against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ostrom.features.words.lexicons.lexicon import HYPHENS, Lexicon, Overlap, close_gaps, normal_form
from ostrom.features.words.lexicons.matcher import Span

_GAP = rf"[\s{re.escape(HYPHENS)}]+"
_NOT_AFTER_WORD, _NOT_BEFORE_WORD = r"(?<![^\W_])", r"(?![^\W_])"


def term_regex(lexicon: Lexicon, term: str) -> str:
    """The regular expression for one term, to be used with ``re.IGNORECASE``.

    >>> term_regex(Lexicon("fear", ("risk",)), "risk")
    '(?<![^\\\\W_])risk'
    """
    if term in lexicon.labels:
        return f"{_NOT_AFTER_WORD}(?-i:{_body(term)}){_NOT_BEFORE_WORD}"
    start, end = _edges(lexicon)
    bodies = "|".join(_body(form, any_apostrophe=True) for form, of in lexicon.forms() if of == term)
    return f"{start}(?:{bodies}){end}" if "|" in bodies else f"{start}{bodies}{end}"


def list_regex(lexicon: Lexicon) -> re.Pattern[str]:
    """One alternation for the whole list, longer terms first; ``finditer`` gives the "longest" matches.

    Where the list has no labels the word edges are written once around the alternation, which is many
    times faster than once per term.
    """
    start, end = _edges(lexicon)
    forms = [(form, f"{start}{_body(form, any_apostrophe=True)}{end}") for form, _ in lexicon.forms()]
    forms += [(label, term_regex(lexicon, label)) for label in lexicon.labels]
    forms.sort(key=lambda one: -len(normal_form(one[0])))
    if lexicon.labels:
        return re.compile("|".join(pattern for _, pattern in forms), re.IGNORECASE)
    bodies = "|".join(_body(form, any_apostrophe=True) for form, _ in forms)
    return re.compile(f"{start}(?:{bodies}){end}", re.IGNORECASE)


def _edges(lexicon: Lexicon) -> tuple[str, str]:
    start = "" if lexicon.mode == "substring" else _NOT_AFTER_WORD
    return start, _NOT_BEFORE_WORD if lexicon.mode in ("word", "inflected") else ""


def _body(term: str, any_apostrophe: bool = False) -> str:
    parts = [re.escape(part) for part in close_gaps(term).split(" ")]
    if any_apostrophe:
        parts = [part.replace("\u2019", "'").replace("'", "['\u2019]") for part in parts]
    return _GAP.join(parts)


def regex_spans(text: str, lexicons: Iterable[Lexicon], overlap: Overlap = "longest") -> list[Span]:
    """What ``highlight`` returns, by regular expressions.

    >>> regex_spans("Too RISKY.", [Lexicon("fear", ("risk", "risky"))])
    [Span(start=4, end=9, list_name='fear', term='risky')]
    """
    found = []
    for column, lexicon in enumerate(lexicons):
        spans = _longest(text, lexicon) if overlap == "longest" else _all(text, lexicon)
        found += [(start, end, column, Span(start, end, lexicon.name, term)) for start, end, term in spans]
    return [span for *_, span in sorted(found)]


def _longest(text: str, lexicon: Lexicon) -> Iterator[tuple[int, int, str]]:
    spelled = {normal_form(form): term for form, term in lexicon.forms()}
    spelled |= {normal_form(label): label for label in lexicon.labels}
    for match in list_regex(lexicon).finditer(text):
        yield match.start(), match.end(), spelled[normal_form(match.group())]


def _all(text: str, lexicon: Lexicon) -> Iterator[tuple[int, int, str]]:
    for term in (*lexicon.terms, *lexicon.labels):
        # A lookahead, because occurrences of one term may overlap each other.
        for match in re.finditer(f"(?=({term_regex(lexicon, term)}))", text, re.IGNORECASE):
            yield match.start(1), match.end(1), term
