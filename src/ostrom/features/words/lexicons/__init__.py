"""Words in reasoning traces: published and own term lists, counted fast and identically everywhere.

Matching ignores case; a gap inside a term is any run of white space and hyphens; terms start and end where
letters and digits do. Each list has a rule (``Lexicon.mode``): word, inflected, prefix or substring. A *word*,
for frequencies per 1,000 words, is a stretch of text without white space, as ``str.split`` counts.

>>> [batch] = count_batches([("t1", "They may defect again; the risk is real.")], (*memory_curse(), defection()))
>>> [(trace.words, trace.counts["paranoia"], trace.counts["defection"]) for trace in batch]
[(8, 2, 1)]

A lexicon file is JSON or YAML::

    source: where the lists come from      (optional)
    mode: prefix                           (optional: word | inflected | prefix | substring; prefix is the default)
    lexicons:
      hope: [future, long-term]
      doubt:
        mode: word                         (optional; overrides the one above)
        terms: [unsure, in doubt]
        labels: [A1]                       (optional)
        source: Table 3                    (optional)
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ostrom.features.words.lexicons.lexicon import MODES, Lexicon, Mode, duplicates, matched
from ostrom.features.words.lexicons.matcher import (
    RATIOS,
    CountBatch,
    Matcher,
    Ratio,
    Span,
    TraceCounts,
    count_batches,
    highlight,
)
from ostrom.ground.errors import StudyError
from ostrom.ground.files import read_text_file

_TOP = ("lexicons", "mode", "source")
_LIST = ("terms", "labels", "mode", "source")
_TEMPLATE = "[X]"


class LexiconWarning(UserWarning):
    """The warning for a usable lexicon file with a likely mistake."""


def load_lexicons(path: str | Path, *, roles: Sequence[str] | None = None) -> tuple[Lexicon, ...]:
    """The lexicons of a file, in its order; ``roles`` fill terms such as "as an [X]".

    Terms that repeat an earlier one are ignored with a ``LexiconWarning``.
    """
    return parse_lexicons(_read(Path(path)), file=str(path), roles=roles, warn=True)


def parse_lexicons(
    content: object, *, file: str, roles: Sequence[str] | None = None, warn: bool = True
) -> tuple[Lexicon, ...]:
    """The lexicons of a file's content; errors name ``file`` and the key."""
    top = _mapping(content, file, None, "must be a mapping with the key 'lexicons'")
    _check_keys(top, _TOP, file, None)
    if "lexicons" not in top:
        raise StudyError("is missing", file=file, key="lexicons", actual=sorted(top), allowed=_TOP)
    lists = _mapping(top["lexicons"], file, "lexicons", "must map names to lists of terms")
    if not lists:
        raise StudyError("needs at least one list of terms", file=file, key="lexicons", actual={})
    _mode(top.get("mode", "prefix"), file, "mode")
    return tuple(_lexicon(name, body, top, file, roles, warn) for name, body in lists.items())


def _lexicon(
    name: str, body: object, top: dict[str, Any], file: str, roles: Sequence[str] | None, warn: bool
) -> Lexicon:
    key = f"lexicons.{name}"
    problem = "must be a list of terms or a mapping with the key 'terms'"
    body = _mapping({"terms": body} if isinstance(body, list) else body, file, key, problem)
    _check_keys(body, _LIST, file, key)
    mode = _mode(body.get("mode", top.get("mode", "prefix")), file, f"{key}.mode")
    terms, labels = body.get("terms", []), body.get("labels", [])
    source = ", ".join(str(part) for part in (top.get("source"), body.get("source")) if part)
    try:
        lexicon = Lexicon(name, _fill(terms, roles, file, key), mode, source, labels)  # type: ignore[arg-type]
    except StudyError as error:
        if error.file is not None:
            raise
        raise StudyError(f"lexicons.{error}", file=file) from None
    if warn and (repeated := duplicates(terms)):
        warnings.warn(
            f"{file}: {key}.terms: repeats {', '.join(map(repr, repeated))[:300]}; counted once",
            LexiconWarning,
            stacklevel=4,
        )
    return lexicon


def _fill(terms: object, roles: Sequence[str] | None, file: str, key: str) -> object:
    """Terms with each "as an [X]" written out for every role name, with both articles."""
    if not isinstance(terms, list):
        return terms
    filled: list[object] = []
    for index, term in enumerate(terms):
        if not isinstance(term, str) or _TEMPLATE not in term:
            filled.append(term)
            continue
        if roles is None:
            raise StudyError("needs role names to stand for [X]", file=file, key=f"{key}.terms[{index}]", actual=term)
        for role in roles:
            forms = [term.replace("an [X]", f"{article} {role}") for article in ("a", "an")]
            filled.extend(forms if "an [X]" in term else [term.replace(_TEMPLATE, role)])
    return filled


def _read(path: Path) -> object:
    if path.suffix.lower() not in (".json", ".yaml", ".yml"):
        raise StudyError(
            "unknown kind of lexicon file", file=str(path), actual=path.suffix, allowed=(".json", ".yaml", ".yml")
        )
    from ostrom.ground.yaml import read_json, read_yaml  # heavy: only where a file is read

    return (read_json if path.suffix.lower() == ".json" else read_yaml)(read_text_file(path), str(path))


def _mapping(value: object, file: str, key: str | None, problem: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        # An empty file reads as None, which an error would otherwise not show.
        raise StudyError(problem, file=file, key=key, actual="nothing" if value is None else value)
    for name in value:
        if not isinstance(name, str) or not name.strip():
            raise StudyError("a name must be text; put it in quotes", file=file, key=key, actual=name)
    return value


def _check_keys(mapping: dict[str, Any], allowed: tuple[str, ...], file: str, key: str | None) -> None:
    for name in mapping:
        if name not in allowed:
            raise StudyError("unknown key", file=file, key=key, actual=name, allowed=allowed)


def _mode(value: object, file: str, key: str) -> str:
    if not isinstance(value, str) or value not in MODES:
        raise StudyError(
            "unknown match mode", file=file, key=key, actual="nothing" if value is None else value, allowed=MODES
        )
    return value


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
    return replace(_builtin("defection.yaml")[0], labels=_listed(labels))


def normative() -> Lexicon:
    """Words that say what ought to be done, or name an institution for it.

    >>> "should" in normative().terms
    True
    """
    return _builtin("normative.yaml")[0]


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several; a bare string is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)


@lru_cache(maxsize=64)  # every panel about words needs the same lists
def _builtin(name: str, roles: tuple[str, ...] | None = None) -> tuple[Lexicon, ...]:
    text = (files(__package__) / "data" / name).read_text(encoding="utf-8")
    # The lists are kept as printed, repeated terms included, so there is nothing to warn about.
    from ostrom.ground.yaml import read_yaml

    return parse_lexicons(read_yaml(text, name), file=name, roles=roles, warn=False)


__all__ = [
    "MODES",
    "RATIOS",
    "CountBatch",
    "Lexicon",
    "LexiconWarning",
    "Matcher",
    "Mode",
    "Ratio",
    "Span",
    "TraceCounts",
    "count_batches",
    "defection",
    "highlight",
    "load_lexicons",
    "matched",
    "memory_curse",
    "normative",
    "persona_keywords",
]
