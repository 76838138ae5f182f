"""The last JSON object, mixtures, records and texts."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.answers import (
    Answer,
    Invalid,
    Record,
    Text,
    check_schema,
    last_object,
    read_mixture,
    read_record,
    read_text,
)
from ostrom.answers.random_answers import random_answer
from ostrom.answers.reading import JsonObject
from ostrom.ground.errors import UsageError

LABELS = {"C": "A0", "D": "A1"}
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text(max_size=8)
    | st.sampled_from(["{", "}", '"', "\\", '{"a": 1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
objects = st.dictionaries(st.text(max_size=5), plain, max_size=4)
prose = st.text(st.characters(exclude_characters='{"'), max_size=40)


def value_of(found: Answer | Invalid) -> Any:
    assert isinstance(found, Answer), found
    return found.value


def reason_of(found: Answer | Invalid | JsonObject) -> str:
    assert isinstance(found, Invalid), found
    return found.reason


@pytest.mark.slow
@given(objects, objects, prose, prose, st.booleans(), st.sampled_from([None, 2]))
def test_the_last_of_two_objects_is_found_whole_in_any_prose(
    first: dict[str, Any], last: dict[str, Any], before: str, after: str, ascii: bool, indent: int | None
) -> None:
    written = json.dumps(last, ensure_ascii=ascii, indent=indent)
    found = last_object(f"{before}{json.dumps(first)}{before}{written}{after}")
    assert isinstance(found, JsonObject) and found.value == last
    assert found.last == (not any(c.isalnum() or c == "_" for c in after))


def test_an_object_in_a_text_of_one_that_is_cut_off_is_not_read_in_its_place() -> None:
    found = last_object('{"why": "{x: 1} or {} ", "A0": ')
    assert reason_of(found).startswith('the last JSON object is broken or not closed: \'{"why"')


@given(st.text('{}[]":,\\ a1A0\n', max_size=80))
def test_what_is_found_is_what_the_standard_parser_reads_there(text: str) -> None:
    found = last_object(text)
    if isinstance(found, JsonObject):
        assert json.loads(text[found.start : found.end]) == found.value


@given(st.text('{}":,a1 \n', max_size=40))
def test_no_complete_object_is_overlooked(text: str) -> None:
    """Whatever object the standard parser reads somewhere ends no later than what was found, or in a ruin."""
    decoder = json.JSONDecoder()
    ends = []
    for at in (i for i, char in enumerate(text) if char == "{"):
        try:
            ends.append(decoder.raw_decode(text, at)[1])
        except ValueError:
            continue
    found = last_object(text)
    if ends and isinstance(found, JsonObject):
        assert max(ends) <= found.end
    elif ends:
        assert "broken" in found.reason or "twice" in found.reason  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"A0": 1}\n```', {"A0": 1}),
        ('The set {A0, A1} is given. {"A0": 1}', {"A0": 1}),
        ('{"A0": 1} and that is {final}', {"A0": 1}),
        ('{I think {"A0": 1}}', {"A0": 1}),
        ('{"A0: 50} {"A0": 50, "A1": 50}', {"A0": 50, "A1": 50}),
        ('{"a": "}{", "b": {"c": "\\"}"}}', {"a": "}{", "b": {"c": '"}'}}),
        ('[{"A0": 1}, {"A0": 2}]', {"A0": 2}),
        ("{}", {}),
        ('{"a": 1.5e3, "b": -0, "c": [true, false, null, []]}', {"a": 1500.0, "b": 0, "c": [True, False, None, []]}),
    ],
)
def test_the_last_complete_object_counts(text: str, value: dict[str, Any]) -> None:
    found = last_object(text)
    assert isinstance(found, JsonObject) and found.value == value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("no braces", "no JSON object"),
        ('{"A0": 1', "not closed"),
        ('{"A0": 100, "A1": 0} rather {"A0": 40, "A1": 60', "not closed"),
        ('{"A0": 100, "A1": 0} rather {"A0": 40%, "A1": 60%}', "broken"),
        ("{'A0': 50, 'A1': 50}", "broken"),
        ("{A0: 50, A1: 50}", "broken"),
        ('{"A0": 50, "A1": 50,}', "broken"),
        ('{"A0": NaN}', "broken"),
        ('{"A0": Infinity}', "broken"),
        ('{"A0": 01}', "broken"),
        ('{"x": {"A0": 50, "A1": 50}, oops', "broken"),
        ('{"note": "{}", "A0": 50', "broken"),
        ('{"A0": 1, "A0": 1}', "twice"),
        ('{"a": {"b": 1, "\\u0062": 2}}', "twice"),
        ('{"A0": 1e999}', "too large"),
        ('{"A0": 9223372036854775808}', "too large"),
        ('{"A0": ' + "9" * 100_000 + "}", "too large"),
        ('{"A0": "\\ud800"}', "surrogate"),
        ('{"a":' * 65 + "1" + "}" * 65, "65 deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "100000 deep"),
    ],
)  # fmt: skip
def test_what_has_no_single_plain_meaning_is_refused(text: str, word: str) -> None:
    assert word in reason_of(last_object(text))


@given(st.integers(0, 100), prose)
def test_a_mixture_is_read_by_key_with_its_odds(share: int, before: str) -> None:
    found = read_mixture(f'x{before}</think>{{"A1": {100 - share}, "A0": {share}}}', LABELS)
    assert value_of(found) == {"C": share, "D": 100 - share}
    assert isinstance(found, Answer) and found.reading == "exact"
    assert found.probabilities == {"C": share / 100, "D": (100 - share) / 100}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"A0": 50}', "lacks the key 'A1'"),
        ('{"A0": 50, "A1": 50, "A2": 0}', "'A2', which is not"),
        ('{"C": 50, "D": 50}', "lacks the key 'A0'"),
        ('{"a0": 50, "A1": 50}', "lacks the key 'A0'"),
        ('{"A0": 33.3, "A1": 66.7}', "whole number"),
        ('{"A0": "50", "A1": 50}', "whole number"),
        ('{"A0": true, "A1": 99}', "whole number"),
        ('{"A0": null, "A1": 100}', "whole number"),
        ('{"A0": -10, "A1": 110}', "whole number"),
        ('{"A0": 50, "A1": 49}', "sum to 99"),
        ('{"mix": {"A0": 50, "A1": 50}}', "lacks the key"),
    ],
)
def test_a_mixture_is_never_mended(text: str, word: str) -> None:
    assert word in reason_of(read_mixture(text, LABELS))


def test_a_whole_number_may_be_written_with_a_point() -> None:
    value = value_of(read_mixture('{"A0": 50.0, "A1": 5e1}', LABELS))
    assert value == {"C": 50, "D": 50} and all(type(share) is int for share in value.values())


def test_words_behind_the_mixture_make_it_loose_and_strict_refuses_it() -> None:
    text = '{"A0": 40, "A1": 60} since they defected.'
    found = read_mixture(text, LABELS)
    assert isinstance(found, Answer) and found.reading == "loose"
    assert "must end" in reason_of(read_mixture(text, LABELS, strict=True))
    assert "cut off" in reason_of(read_mixture('{"A0": 40, "A1": 60}', LABELS, cut=True))


def test_caps_bound_single_options() -> None:
    assert value_of(read_mixture('{"A0": 60, "A1": 40}', LABELS, {"C": 60}))["C"] == 60
    assert "at most 60" in reason_of(read_mixture('{"A0": 61, "A1": 39}', LABELS, {"C": 60}))


@pytest.mark.parametrize("caps", [{"X": 5}, {"C": 101}, {"C": True}, {"C": 40, "D": 50}])
def test_caps_that_make_no_sense_are_refused_before_anything_is_read(caps: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"^caps: "):
        read_mixture("", LABELS, caps)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["C", "D", "delegate"]},
        "why": {"type": "string", "minLength": 1, "maxLength": 5},
        "n": {"type": "integer", "minimum": -3, "maximum": 3},
        "x": {"type": "number", "maximum": 1.5},
        "sign": {"type": "boolean"},
        "votes": {
            "type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": True,
        },
        "pay": {
            "type": "object", "properties": {"C": {"type": "integer"}, "D": {"type": "integer"}},
            "required": ["C", "D"], "additionalProperties": False,
        },
    },
    "required": ["action"],
    "additionalProperties": False,
}  # fmt: skip


def test_random_lists_keep_to_their_bounds() -> None:
    items = {
        "type": "array",
        "items": {"type": "string", "enum": list("abcdef")},
        "uniqueItems": True,
        "minItems": 1,
        "maxItems": 2,
    }
    schema = {"type": "object", "properties": {"keep": items}, "required": ["keep"], "additionalProperties": False}
    rng = np.random.default_rng(0)
    kept = [random_answer(Record("kept", schema), rng).value["keep"] for _ in range(40)]
    assert {len(one) for one in kept} == {1, 2} and all(len(set(one)) == len(one) for one in kept)


def test_random_answers_are_awkward_unless_they_are_to_be_ordinary() -> None:
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9}
    form = Record("names", {"type": "object", "properties": {"names": names}, "required": ["names"]})
    rng = np.random.default_rng(0)
    ordinary = [random_answer(form, rng, 8).value["names"] for _ in range(60)]
    assert {len(one) for one in ordinary} == {1, 2} and {text for one in ordinary for text in one} == {"word wor"}
    awkward = [random_answer(form, rng).value["names"] for _ in range(60)]
    assert {len(one) for one in awkward} == set(range(1, 10))
    for mark in ("Ü", '"', "</messages>", "{", "```", "\n", "\u2028", "42"):
        assert any(mark in text for one in awkward for text in one), mark


def test_options_in_a_record_come_back_as_keys() -> None:
    found = read_record('{"action": "A1", "pay": {"A0": 2.0, "A1": -2}, "votes": [1]}', SCHEMA, LABELS)
    assert value_of(found) == {"action": "D", "pay": {"C": 2, "D": -2}, "votes": [1]}
    assert value_of(read_record('{"action": "delegate"}', SCHEMA, LABELS)) == {"action": "delegate"}
    crossed = read_record('{"action": "D", "pay": {"C": 1, "D": 2}}', SCHEMA, {"C": "D", "D": "C"})
    assert value_of(crossed) == {"action": "C", "pay": {"D": 1, "C": 2}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "the JSON object lacks the key 'action'"),
        ('{"action": "C"}', "'action' must be one of \"A0\", \"A1\", \"delegate\""),
        ('{"action": 1}', "'action' must be of type string"),
        ('{"action": "A0", "more": 1}', "the JSON object has the key 'more', which is not allowed"),
        ('{"action": "A0", "why": "too long"}', "'why' must have at most 5 characters, found 8"),
        ('{"action": "A0", "why": ""}', "'why' must have at least 1 characters, found 0"),
        ('{"action": "A0", "n": 4}', "'n' must be at most 3, found 4"),
        ('{"action": "A0", "n": 1.5}', "'n' must be of type integer"),
        ('{"action": "A0", "n": true}', "'n' must be of type integer"),
        ('{"action": "A0", "x": 1.6}', "'x' must be at most 1.5, found 1.6"),
        ('{"action": "A0", "sign": 1}', "'sign' must be of type boolean"),
        ('{"action": "A0", "votes": []}', "'votes' must have at least 1 items, found 0"),
        ('{"action": "A0", "votes": [1, 1]}', "'votes' must not contain an item twice"),
        ('{"action": "A0", "votes": [1, "2"]}', "'votes[1]' must be of type integer"),
        ('{"action": "A0", "pay": {"A0": 1}}', "'pay' lacks the key 'A1'"),
        ('{"action": "A0", "pay": {"A0": 1, "A1": "x"}}', "'pay.A1' must be of type integer"),
    ],
)  # fmt: skip
def test_a_misfit_names_its_path(text: str, reason: str) -> None:
    assert read_record(text, SCHEMA, LABELS) == Invalid(reason)


values: st.SearchStrategy[Any] = st.sampled_from(
    ["C", "D", "", "abcdef", 0, 1, 3.0, 3.5, -4, True, False, None, [1], [1, 1], [1, 2, 3], {"C": 1, "D": 2}, {"C": 1}]
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "more"]), values, max_size=4))
def test_a_record_is_accepted_exactly_when_the_reference_validator_accepts_it(value: dict[str, Any]) -> None:
    accepted = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    assert isinstance(read_record(json.dumps(value), SCHEMA), Answer) == accepted


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, "schema: type None is not supported"),
        ({"type": "null"}, "schema: type 'null' is not supported"),
        ({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}, "schema.a: keyword 'pattern'"),
        ({"type": "object", "$ref": "#"}, r"schema: keyword '\$ref'"),
        ({"type": "object", "minimum": 1}, "schema: keyword 'minimum'"),
        ({"type": "object", "required": ["a"]}, "schema: required key 'a'"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "additionalProperties must be true or false"),
        ({"type": "array"}, "schema: an array needs items"),
        ({"type": "array", "items": {"type": "any"}}, r"schema\[\]: type 'any'"),
        ({"type": "string", "maxLength": "5"}, "maxLength must be a number"),
        ({"type": "string", "enum": []}, "enum must be a list"),
    ],
)
def test_a_rule_that_would_not_be_obeyed_is_refused(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check_schema(schema)


def test_a_record_refuses_its_schema_when_it_is_made() -> None:
    with pytest.raises(UsageError, match="keyword 'oneOf'"):
        Record("vote", {"type": "object", "oneOf": []})
    with pytest.raises(UsageError, match="a record is an object"):
        Record("vote", {"type": "string"})


def test_labels_that_would_make_a_record_ambiguous_are_refused() -> None:
    with pytest.raises(UsageError, match="'delegate' would stand for two things"):
        read_record("{}", SCHEMA, {"C": "delegate"})


def test_text_is_stripped_and_bounded_but_never_cut() -> None:
    form = Text(words=3, characters=12)
    assert read_text(" <think>plan</think>\n a b\tc \n", form) == Answer("a b\tc", "exact")
    assert read_text("", form) == Invalid("the reply is empty")
    assert read_text("a b c d", form) == Invalid("the text has 4 words; at most 3 are allowed")
    assert read_text("x" * 13, form) == Invalid("the text has 13 characters; at most 12 are allowed")
    assert read_text("fine", form, cut=True) == Invalid("the reply was cut off before its end")
    assert "surrogate" in reason_of(read_text("\ud800", form))


@pytest.mark.parametrize("text", ['{"action": "C"', '{"action": "C"} and {"action', '{"action": "C"} then'])
def test_a_record_in_a_reply_that_was_cut_off_is_told_as_cut(text: str) -> None:
    schema = {"type": "object", "properties": {"action": {"type": "string", "enum": ["C", "D"]}}}
    found = read_record(text, schema, {}, cut=True)
    assert isinstance(found, Invalid) and found.reason == "the reply was cut off before its end"
