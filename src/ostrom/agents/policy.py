"""Policies for players that never give a valid answer: declared by the study, recorded, counted."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ostrom.answers import Answer, Choice, Form, Mixture, Number, Record
from ostrom.ground.errors import InvalidAnswers, OstromError, StudyError, nearest

POLICIES = ("fail", "skip-match", "uniform", "default:<action>")


class SkipMatch(OstromError):
    """Raised when the match is given up and marked as skipped."""


class RefusedReply(Exception):
    """Raised for a reply that is a refusal, to be handled by the policy."""


def check_policy(policy: str) -> None:
    """Refuse a policy that does not exist."""
    if policy not in POLICIES[:3] and not (policy.startswith("default:") and len(policy) > 8):
        near = nearest(policy, POLICIES)
        hint = f", did you mean {near!r}?" if near else ""
        raise StudyError(f"there is no such policy{hint}", actual=policy, allowed=POLICIES)


def apply_policy(policy: str, form: Form, reason: str, rng: np.random.Generator, *, refused: bool = False) -> Answer:
    """Return the policy's substitute for a missing answer, or raise the error that ends the match.

    An answer is missing because no reply could be read, or because the model declined (``refused``).
    """
    message = f"refused: {reason}" if refused else f"no valid answer: {reason}"
    if policy == "fail":
        raise InvalidAnswers(message)
    if policy == "skip-match":
        raise SkipMatch(message)
    reading: Literal["refused", "policy"] = "refused" if refused else "policy"
    note = f"{policy}: {reason}"
    if policy == "uniform":
        if isinstance(form, Choice):
            value: Any = form.options[int(rng.integers(len(form.options)))]
            return Answer(value, reading, {o: 1 / len(form.options) for o in form.options}, note)
        return Answer(_random_value(form, rng), reading, None, note)
    wanted = policy.partition(":")[2]
    match form:
        case Choice() if wanted in form.options:
            return Answer(wanted, reading, None, note)
        case Number() if wanted in form.amounts:
            return Answer(form.amounts.value(form.amounts.index(wanted)), reading, None, note)
        case Mixture() if wanted in form.options:
            return Answer({o: 100 * (o == wanted) for o in form.options}, reading, None, note)
    raise InvalidAnswers(f"{message}; and the policy {policy} gives none for this question")


def _random_value(form: Form, rng: np.random.Generator) -> Any:
    """Return a random valid value of a form; for a mixture the most even one, for a text an empty one."""
    match form:
        case Mixture():
            return _even_mixture(form)
        case Number():
            return form.amounts.value(int(rng.integers(form.amounts.levels)))
        case Record():
            return _random_record(form.schema, rng)
    return ""


def _even_mixture(form: Mixture) -> dict[str, int]:
    """Return the most even mixture within whole percentages and caps."""
    caps = {o: 100 if form.caps is None else form.caps.get(o, 100) for o in form.options}
    shares = dict.fromkeys(form.options, 0)
    for _ in range(100):
        least = min([o for o in form.options if shares[o] < caps[o]], key=lambda o: (shares[o], form.options.index(o)))
        shares[least] += 1
    return shares


def _random_record(schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    match schema:
        case {"enum": options}:
            return options[int(rng.integers(len(options)))]
        case {"type": "object"}:
            return {name: _random_record(part, rng) for name, part in schema.get("properties", {}).items()}
        case {"type": "boolean"}:
            return bool(rng.integers(2))
        case {"type": "integer" | "number", "minimum": low, "maximum": high}:
            return int(rng.integers(int(low), int(high) + 1))
        case {"type": "array"}:
            return [option for option in schema.get("items", {}).get("enum", []) if rng.integers(2)]
        case {"type": "string"}:
            return ""
    raise InvalidAnswers("the policy uniform cannot draw an answer of this form")
