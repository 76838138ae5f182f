"""The labels of options: checked once, then looked up."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from ostrom.ground.errors import UsageError

LONGEST = 200
"""The longest label, in characters."""


class Labels:
    """Option keys and the labels shown for them, ready for lookup.

    A label is found case-sensitively; when no two labels differ by case alone, in any case.

    >>> labels = Labels({"C": "A0", "D": "A1"})
    >>> labels.key("a0"), labels.key("A7")
    ('C', None)
    """

    __slots__ = ("by_fold", "by_label", "pattern", "shown")

    def __init__(self, label_of: Mapping[str, str]) -> None:
        check_labels(label_of)
        self.shown = dict(label_of)
        self.by_label = {normal(label): key for key, label in label_of.items()}
        folded = {label.casefold(): key for label, key in self.by_label.items()}
        self.by_fold = folded if len(folded) == len(self.by_label) else {}
        self.pattern = _pattern(self.by_label, ignore_case=bool(self.by_fold))

    def key(self, text: str) -> str | None:
        """The option whose label is exactly this text, or None."""
        exact = self.by_label.get(text)
        return exact if exact is not None else self.by_fold.get(text.casefold())

    def bracketed(self, limit: int = 12) -> str:
        """Return the labels in brackets, for a message to a model."""
        names = [f"[{label}]" for label in self.shown.values()]
        if len(names) > limit:
            return ", ".join(names[:limit]) + f", ... ({len(names)} options)"
        return " or ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " or " + names[-1]


def prepared(label_of: Mapping[str, str]) -> Labels:
    """Return the labels ready for lookup, cached."""
    return _prepared(tuple(label_of.items()))


@lru_cache(maxsize=256)
def _prepared(items: tuple[tuple[str, str], ...]) -> Labels:
    return Labels(dict(items))


def normal(text: str) -> str:
    """Normalise to composed characters and single spaces, so that equal-looking labels are equal.

    Call it on short text only: Unicode composition is not linear on hostile input.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def check_labels(label_of: Mapping[str, str]) -> None:
    """Refuse labels that could not be read back: missing, empty, padded, overlong or equal ones.

    >>> check_labels({"C": "A0", "D": "A0"})
    Traceback (most recent call last):
    ostrom.ground.errors.UsageError: labels: options 'C' and 'D' are both shown as 'A0'; labels must differ
    """
    if not label_of:
        raise UsageError("labels: there is no option to label")
    seen: dict[str, str] = {}
    for key, label in label_of.items():
        if not label or len(label) > LONGEST or label != " ".join(label.split()):
            raise UsageError(
                f"labels: option {key!r} is shown as {label[:60]!r}; a label has 1 to {LONGEST} characters, "
                "on one line, without spaces at its ends or doubled"
            )
        if (twin := seen.setdefault(normal(label), key)) != key:
            raise UsageError(f"labels: options {twin!r} and {key!r} are both shown as {label!r}; labels must differ")


def _pattern(labels: Mapping[str, str], *, ignore_case: bool) -> re.Pattern[str]:
    """Return all labels as one pattern, longest first, bounded so that A1 is not found inside A10."""
    return re.compile(
        "|".join(map(_bounded, sorted(labels, key=lambda label: (-len(label), label)))),
        re.IGNORECASE if ignore_case else 0,
    )


def _bounded(label: str) -> str:
    # A letter or digit at the edge may not touch another one; a symbol may not touch itself ("+", "++").
    before = r"(?<![^\W_])" if label[0].isalnum() else f"(?<!{re.escape(label[0])})"
    return before + re.escape(label) + (r"(?![^\W_])" if label[-1].isalnum() else f"(?!{re.escape(label[-1])})")
