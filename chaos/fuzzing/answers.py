"""Replies as no model should write them, read in every form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from chaos.fuzzing import mutate
from chaos.fuzzing.watch import Target
from ostrom.answers import Answer, Choice, Form, Invalid, Mixture, Record, Text, read, read_logprobs
from ostrom.answers.reading import last_object

LABELS: tuple[Mapping[str, str], ...] = (
    {"cooperate": "A0", "defect": "A1"},
    {"cooperate": "J", "defect": "F"},
    {"cooperate": "A", "defect": "I"},
    {"a": "Stag", "b": "stag"},
    {"a": "1", "b": "2", "c": "10"},
    {"a": "+", "b": "++"},
    {"a": "合作", "b": "背叛"},
)
WORDS = (
    "[A0]", "[A1]", "A0", "a1", "J", "F", "A", "Stag", "10", "++", "合作", "not ", "if ", "so ", "or ",
    "because ", "Answer: ",
    "<think>", "</think>", "```json\n", "```", "\n", ". ", "? ", "{", "}", '"', '{"A0": 50, "A1": 50}', '": ',
    "100", "50.0",
    "\\u0041", "\\ud83d", "</s>", "**", "- ", "1. ", "\\boxed{", "they choose ",
)  # fmt: skip
REPLIES = (
    "[A0]", "I do not trust them, so I choose A1.", "<think>hm</think>\n[J]", "Answer: **F**", "- [A0]\n- [A1]",
    "Option 2",
    "I pick Stag because it pays.", "我选择合作。", '{"A0": 60, "A1": 40}', '```json\n{"J": 100, "F": 0}\n```',
    'So: {"action": "A0", "amount": 3, "votes": [1, 2], "note": "fine"} That is all.',
    '{"action": "A1", "inner": {"deep": true}}', '{"1": 20, "2": 30, "10": 50}', "Let us both win.", "",
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["cooperate", "defect"]},
        "amount": {"type": "integer", "minimum": 0, "maximum": 10},
        "votes": {"type": "array", "items": {"type": "number"}, "maxItems": 3, "uniqueItems": True},
        "note": {"type": "string", "maxLength": 40},
        "inner": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    },
    "required": ["action"],
}

Given = tuple[str, Mapping[str, str], bool, bool]


def draw(rng: Random) -> Given:
    """A reply, the labels that were shown, and whether it is read strictly or was cut."""
    reply = mutate.text(rng, REPLIES, WORDS)
    return reply, rng.choice(LABELS), rng.random() < 0.2, rng.random() < 0.2


def reader(form: Callable[[Mapping[str, str]], Form]) -> Callable[[Given], None]:
    """Reads a reply in a form; what comes out must be an answer of that form or a reason."""

    def feed(given: Given) -> None:
        reply, labels, strict, cut = given
        wanted = form(labels)
        found = read(wanted, reply, labels, strict=strict, cut=cut)
        check(found, wanted)
        if len(reply) < 500:
            check(read(wanted, reply, labels, constrained=True), wanted)

    return feed


def check(found: Answer | Invalid, form: Form) -> None:
    """An answer is one of those the form allows; a reason is one short line."""
    if isinstance(found, Invalid):
        assert found.reason and len(found.reason) < 2000 and "\n" not in found.reason, f"reason {found.reason!r}"
        return
    match form:
        case Choice(options=options):
            assert found.value in options
        case Mixture(options=options):
            assert set(found.value) == set(options) and sum(found.value.values()) == 100
            assert all(type(share) is int and share >= 0 for share in found.value.values())
        case Record():
            assert isinstance(found.value, dict) and found.value["action"] in ("cooperate", "defect")
        case Text(words=words):
            assert isinstance(found.value, str) and len(found.value.split()) <= words


def _record(labels: Mapping[str, str]) -> Form:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "action": {"type": "string", "enum": list(labels)}}}
    return Record("fuzzed", schema, tuple(labels))


def _check_record(given: Given) -> None:
    reply, labels, strict, cut = given
    found = read(_record(labels), reply, labels, strict=strict, cut=cut)
    if isinstance(found, Answer):
        assert found.value["action"] in labels and 0 <= found.value.get("amount", 0) <= 10
    else:
        assert found.reason and "\n" not in found.reason


def _feed_object(given: Given) -> None:
    found = last_object(given[0])
    assert isinstance(found, Invalid) or isinstance(found.value, dict)


def _draw_odds(rng: Random) -> tuple[dict[str, float], Mapping[str, str]]:
    labels = rng.choice(LABELS)
    tokens = [*labels.values(), *WORDS, *mutate.ODD]
    special = (float("nan"), float("inf"), -float("inf"), 0.0, 5.0, -1e308, -9999.0)
    return {
        mutate.text(rng, tokens): rng.choice(special) if rng.random() < 0.1 else -rng.expovariate(0.5)
        for _ in range(rng.randrange(8))
    }, labels


def _feed_odds(given: tuple[dict[str, float], Mapping[str, str]]) -> None:
    found = read_logprobs(*given)
    if isinstance(found, Answer):
        assert found.probabilities is not None and math.isclose(sum(found.probabilities.values()), 1.0)


TARGETS = (
    Target("answer: choice", 260_000, draw, reader(lambda labels: Choice(tuple(labels)))),
    Target("answer: mixture", 170_000, draw, reader(lambda labels: Mixture(tuple(labels)))),
    Target("answer: record", 120_000, draw, _check_record),
    Target("answer: text", 70_000, draw, reader(lambda _: Text(words=20, characters=400))),
    Target("answer: JSON object", 80_000, draw, _feed_object),
    Target("answer: log-probabilities", 70_000, _draw_odds, _feed_odds),
)
