"""Every bound and every rule of a reader holds on both of its sides."""

import json
import math
from typing import Any

import pytest
from tests.answers.test_words import LABELS, chosen, why

from ostrom.answers import (
    Answer,
    Invalid,
    Mixture,
    Text,
    check_labels,
    check_schema,
    constraint_of,
    last_object,
    read,
    read_choice,
    read_logprobs,
    read_mixture,
    read_record,
    read_text,
)
from ostrom.answers.choice import LONGEST, Labels
from ostrom.answers.forms import Record, answer_tokens
from ostrom.answers.logprob import LEAST_MASS, owners_of
from ostrom.answers.reading import DEEPEST, SENTENCE, JsonObject
from ostrom.ground.errors import UsageError


def test_bounds_of_labels_sentences_and_texts() -> None:
    check_labels({"C": "x" * LONGEST})
    assert LONGEST == 200 and SENTENCE == 2000 and DEEPEST == 64 and LEAST_MASS == 0.1
    longest = {"C": "x" * LONGEST, "D": "y"}
    assert read_choice("**[" + "x" * LONGEST + "].**", longest) == Answer("C", "exact")
    # In more than 64 characters of marks, the longest label is not alone on its line.
    marked = [read_choice("*" * marks + "x" * LONGEST + "*" * marks, longest) for marks in (32, 33)]
    assert marked == [Answer("C", "exact"), Answer("C", "loose")]
    assert chosen("I choose A1, " + "z" * (SENTENCE - 13)) == "D"
    assert "longer than 2000 characters" in why("I choose A1, " + "z" * (SENTENCE - 12))
    assert read_text("a b c", Text(words=3, characters=5)) == Answer("a b c", "exact")
    assert (Text().words, Text().characters) == (200, 4000)
    assert read_choice("[A1]", LABELS, strict=True) == Answer("D", "exact")
    assert why("Answer: A1", strict=True).startswith("the last line must be [A0] or [A1] alone")


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def test_bounds_of_json() -> None:
    assert isinstance(last_object(nested(64)), JsonObject) and isinstance(last_object(nested(65)), Invalid)
    largest = 2**63 - 1
    found = last_object(f'{{"a": {largest}, "b": {-largest}}}')
    assert isinstance(found, JsonObject) and found.value == {"a": largest, "b": -largest}
    for wrong in (largest + 1, -largest - 1, 10**20, 10**40):
        assert "too large" in getattr(last_object(f'{{"a": {wrong}}}'), "reason", "")
    assert isinstance(last_object('{"a": 0.' + "1" * 398 + "}"), JsonObject)
    assert "too long" in getattr(last_object('{"a": 0.' + "1" * 399 + "}"), "reason", "")
    found = last_object('x {"a": [], "b": {}, "c": [{}, []]} y')
    assert isinstance(found, JsonObject) and (found.start, found.end, found.last) == (2, 35, False)
    assert found.value == {"a": [], "b": {}, "c": [{}, []]}
    for broken in ("]}", "[}", "[1,]}", '1 "b": 2}', '"\\x"}', '"\n"}', "tru}", "-}", "1.}"):
        assert isinstance(last_object('{"ok": 1} {"a": ' + broken), Invalid), broken
    assert isinstance(last_object('{"ok": 1} {"a" 1}'), Invalid)


def test_bounds_of_mixtures() -> None:
    for shares in ((0, 100), (100, 0), (1, 99)):
        assert read_mixture(json.dumps(dict(zip(("A0", "A1"), shares, strict=True))), LABELS) == Answer(
            {"C": shares[0], "D": shares[1]}, "exact", {"C": shares[0] / 100, "D": shares[1] / 100}
        )
    for wrong in ((101, -1), (50, 51), (50, 49), (0, 0)):
        assert isinstance(read_mixture(json.dumps(dict(zip(("A0", "A1"), wrong, strict=True))), LABELS), Invalid)
    for caps in ({"C": 0}, {"C": 100}, {"C": 40, "D": 60}):
        assert isinstance(read(Mixture(("C", "D"), caps), '{"A0": 0, "A1": 100}', LABELS), Answer) == (
            caps != {"C": 40, "D": 60}
        )
    for caps in ({"C": -1}, {"C": 40, "D": 59}, {"E": 5}):
        with pytest.raises(UsageError):
            read_mixture("{}", LABELS, caps)


def logs(**odds: float) -> dict[str, float]:
    return {token: math.log(p) for token, p in odds.items()}


def test_bounds_of_log_probabilities() -> None:
    letters = {"C": "J", "D": "F"}
    assert isinstance(read_logprobs(logs(J=0.06, F=0.0401), letters), Answer)
    assert isinstance(read_logprobs(logs(J=0.06, F=0.0399), letters), Invalid)
    assert isinstance(read_logprobs(logs(J=0.02, F=0.02), letters, least_mass=0.03), Answer)
    assert isinstance(read_logprobs({"J": 0.0009, "F": -9.0}, letters), Answer)  # rounding of a certain token
    assert isinstance(read_logprobs({"J": 0.0011, "F": -9.0}, letters), Invalid)
    assert isinstance(read_logprobs(logs(J=0.7, F=0.319), letters), Answer)
    assert isinstance(read_logprobs(logs(J=0.7, F=0.321), letters), Invalid)
    found = read_logprobs(logs(J=0.5, The=0.45), letters)
    assert isinstance(found, Answer) and found.facts is not None
    assert found.facts["bound"] == pytest.approx(0.05)  # what is left over, less than the least reported
    assert isinstance(read_logprobs(logs(J=0.4, The=0.2), letters), Answer)
    assert isinstance(read_logprobs(logs(J=0.2, The=0.2), letters), Invalid)
    codes = {"C": "A0", "D": "A1"}
    assert isinstance(read_logprobs(logs(A=0.45, A0=0.46, A1=0.01), codes), Answer)
    assert isinstance(read_logprobs(logs(A=0.48, A0=0.46, A1=0.01), codes), Invalid)


def test_whose_token_it_is() -> None:
    labels = Labels({"C": "A1", "D": "A10", "E": "Invest", "F": "*"})
    assert owners_of("A1", labels) == ["C", "D"] and owners_of("A1]", labels) == ["C"]
    assert owners_of("A10", labels) == ["D"] and owners_of("A11", labels) == []
    assert owners_of("I", labels) == [] and owners_of("In", labels) == ["E"] and owners_of("Inx", labels) == []
    assert owners_of("*", labels) == ["F"] and owners_of("[", labels) == []
    assert owners_of("A10" + " " * 253, labels) == ["D"] and owners_of("A10" + " " * 254, labels) == []
    assert owners_of("I", Labels({"C": "I", "D": "F"})) == ["C"]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 2, "maximum": 4}, [2, 4, 3.0], [1, 5, 2.5, "2", True, None]),
        ({"type": "number", "minimum": 0.5}, [0.5, 7], [0.4, False, "1"]),
        ({"type": "string", "minLength": 1, "maxLength": 2}, ["a", "ab"], ["", "abc", 1]),
        (
            {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
            [[True], [True, True]],
            [[], [True] * 3, [1]],
        ),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [[1, 2], []], [[1, 1], [1, 1.0]]),
        (
            {"type": "array", "items": {"type": "object"}, "uniqueItems": True},
            [[{"a": 1}, {"a": 2}]],
            [[{"a": 1, "b": 2}, {"b": 2, "a": 1}]],
        ),
        ({"type": "boolean", "enum": [True]}, [True], [False, 1]),
        ({"type": "integer", "enum": [1, 3]}, [1, 3.0], [2, True]),
        ({"type": "integer", "enum": [True, 3]}, [3], [1]),
        (
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            [{"x": 1}, {"x": 1, "y": 2}],
            [{}, {"y": 1}, []],
        ),
        (
            {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False},
            [{}, {"x": 1}],
            [{"y": 1}],
        ),
    ],
)
def test_every_rule_of_a_schema_holds_on_both_sides(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    outer = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    for value in good:
        assert isinstance(read_record(json.dumps({"v": value}), outer), Answer), value
    for value in bad:
        assert isinstance(read_record(json.dumps({"v": value}), outer), Invalid), value


@pytest.mark.parametrize(
    ("kind", "word", "value"),
    [
        ("object", "properties", {}), ("object", "required", []), ("object", "additionalProperties", True),
        ("array", "minItems", 1), ("array", "maxItems", 1), ("array", "uniqueItems", True),
        ("string", "minLength", 1), ("string", "maxLength", 1), ("integer", "minimum", 1), ("integer", "maximum", 1),
        ("number", "minimum", 1), ("number", "maximum", 1.5), ("boolean", "enum", [True]), ("string", "title", "t"),
        ("string", "description", "d"),
    ],
)  # fmt: skip
def test_every_keyword_is_known_where_it_belongs_and_nowhere_else(kind: str, word: str, value: Any) -> None:
    need = {"items": {"type": "string"}} if kind == "array" else {}
    check_schema({"type": kind, word: value, **need})
    if word not in ("enum", "title", "description"):
        other = "boolean"
        with pytest.raises(UsageError, match=f"keyword '{word}' is not supported for type {other}"):
            check_schema({"type": other, word: value})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": True},
        {"type": "integer", "maximum": "3"},
        {"type": "string", "minLength": 1.5},
        {"type": "string", "enum": "abc"},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 0.5},
        {"type": "object", "additionalProperties": None},
        {"type": "object", "properties": {"a": {"type": "array"}}},
    ],
)
def test_values_of_keywords_that_would_not_be_obeyed_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        check_schema(schema)


def test_a_label_that_would_stand_for_two_things_is_named() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": ["C", "D", "delegate"]}}}
    with pytest.raises(UsageError, match="'delegate' would stand for two things in the enum"):
        read_record("{}", schema, {"D": "delegate"})


def test_a_mixture_is_held_to_all_its_options_and_no_other() -> None:
    found = constraint_of(Mixture(("C", "D"), {"C": 60}), LABELS)
    share = {"type": "integer", "minimum": 0, "maximum": 100}
    assert found == {
        "schema": {
            "type": "object",
            "properties": {"A0": {**share, "maximum": 60}, "A1": share},
            "required": ["A0", "A1"],
            "additionalProperties": False,
        },
        "name": "mixture",
    }
    with pytest.raises(UsageError, match="option 'D' has none"):
        constraint_of(Mixture(("C", "D")), {"C": "A0"})


def test_the_tokens_of_a_usual_answer_follow_from_its_form() -> None:
    fields = Record("deal", {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}})
    assert (answer_tokens(fields), answer_tokens(Text(words=100))) == (62, 140)
