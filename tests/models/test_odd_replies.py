"""Replies whose fields are of the wrong kind are read or refused, never crashed on."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ostrom.ground.errors import MalformedReply, ModelError, RequestRefused, StudyError
from ostrom.models import openai_wire
from ostrom.models.asking import (
    MOST_TOKENS,
    arguments_of,
    at_least_one,
    positive,
    refuse_beyond,
    token_count,
    tool_calls,
)
from ostrom.models.base import Abilities, Constraint, Message, Request, ToolSpec
from ostrom.models.batches import count, is_identifier, may_batch, no_endpoint

ASKED = Request((Message("user", "?"),))


def test_a_token_that_is_no_text_gives_no_log_probabilities() -> None:
    top = [{"token": 1, "logprob": -0.1}]
    choice = {"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}
    asked = Request((Message("user", "?"),), top_logprobs=2)
    with pytest.raises(RequestRefused, match="gives no log-probabilities"):
        openai_wire.decode(json.dumps({"choices": [choice]}).encode(), asked, who="m")


def test_a_reply_nested_beyond_writing_is_refused_in_one_line() -> None:
    body = b'{"choices": [{"message": [' + b"[" * 400 + b"]" * 400 + b"]}]}"
    with pytest.raises(MalformedReply, match="nested too deeply"):
        openai_wire.decode(body, ASKED, who="m")


@pytest.mark.parametrize(
    ("value", "one", "above"),
    [(1, True, True), (0, False, False), (-1, False, False), (True, False, False), (1.5, False, True),
     ("1", False, False), (None, False, False), (float("inf"), False, False), (float("nan"), False, False)],
)  # fmt: skip
def test_settings_are_numbers_within_bounds(value: object, one: bool, above: bool) -> None:
    for check, fits in ((at_least_one, one), (positive, above)):
        if fits:
            assert check(value, "k") == value
        else:
            with pytest.raises(StudyError, match=r"^k: must be a"):
                check(value, "k")


@pytest.mark.parametrize(
    ("check", "largest"), [(token_count, MOST_TOKENS), (count, 10**9)], ids=["tokens", "requests"]
)
def test_a_count_has_an_upper_bound(check: Callable[[object], int | None], largest: int) -> None:
    assert [check(v) for v in (0, largest, largest + 1, -1, True, 1.0)] == [
        0,
        largest,
        None,
        None,
        None,
        None,
    ]


def test_calls_of_tools_are_bounded_and_have_names() -> None:
    for id_, kept in (("", "call_0"), (7, "call_0"), ("i" * 200, "i" * 200), ("i" * 201, "call_0")):
        assert tool_calls([(id_, "t", "{}")], "m")[0]["id"] == kept
    assert len(tool_calls([("c", "n" * 200, "a" * 20_000)] * 32, "m")) == 32
    many, none = [("c", "t", "{}")] * 33, [("c", None, "{}")]
    for wrong in (many, none, [("c", "n" * 201, "{}")], [("c", "t", "a" * 20_001)]):
        with pytest.raises(MalformedReply, match=r"^m called"):
            tool_calls(wrong, "m")
    assert [arguments_of(text) for text in ("", '{"a": 1}', "[1]", "{")] == [{}, {"a": 1}, None, None]


@pytest.mark.parametrize(
    ("text", "fits"),
    [("a", True), ("", False), ("a" * 256, True), ("a" * 257, False), ("a..b", False), ("a.b:c-d_e", True),
     ("é", False), ("a/b", False)],
)  # fmt: skip
def test_an_identifier_can_stand_in_a_path(text: str, fits: bool) -> None:
    assert is_identifier(text) == fits


@pytest.mark.parametrize(
    ("model", "may"),
    [("http://h/v1#m", True), ("https://h/v1#m", True), ("anthropic/m", True), ("groq/m", True),
     ("together/m", False), ("scripted/m", False), ("nobody/m", False)],
)  # fmt: skip
def test_which_models_may_have_batches(model: str, may: bool) -> None:
    assert may_batch(model) == may


@pytest.mark.parametrize(
    ("status", "said"), [(405, "lists no"), (501, "lists no"), (404, "has no"), (400, "has no")]
)
def test_a_service_without_batches_is_told_from_one_that_lists_none(status: int, said: str) -> None:
    assert str(no_endpoint("m", ModelError("x", status=status))).startswith(f"m {said} batch")


USER = (Message("user", "hi"),)


@pytest.mark.parametrize(
    ("request_", "ability"),
    [
        (Request(USER, constraint=Constraint(choices=("a",))), "choices"),
        (Request(USER, constraint=Constraint(schema={})), "schema"),
        (Request(USER, top_logprobs=1), "logprobs"),
        (Request(USER, tools=(ToolSpec("t", "", {}),)), "tools"),
        (Request((*USER, Message("assistant", "I"))), "prefill"),
    ],
)
def test_a_request_beyond_the_abilities_is_refused_by_name(request_: Request, ability: str) -> None:
    refuse_beyond(Abilities(**{ability: True}), request_, "m")
    others = {name: True for name in Abilities().described() | {"tools": False} if name != ability}
    with pytest.raises(RequestRefused, match=f"ability '{ability}'"):
        refuse_beyond(Abilities(**others), request_, "m")


def test_a_request_without_messages_or_choices_is_refused() -> None:
    everything = Abilities(choices=True, schema=True)
    for wrong, said in (
        (Request(()), "no messages"),
        (Request(USER, constraint=Constraint(choices=())), "empty list"),
    ):
        with pytest.raises(RequestRefused, match=said):
            refuse_beyond(everything, wrong, "m")
