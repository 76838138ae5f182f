"""The lexicons that come with Ostrom: the published lists and our own for defections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from ostrom.features.words.lexicons.files import parse_lexicons
from ostrom.features.words.lexicons.lexicon import Lexicon, Mode


def memory_curse() -> tuple[Lexicon, ...]:
    """The four term lists of Liu et al. (2026, Appendices D.2 and E.1), each under its own matching rule.

    The check of the training corpus (Appendix I.1) takes the same lists as substrings: ``matched(memory_curse(),
    "substring")``.

    >>> [(lexicon.name, len(lexicon.terms)) for lexicon in memory_curse()]
    [('forward_looking', 15), ('history_following', 16), ('paranoia', 51), ('cooperation', 29)]
    """
    return _builtin("memory_curse.yaml")


def persona_keywords(roles: str | Sequence[str] = (), *, mode: Mode = "word") -> tuple[Lexicon, ...]:
    """The nine keyword categories of Manoranjan & Gaikwad (2026, Appendix F).

    Their "as an [X]" becomes "as a X" and "as an X" for each of ``roles`` and nothing without roles.

    >>> persona_keywords(["Citizen"])[2].terms
    ('role', 'identity', 'persona', 'character', 'as a Citizen', 'as an Citizen')
    """
    return tuple(replace(lexicon, mode=mode) for lexicon in _builtin("personas.yaml", _listed(roles)))


def defection(labels: str | Sequence[str] = ()) -> Lexicon:
    """Words that name a defection, and the labels under which the game displays it (exact case, whole word).

    >>> defection("A1").labels
    ('A1',)
    """
    (lexicon,) = _builtin("defection.yaml")
    return replace(lexicon, labels=_listed(labels))


def normative() -> Lexicon:
    """Words that say what ought to be done, or name an institution for it.

    >>> "should" in normative().terms
    True
    """
    (lexicon,) = _builtin("normative.yaml")
    return lexicon


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several; a bare string is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)


def _builtin(name: str, roles: Sequence[str] | None = None) -> tuple[Lexicon, ...]:
    from ostrom.ground.yaml import read_yaml

    text = (files(__package__) / "data" / name).read_text(encoding="utf-8")
    # The lists are kept as printed, repeated terms included, so there is nothing to warn about.
    return parse_lexicons(read_yaml(text, name), file=name, roles=roles, warn=False)
