"""A lexicon: a named list of terms and the rule by which they match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ostrom.features.words.lexicons.inflections import inflections
from ostrom.features.words.lexicons.normal import is_word_character, normal_form
from ostrom.ground.errors import StudyError, UnknownName

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
        """Every form of every term that is searched for, with its term; the term itself comes first.

        A form that is another term of the list counts as that term.

        >>> Lexicon("plan", ("strategy", "strategies"), "inflected").forms()[:2]
        (('strategy', 'strategy'), ('strategies', 'strategies'))
        """
        found = {normal_form(term): (term, term) for term in self.terms}
        if self.mode == "inflected":
            for term in self.terms:
                for form in inflections(term):
                    found.setdefault(normal_form(form), (form, term))
        return tuple(found.values())

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise StudyError("a lexicon needs a name", key="name", found=self.name)
        if self.mode not in MODES:
            raise StudyError("unknown match mode", key=f"{self.name}.mode", found=self.mode, allowed=MODES)
        terms = _checked(self.terms, f"{self.name}.terms")
        labels = _checked(self.labels, f"{self.name}.labels")
        if not terms and not labels:
            raise StudyError("needs at least one term", key=f"{self.name}.terms", found=[])
        object.__setattr__(self, "terms", _distinct(terms))
        # A label that is also a form of a term adds nothing: the term matches in any case.
        known = {normal_form(form) for form, _ in self.forms()}
        object.__setattr__(
            self, "labels", tuple(l for l in dict.fromkeys(labels) if normal_form(l) not in known)
        )
        clash = [text for text, n in Counter(map(normal_form, self.labels)).items() if n > 1]
        if clash:
            raise StudyError("labels differ only by case", key=f"{self.name}.labels", found=clash[0])


def matched(lexicons: Iterable[Lexicon], modes: Mode | Mapping[str, Mode] | None) -> tuple[Lexicon, ...]:
    """The same lists under another rule: one for all of them, or one for each list that is named.

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
    seen: set[str] = set()
    repeated = []
    for term in terms:
        normal = normal_form(term)
        if normal in seen:
            repeated.append(term)
        seen.add(normal)
    return tuple(repeated)


def _distinct(terms: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for term in terms:
        first.setdefault(normal_form(term), term)
    return tuple(first.values())


def _checked(terms: object, key: str) -> tuple[str, ...]:
    if isinstance(terms, str) or not isinstance(terms, list | tuple):
        raise StudyError("must be a list of terms", key=key, found=terms)
    for index, term in enumerate(terms):
        if not isinstance(term, str):
            found = "nothing" if term is None else term  # an error shows no None
            raise StudyError("a term must be text; put it in quotes", key=f"{key}[{index}]", found=found)
        if not any(map(is_word_character, term)):
            raise StudyError("a term needs at least one letter or digit", key=f"{key}[{index}]", found=term)
    return tuple(terms)
