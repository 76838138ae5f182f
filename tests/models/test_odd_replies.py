"""Replies whose fields are of the wrong kind are read or refused, never crashed on."""

import json

import pytest

from ostrom.ground.errors import MalformedReply, RequestRefused, StudyError
from ostrom.models import openai_wire
from ostrom.models.asking import at_least_one, positive, refuse_beyond
from ostrom.models.base import Abilities, Constraint, Message, Request, ToolSpec

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
    for wrong, said in ((Request(()), "no messages"), (Request(USER, constraint=Constraint(choices=())), "empty list")):
        with pytest.raises(RequestRefused, match=said):
            refuse_beyond(everything, wrong, "m")
