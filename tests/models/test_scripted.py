"""Scripted models: fixed replies, lists, functions."""

import asyncio
from collections.abc import Callable

import pytest

from ostrom.ground.errors import ModelError, RateLimited
from ostrom.models import Message, Reply, Request, Usage
from ostrom.models.providers.scripted import ScriptedModel

Ask = Callable[..., Reply]


def test_a_text_is_said_every_time(ask: Ask) -> None:
    model = ScriptedModel("s", "[A0]")
    assert [ask(model).text, ask(model).text] == ["[A0]", "[A0]"]
    assert model.calls == 2


def test_a_list_is_said_in_order_and_then_ends(ask: Ask) -> None:
    model = ScriptedModel("s", ["one", Reply("two", finish="length", usage=Usage(7, 9)), RateLimited("wait")])
    assert ask(model).text == "one"
    assert ask(model) == Reply("two", finish="length", usage=Usage(7, 9))  # as it was given
    with pytest.raises(RateLimited):
        ask(model)
    with pytest.raises(ModelError, match="ended after 3"):
        ask(model)


def test_a_function_sees_the_request_and_may_wait(ask: Ask) -> None:
    async def slow(request: Request) -> str:
        await asyncio.sleep(0)
        return request.messages[0].content.upper()

    assert ask(ScriptedModel("s", slow), Request((Message("user", "hi there"),))) == Reply(
        "HI THERE", usage=Usage(input=2, output=2), model="s"
    )


def test_a_scripted_model_is_known_by_its_name() -> None:
    described = ScriptedModel("scripted/one", ["[A0]"]).describe()
    assert (described["name"], described["wire"]) == ("scripted/one", "scripted")
