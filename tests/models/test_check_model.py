"""The conformance check passes what is right and finds what is wrong."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ostrom.ground.errors import RequestRefused
from ostrom.models import Abilities, Reply, Request, Usage, open_model
from ostrom.models.check import ModelCheckFailed, calls_tools, check_model, probe
from ostrom.models.pending_call import PendingCall, Release, SingleStepCall
from ostrom.models.providers.scripted import EVERYTHING, ScriptedModel
from ostrom.testing.replies import answer
from ostrom.testing.server import LoopbackServer


def obedient(request: Request) -> Reply:
    """Keeps to every constraint."""
    if request.constraint and request.constraint.choices:
        text = request.constraint.choices[0]
    elif request.constraint:
        text = '{"number": 3}'
    else:
        text = "[A0]"
    odds = {"[": -0.1, "A": -3.0} if request.top_logprobs else None
    return Reply(text, logprobs=odds, usage=Usage(1, 1))


def check(model: ScriptedModel) -> list[str]:
    return asyncio.run(check_model(model))


@pytest.mark.parametrize("dialect", ["plain", "openai", "vllm", "llamacpp", "mistral"])
def test_our_client_passes_in_every_dialect(dialect: str) -> None:
    with LoopbackServer() as server:
        made = asyncio.run(check_model(open_model(server.model, dialect=dialect)))
    assert made == ["one_call", "stages", "description", "abilities", "concurrency", "usage", "close"]


def test_the_anthropic_client_passes(server: LoopbackServer) -> None:
    asyncio.run(check_model(open_model("anthropic/claude-sonnet-4-5", base_url=server.origin)))


def test_a_right_model_passes() -> None:
    check(ScriptedModel("s", obedient))


class Leaky(ScriptedModel):
    def describe(self) -> Mapping[str, Any]:
        return {**super().describe(), "key": "plain-canary-key"}


class Unwritable(ScriptedModel):
    def describe(self) -> Mapping[str, Any]:
        return {"x": object()}


class Silent(ScriptedModel):
    async def complete(self, request: Request) -> Reply:
        return Reply("[A0]", usage=Usage(1, 1))


class Crossed(ScriptedModel):
    """Gives each call what belongs to the one before."""

    last: tuple[str, ...] = ("[A0]", "[A1]")

    async def complete(self, request: Request) -> Reply:
        reply = await super().complete(request)
        if request.constraint and request.constraint.choices:
            mine, self.last = self.last, request.constraint.choices
            await asyncio.sleep(0)
            return replace(reply, text=mine[0])
        return reply


class Hasty(ScriptedModel):
    """Begins before there is a place."""

    def prepare(self, request: Request, release: Release | None = None) -> PendingCall:
        call = SingleStepCall(lambda: self.complete(request), release)
        call.start()
        return call


class Clinging(ScriptedModel):
    """Never gives a place back."""

    def prepare(self, request: Request, release: Release | None = None) -> PendingCall:
        return SingleStepCall(lambda: self.complete(request))


def test_wrong_models_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SECRET", "plain-canary-key")
    wrong = [
        (Leaky("s", obedient), "shows the value of LAB_SECRET"),
        (Unwritable("s", obedient), "not plain data"),
        (Silent("s", "", abilities=Abilities()), "in silence"),
        (Crossed("s", obedient), "mixes up"),
        (Hasty("s", obedient), "begins the call"),
        (Clinging("s", obedient), "gave its place back 0 times"),
        (ScriptedModel("s", "[B]"), "was held to"),
        (ScriptedModel("s", lambda r: replace(obedient(r), logprobs=None)), "no log-probabilities"),
        (ScriptedModel("s", lambda r: replace(obedient(r), logprobs={"a": 0.0, "b": -0.1})), "sum to"),
        (ScriptedModel("s", lambda r: replace(obedient(r), usage=Usage(input=3))), "usage"),
        (ScriptedModel("s", lambda r: replace(obedient(r), reasoning="hm")), "disagree"),
    ]
    for model, problem in wrong:
        with pytest.raises(ModelCheckFailed, match=problem):
            check(model)


def test_a_model_that_only_claims_to_be_deterministic_is_found() -> None:
    count = iter(range(1000))
    only = Abilities(deterministic=True)
    with pytest.raises(ModelCheckFailed, match="one seed gave two replies"):
        check(ScriptedModel("s", lambda _: f"reply {next(count)}", abilities=only))
    assert EVERYTHING.deterministic


def test_a_model_that_echoes_its_beginning_is_found() -> None:
    def echo(request: Request) -> Reply:
        last = request.messages[-1]
        reply = obedient(request)
        return replace(reply, text=last.content + "A0]") if last.role == "assistant" else reply

    with pytest.raises(ModelCheckFailed, match="repeats the beginning"):
        check(ScriptedModel("s", echo))


def test_a_probe_reports_one_call(server: LoopbackServer) -> None:
    async def main() -> dict[str, Any]:
        model = open_model(server.model)
        try:
            return await probe(model)
        finally:
            await model.close()

    report = asyncio.run(main())
    assert report["reply"] == answer(
        {"messages": [{"role": "user", "content": server.bodies()[0]["messages"][0]["content"]}]}
    )
    assert report["version"] == "loopback" and report["usage"]["input"] > 0 and report["latency"] >= 0


def refusing(request: Request) -> Reply:
    """Wants no tools."""
    raise RequestRefused("no tools here")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ScriptedModel("s", obedient), "offered one, called none"),
        (ScriptedModel("s", refusing), "refused: no tools here"),
        (ScriptedModel("s", obedient, abilities=Abilities()), "not known to call them"),
    ],
)
def test_a_check_says_whether_a_model_calls_tools(model: ScriptedModel, said: str) -> None:
    assert asyncio.run(calls_tools(model)) == said


def test_a_check_sees_that_a_tool_is_called(server: LoopbackServer) -> None:
    async def ask() -> str:
        model = open_model("anthropic/claude-sonnet-4-5", base_url=server.origin)
        try:
            return await calls_tools(model)
        finally:
            await model.close()

    assert asyncio.run(ask()) == "called"


class Once(ScriptedModel):
    """Counts how often it is closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(("close", "times"), [(True, 2), (False, 0)])
def test_a_model_is_closed_twice_unless_it_is_to_stay_open(close: bool, times: int) -> None:
    model = Once("scripted/obedient", obedient, abilities=EVERYTHING)
    made = asyncio.run(check_model(model, close=close))
    assert model.closed == times and ("close" in made) == close


def refuses_choices(request: Request) -> Reply:
    if request.constraint and request.constraint.choices:
        raise RequestRefused("no choices")
    return obedient(request)


def test_an_ability_that_is_claimed_and_refused_is_found() -> None:
    with pytest.raises(ModelCheckFailed, match="claims the ability 'choices' but refuses it: no choices"):
        check(ScriptedModel("scripted/claims", refuses_choices, abilities=EVERYTHING))


@pytest.mark.parametrize("text", ['{"number": 10}', '{"number": 0}', '{"number": 2.0}', '{"number": true}', "[3]"])
def test_a_model_that_breaks_the_schema_is_found(text: str) -> None:
    def writes(request: Request) -> Reply:
        reply = obedient(request)
        return replace(reply, text=text) if reply.text.startswith("{") else reply

    with pytest.raises(ModelCheckFailed, match="was held to a JSON schema and wrote"):
        check(ScriptedModel("s", writes))
