"""Reading a choice from the log-probabilities of the first token: one call, no text to parse.

A server reports the likeliest first tokens. White space, opening and closing marks around a token are
ignored; what is left counts for the option whose label it is, or whose label alone it begins (case
matters). Several tokens may speak for one option: their probabilities add up. A token that is one label and
begins another (A1, A10), begins several (A), or is an everyday word by itself (a bare "A" or "I" that
merely begins a label) counts for none.

``mass`` is what all options have together before they are renormalised; it stands in the answer's facts
and note. An option that was not reported has probability 0, and facts and note state the upper bound: no
more than the least likely token that was reported, and no more than what all reported tokens leave over.
When that bound reaches the likeliest option, the choice is not known and the reading is invalid.
"""

import math
from collections.abc import Mapping

from ostrom.answers.choice import Labels, normal, prepared
from ostrom.answers.reading import Answer, Invalid

LEAST_MASS = 0.1
"""The default least share of the first token's probability that the options must have together."""

_LONGEST_TOKEN = 256
_BEFORE = " \t\r\n\"'`“‘«[({<*_:Ġ▁Ċ「『【［（"
_AFTER = " \t\r\n\"'`”’»])}>*_.,;:!Ġ▁Ċ」』】］）"


def read_logprobs(
    first_token_logprobs: Mapping[str, float], labels: Mapping[str, str], *, least_mass: float = LEAST_MASS
) -> Answer | Invalid:
    """Return the likeliest option, with renormalised probabilities; the caller may draw.

    >>> answer = read_logprobs({"J": -0.5, " J": -3.0, "F": -1.2, "The": -4.0}, {"C": "J", "D": "F"})
    >>> answer.value, round(answer.probabilities["C"], 3), answer.note
    ('C', 0.685, 'mass 0.9575')
    """
    prepared_labels = prepared(labels)
    sums = dict.fromkeys(labels, 0.0)
    reported: set[str] = set()
    unclear = 0.0
    total = 0.0
    least = 1.0
    for token, logprob in first_token_logprobs.items():
        if math.isnan(logprob) or logprob > 1e-3:
            return Invalid(f"the log-probability {logprob} of a first token is not one")
        probability = min(1.0, math.exp(logprob))
        total += probability
        least = min(least, probability)
        owners = owners_of(token, prepared_labels)
        if len(owners) == 1:
            sums[owners[0]] += probability
            reported.add(owners[0])
        elif owners:
            unclear += probability
    mass = math.fsum(sums.values())
    if total > 1.02:
        return Invalid(f"the probabilities of the first token sum to {total:.4g}, more than one")
    if not reported or mass <= 0:
        return Invalid("no option is among the reported first tokens")
    if unclear > mass:
        return Invalid("the first token does not tell the options apart: several labels begin with it")
    if mass < least_mass:
        return Invalid(f"the options have {mass:.4g} of the first token's probability; {least_mass:g} is required")
    best = max(sums, key=lambda key: sums[key])
    notes = [f"mass {mass:.4f}"]
    facts: dict[str, float] = {"mass": mass}
    if missing := [key for key in labels if key not in reported]:
        bound = max(0.0, min(least, 1.0 - total))
        if bound >= sums[best]:
            return Invalid(f"{labels[missing[0]]!r} is not reported and may be likelier than the rest")
        facts["bound"] = bound
        notes.append(f"not reported, each at most {bound:.4f}: " + ", ".join(labels[key] for key in missing))
    if sum(value == sums[best] for value in sums.values()) > 1:
        notes.append("tie, first option taken")
    return Answer(best, "logprob", {key: value / mass for key, value in sums.items()}, "; ".join(notes), facts)


def owners_of(token: str, labels: Labels) -> list[str]:
    """Return the options whose label equals a first token, apart from marks, or begins with it.

    >>> owners_of(" [A", Labels({"C": "A0", "D": "A1"})), owners_of("A0]", Labels({"C": "A0", "D": "A1"}))
    (['C', 'D'], ['C'])
    """
    if len(token) > _LONGEST_TOKEN:
        return []
    core = normal(token.lstrip(_BEFORE))
    bare = core.rstrip(_AFTER)
    if not bare:  # a label may consist of marks
        return [labels.by_label[text]] if (text := normal(token)) in labels.by_label else []
    if bare != core:  # a closing mark follows, so the label is complete
        return [key for label, key in labels.by_label.items() if label == bare]
    owners = [key for label, key in labels.by_label.items() if label.startswith(bare)]
    return [] if (bare in ("A", "I") and bare not in labels.by_label and len(owners) == 1) else owners
