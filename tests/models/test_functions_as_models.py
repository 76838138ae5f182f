"""Models without a server: functions, policies outside, and the pieces that the embedded one streams."""

import asyncio
from typing import Any

import pytest

from ostrom.ground.errors import MalformedReply, ModelError, RequestRefused, UnknownName, UsageError
from ostrom.models import open_model
from ostrom.models.base import Message, Reply, Request
from ostrom.models.providers import embedded, outside, python

ASKED = Request((Message("user", "?"),))


async def _later(_: Any) -> str:
    return "later"


def _fails(_: Any) -> str:
    raise ValueError("broken")


def _declines(_: Any) -> str:
    raise RequestRefused("own words")


@pytest.mark.parametrize(
    ("function", "gives"),
    [
        (lambda told: f"{told[0]['role']}: {told[0]['content']}", "user: ?"), (_later, "later"),
        (lambda _: Reply("whole"), "whole"), (_fails, r"^python/f: ValueError: broken$"), (_declines, "^own words$"),
        (lambda _: 7, "must return a text or a Reply, returned int"),
    ],
)  # fmt: skip
def test_a_function_is_a_model(function: Any, gives: str) -> None:
    python.register("f", function)
    model = open_model("python/f")
    assert model.connections == 16 and model.describe() == {"name": "python/f", "wire": "python"}
    if function in (_fails, _declines) or "must" in gives:
        with pytest.raises(ModelError, match=gives) as caught:
            asyncio.run(model.complete(ASKED))
        assert type(caught.value) is (RequestRefused if function is _declines else ModelError)
    else:
        assert asyncio.run(model.complete(ASKED)).text == gives


def test_a_function_that_nobody_gave_and_a_policy_outside_cannot_be_opened() -> None:
    with pytest.raises(UnknownName, match="function as a model in this process"):
        open_model("python/nobody")
    with pytest.raises(UsageError, match=r"^outside/policy: answers from outside"):
        open_model("outside/policy")
    policy = outside.OutsideModel("outside/policy")
    assert policy.describe() == {"name": "outside/policy", "wire": "outside"}
    with pytest.raises(ModelError, match="cannot be called"):
        asyncio.run(policy.complete(ASKED))


def piece(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    logprobs = {"content": [text]} if text else None
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish, "logprobs": logprobs}], **more}


def test_streamed_pieces_are_one_reply() -> None:
    pieces = [piece("a", id="1", model="/x/m.gguf"), piece("b", "length"), piece(None, None, usage={"n": 2}), {}]
    assert embedded._document(pieces, "m") == {
        "id": "1", "model": "m.gguf", "usage": {"n": 2},
        "choices": [{"message": {"content": "ab"}, "finish_reason": "length", "logprobs": {"content": ["a", "b"]}}],
    }  # fmt: skip
    assert embedded._document([piece("a"), {"error": "e"}, piece("b", "stop")], "m") == {"error": "e"}
    with pytest.raises(MalformedReply, match="m: the reply was stopped before its end"):
        embedded._document([piece("a")], "m")
