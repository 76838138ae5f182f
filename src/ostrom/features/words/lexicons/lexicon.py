"""A lexicon: a named list of terms and the rule by which they match.

When two stretches of text are the same: case, white space, hyphens and apostrophes. Every rule works on single
characters, so a position in the normalised text is a position in the original. ``str.lower`` and ``str.casefold`` alone
are no help there: they turn 'İ' and 'ß' into two characters.

Regular forms of English terms are plurals, third person, past, -ing, -able and -ability of a term's last word.

Word lists print base forms ("payoff", "strategy", "profit") and mean their inflections; "profitable" and
"profitability" are formed as regularly and count too. Other derived words ("strategist", "payment"), comparatives
and irregular forms are not found; a list that means them prints them.
Two plurals of game theory are irregular and included: -ium to -ia (equilibria) and -rix to -rices (matrices).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.values import grouped

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
    return next((folded for folded in (char.casefold(), char.lower()) if len(folded) == 1), char)


def close_gaps(text: str) -> str:
    """Text with every run of white space and hyphens as one blank, none at the ends.

    >>> close_gaps(" Long \\u2011\\n term")
    'Long term'
    """
    return _GAP.sub(" ", text).strip(" ")


@lru_cache(maxsize=1024)  # a file may repeat a long term by thousands of aliases
def normal_form(term: str) -> str:
    """The form in which terms are compared: two terms with one normal form are one term.

    >>> normal_form("Long-Term") == normal_form("long  term")
    True
    """
    return "".join(map(fold, close_gaps(term)))


def is_word_character(char: str) -> bool:
    """Letters and digits. The underscore is not one, so that the emphasised ``_risk_`` is read as risk."""
    return char.isalnum()


_VOWELS = "aeiou"
_HISSING = ("s", "x", "z", "ch", "sh")


def inflections(term: str) -> tuple[str, ...]:
    """The inflected forms of a term; none for a term whose last word is no English word of two letters or more.

    >>> inflections("payoff")
    ('payoffs', 'payoffed', 'payoffing', 'payoffable', 'payoffability')
    >>> inflections("dominant strategy")[:3]
    ('dominant strategies', 'dominant strategied', 'dominant strategying')
    >>> inflections("cooperate")[:3], inflections("trap")[:3], inflections("profit")[-2:]
    (('cooperates', 'cooperated', 'cooperating'), ('traps', 'trapped', 'trapping'), ('profitable', 'profitability'))
    >>> inflections("A1")
    ()
    """
    last = re.split("[^a-z]", "".join(map(fold, term)))[-1]
    if len(last) < 2 or (len(last) < len(term) and term[-len(last) - 1].isalnum()):
        return ()
    head = term[: len(term) - len(last)]
    stem = last[:-1] if last[-1] == "e" else last
    able = [f"{stem}able", f"{stem}ability"]
    return tuple(head + form for form in dict.fromkeys([*_forms(last), *able]))


def _forms(word: str) -> list[str]:
    """Every way to write the forms: where two spellings are in use (benefited, benefitted) both are given."""
    if word[-1] == "y" and word[-2] not in _VOWELS:
        return [f"{word[:-1]}ies", f"{word[:-1]}ied", f"{word}ing"]
    forms = [
        f"{word}es" if word.endswith(_HISSING) else f"{word}s",
        *([f"{word}es"] if word[-1] == "o" and word[-2] not in _VOWELS else []),
        *([f"{word[:-2]}a"] if word.endswith("ium") else []),
        *([f"{word[:-1]}ces"] if word.endswith("rix") else []),
    ]
    if word.endswith("ie"):
        return [*forms, f"{word}d", f"{word[:-2]}ying"]
    if word[-1] == "e":
        stem = word if word.endswith(("ee", "oe", "ye")) else word[:-1]
        return [*forms, f"{word}d", f"{stem}ing"]
    doubled = re.search(f"[^{_VOWELS}][{_VOWELS}][^{_VOWELS}wxy]$", word) is not None
    # "trap" is trapped alone; of longer words the stress decides (benefited, deterred), which spelling does not show.
    plain = not doubled or sum(char in _VOWELS for char in word) > 1
    stems = [*([word] if plain else []), *([word + word[-1]] if doubled else [])]
    return [*forms, *(stem + end for end in ("ed", "ing") for stem in stems)]


Mode = Literal["word", "inflected", "prefix", "substring"]
MODES: tuple[str, ...] = get_args(Mode)
"""From the narrowest rule to the widest; ``inflected`` and ``prefix`` each find some words that the other does not."""

Overlap = Literal["longest", "all"]
OVERLAPS: tuple[str, ...] = get_args(Overlap)


@dataclass(frozen=True)
class Lexicon:
    """Terms that are counted together under one name.

    ``word``: matches whole words; for lists that print their inflections (Liu et al. 2026, Appendix E.1).
    ``inflected``: matches whole words and their regular inflections ("strategy" finds "strategies").
    ``prefix``: matches at a word start ("recipro" finds "reciprocity"); for the stems of Appendix D.2.
    ``substring``: matches anywhere, the rule of the corpus check in Liu et al. (2026, Appendix I.1).
    Case never matters; between the parts of a term any white space and hyphens may stand.
    ``labels`` are names as displayed in a game ("A1"): whole words, in exactly this case, whatever the mode.
    Terms that are equal under these rules count once; the first spelling is kept.

    >>> Lexicon("hope", ("long-term", "Long term", "future")).terms
    ('long-term', 'future')
    """

    name: str
    terms: tuple[str, ...]
    mode: Mode = "prefix"
    source: str = ""
    labels: tuple[str, ...] = ()

    def forms(self) -> tuple[tuple[str, str], ...]:
        """All searched forms, as pairs of a form and its term; the terms themselves come first.

        A form that is another term of the list counts as that term.

        >>> Lexicon("plan", ("strategy", "strategies"), "inflected").forms()[:2]
        (('strategy', 'strategy'), ('strategies', 'strategies'))
        """
        inflected = self.terms if self.mode == "inflected" else ()
        pairs = [(term, term) for term in self.terms]
        pairs += [(form, term) for term in inflected for form in inflections(term)]
        return tuple(same[0] for same in grouped((normal_form(form), (form, term)) for form, term in pairs).values())

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise StudyError("a lexicon needs a name", key="name", actual=self.name)
        if self.mode not in MODES:
            raise StudyError("unknown match mode", key=f"{self.name}.mode", actual=self.mode, allowed=MODES)
        terms = _checked(self.terms, f"{self.name}.terms")
        labels = _checked(self.labels, f"{self.name}.labels")
        if not terms and not labels:
            raise StudyError("needs at least one term", key=f"{self.name}.terms", actual=[])
        distinct = grouped((normal_form(term), term) for term in terms)
        object.__setattr__(self, "terms", tuple(same[0] for same in distinct.values()))
        # A label that is also a form of a term adds nothing: the term matches in any case.
        term_forms = {normal_form(form) for form, _ in self.forms()}
        object.__setattr__(self, "labels", tuple(l for l in dict.fromkeys(labels) if normal_form(l) not in term_forms))
        clash = [text for text, n in Counter(map(normal_form, self.labels)).items() if n > 1]
        if clash:
            raise StudyError("labels differ only by case", key=f"{self.name}.labels", actual=clash[0])


def matched(lexicons: Iterable[Lexicon], modes: Mode | Mapping[str, Mode] | None) -> tuple[Lexicon, ...]:
    """Lists under another matching rule: one for all of them, or one for each list that is named.

    >>> [x.mode for x in matched([Lexicon("a", ("b",)), Lexicon("c", ("d",))], {"c": "word"})]
    ['prefix', 'word']
    """
    lists = tuple(lexicons)
    if modes is None:
        return lists
    of: Mapping[str, Mode] = modes if isinstance(modes, Mapping) else {x.name: modes for x in lists}
    for name in of:
        if name not in [x.name for x in lists]:
            raise UnknownName("list of words", name, [x.name for x in lists])
    return tuple(replace(x, mode=of.get(x.name, x.mode)) for x in lists)


def duplicates(terms: Iterable[str]) -> tuple[str, ...]:
    """The terms that repeat an earlier one under the matching rules.

    >>> duplicates(["tit-for-tat", "fair", "tit for tat"])
    ('tit for tat',)
    """
    every = list(terms)
    firsts = {normal_form(term): place for place, term in reversed([*enumerate(every)])}
    return tuple(term for place, term in enumerate(every) if firsts[normal_form(term)] != place)


def _checked(terms: object, key: str) -> tuple[str, ...]:
    if isinstance(terms, str) or not isinstance(terms, list | tuple):
        raise StudyError("must be a list of terms", key=key, actual=terms)
    for index, term in enumerate(terms):
        if not isinstance(term, str):
            actual = "nothing" if term is None else term  # an error shows no None
            raise StudyError("a term must be text; put it in quotes", key=f"{key}[{index}]", actual=actual)
        if not any(map(is_word_character, term)):
            raise StudyError("a term needs at least one letter or digit", key=f"{key}[{index}]", actual=term)
    return tuple(terms)
