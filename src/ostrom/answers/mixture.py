"""Reading a mixture: whole percentages over the options, as the last JSON object of a reply.

The form is that of Tewolde et al. (2026): exactly the labels as keys, integers from 0 to 100, sum 100. JSON
knows one kind of number, so 50.0 is 50; 33.3, "50", true, a missing or an additional key are errors, never
mended.
"""

from collections.abc import Mapping
from typing import Any

from ostrom.answers.jsonobject import final_object
from ostrom.answers.labels import prepared
from ostrom.answers.reading import Answer, Invalid, clipped
from ostrom.ground.errors import UsageError


def read_mixture(
    text: str,
    labels: Mapping[str, str],
    caps: Mapping[str, int] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
) -> Answer | Invalid:
    """Return the stated percentages by option key; ``probabilities`` are the same as shares.

    ``caps`` bounds single options, by key. The reading is exact when the object ends the reply and loose when
    words follow it; ``strict`` allows the exact reading alone.

    >>> read_mixture('I lean to A1: {"A0": 30, "A1": 70}', {"C": "A0", "D": "A1"}).value
    {'C': 30, 'D': 70}
    >>> read_mixture('{"A0": 30, "A1": 60}', {"C": "A0", "D": "A1"})
    Invalid(reason='the percentages sum to 90, not 100')
    """
    names = prepared(labels).shown
    caps = checked_caps(labels, caps)
    content = final_object(text, strict=strict, cut=cut)
    if isinstance(content, Invalid):
        return content
    if missing := [label for label in names.values() if label not in content.value]:
        return Invalid(f"the JSON object lacks the key {clipped(missing[0])}; every option needs a percentage")
    if len(content.value) > len(names):
        options = set(names.values())
        stranger = next(key for key in content.value if key not in options)
        return Invalid(f"the JSON object has the key {clipped(stranger)}, which is not one of the options")
    percentages: dict[str, int] = {}
    for key, label in names.items():
        share = _percentage(content.value[label])
        if share is None:
            return Invalid(f"the percentage of {clipped(label)} must be a whole number from 0 to 100")
        if share > caps.get(key, 100):
            return Invalid(f"the percentage of {clipped(label)} is {share}; at most {caps[key]} is allowed")
        percentages[key] = share
    if (total := sum(percentages.values())) != 100:
        return Invalid(f"the percentages sum to {total}, not 100")
    return Answer(
        percentages, "exact" if content.last else "loose", {key: share / 100 for key, share in percentages.items()}
    )


def checked_caps(labels: Mapping[str, str], caps: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return the caps; refused if they name no option, are no percentage, or leave no valid answer."""
    caps = caps or {}
    for key, cap in caps.items():
        if key not in labels or isinstance(cap, bool) or not isinstance(cap, int) or not 0 <= cap <= 100:
            raise UsageError(f"caps: {key!r}: {cap!r} is no cap (allowed: {', '.join(labels)}; whole numbers 0 to 100)")
    if (most := sum(caps.get(key, 100) for key in labels)) < 100:
        raise UsageError(f"caps: together they allow at most {most} percent, so no answer could sum to 100")
    return caps


def _percentage(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or not 0 <= value <= 100:
        return None
    return int(value)
