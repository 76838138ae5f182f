"""The OpenAI wire: what is sent, byte for byte, and what is read."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from ostrom.ground.errors import MalformedReply, ModelError, RequestRefused
from ostrom.models import Constraint, Message, Reply, Request, Usage, open_model
from ostrom.models.dialects import DIALECTS
from ostrom.models.openai_wire import encode, read
from ostrom.testing.server import LoopbackServer

Ask = Callable[..., Reply]
TALK = (Message("system", "rules"), Message("user", "choose"))
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}


def sent(request: Request, dialect: str = "plain", word: str = "max_tokens") -> Any:
    return orjson.loads(encode(request, "m", DIALECTS[dialect], word))


def test_a_plain_request() -> None:
    params = {"temperature": 0.7, "max_tokens": 50, "top_p": 0.9, "seed": 3, "stop": ["x"], "extra": {"top_k": 5}}
    assert encode(Request(TALK, params), "m", DIALECTS["plain"]) == (
        b'{"model":"m","messages":[{"role":"system","content":"rules"},{"role":"user","content":"choose"}],'
        b'"temperature":0.7,"max_tokens":50,"top_p":0.9,"seed":3,"stop":["x"],"top_k":5}'
    )


def test_log_probabilities() -> None:
    body = sent(Request(TALK, top_logprobs=5))
    assert body["logprobs"] is True and body["top_logprobs"] == 5


def test_a_schema() -> None:
    body = sent(Request(TALK, constraint=Constraint(schema=SCHEMA, name="offer")))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "offer", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("vllm", {"structured_outputs": {"choice": ["[A]", "[B]"]}}),
        ("vllm_guided", {"guided_choice": ["[A]", "[B]"]}),
        ("llamacpp", {"grammar": 'root ::= "[A]" | "[B]"'}),
    ],
)
def test_choices_in_each_dialect(dialect: str, expected: dict[str, Any]) -> None:
    body = sent(Request(TALK, constraint=Constraint(choices=("[A]", "[B]"))), dialect)
    assert {key: body[key] for key in expected} == expected


def test_a_given_beginning_in_each_dialect() -> None:
    begun = Request((*TALK, Message("assistant", "I choose ")))
    vllm = sent(begun, "vllm")
    assert (vllm["continue_final_message"], vllm["add_generation_prompt"]) == (True, False)
    assert sent(begun, "mistral")["messages"][-1] == {"role": "assistant", "content": "I choose ", "prefix": True}
    assert sent(begun, "llamacpp")["messages"][-1] == {"role": "assistant", "content": "I choose "}


def test_mistral_has_its_own_word_for_the_seed() -> None:
    assert sent(Request(TALK, {"seed": 4}), "mistral")["random_seed"] == 4


def test_an_unknown_parameter_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RequestRefused, match=r"unknown model parameter 'temprature' \(known: temperature"):
        sent(Request(TALK, {"temprature": 1}))


def test_a_parameter_that_is_no_json_is_refused() -> None:
    with pytest.raises(RequestRefused, match="cannot be written as JSON"):
        sent(Request(TALK, {"extra": {"x": object()}}))


@pytest.mark.parametrize(
    ("model", "word"),
    [("gpt-4o-mini", "max_tokens"), ("o3-mini", "max_completion_tokens"), ("gpt-5-nano", "max_completion_tokens")],
)
def test_reasoning_models_of_openai_have_another_word_for_the_bound(
    model: str, word: str, server: LoopbackServer, ask: Ask
) -> None:
    ask(f"openai/{model}", Request(TALK, {"max_tokens": 9}), base_url=server.url)
    body = server.bodies()[0]
    assert body[word] == 9 and len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


def test_what_a_model_is_not_known_to_do_is_refused_before_anything_is_sent(server: LoopbackServer, ask: Ask) -> None:
    for request in (
        Request(TALK, constraint=Constraint(choices=("a",))),
        Request(TALK, constraint=Constraint(schema=SCHEMA)),
        Request(TALK, top_logprobs=3),
        Request((*TALK, Message("assistant", "I"))),
        Request(()),
    ):
        with pytest.raises(RequestRefused):
            ask(server.model, request)
    assert server.count == 0


def document(message: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop", **more}]}


def got(message: Any, request: Request | None = None, **more: Any) -> Reply:
    return read(document(message, **more), request or Request(TALK), who="m")


def test_a_whole_reply() -> None:
    found = read(
        {
            "id": "c1",
            "model": "m-2026-01-01",
            "system_fingerprint": "fp",
            "choices": [{"message": {"content": "[A0]"}, "finish_reason": "length"}],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        },
        Request(TALK),
        who="m",
    )
    assert found == Reply(
        text="[A0]", finish="length", usage=Usage(10, 4, 8, 3), model="m-2026-01-01", id="c1",
        facts={"fingerprint": "fp"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "text", "reasoning", "kind"),
    [
        ({"content": "[A]"}, "[A]", None, "none"),
        ({"content": "[A]", "reasoning_content": "hm"}, "[A]", "hm", "raw"),
        ({"content": "[A]", "reasoning": "hm"}, "[A]", "hm", "raw"),
        (
            {"content": "[A]", "reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary"}]},
            "[A]", "hm", "summary",
        ),
        ({"content": "<think>\nhm [B]\n</think>\n\n[A]"}, "[A]", "hm [B]", "raw"),
        ({"content": "hm [B]\n</think>\n\n[A]"}, "[A]", "hm [B]", "raw"),
        ({"content": "<think>hm [B]"}, "", "hm [B]", "raw"),
        ({"content": "I <think>hm</think> [A]"}, "I <think>hm</think> [A]", None, "none"),
        ({"content": None, "reasoning_content": "hm"}, "", "hm", "raw"),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                         {"type": "text", "text": "[A]"}]},
            "[A]", "hm", "raw",
        ),
    ],
)  # fmt: skip
def test_reasoning_is_kept_apart(message: Any, text: str, reasoning: str | None, kind: str) -> None:
    reply = got(message)
    assert (reply.text, reply.reasoning, reply.reasoning_kind) == (text, reasoning, kind)


def test_an_echoed_beginning_is_taken_off() -> None:
    begun = Request((*TALK, Message("assistant", "I choose ")))
    assert got({"content": "I choose [A]"}, begun).text == "[A]"
    assert got({"content": "[A]"}, begun).text == "[A]"


def test_log_probabilities_of_the_first_token_only() -> None:
    tokens = [
        {"top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]},
        {"top_logprobs": [{"token": "0", "logprob": 0.0}]},
    ]
    asked = Request(TALK, top_logprobs=2)
    assert got({"content": "A0"}, asked, logprobs={"content": tokens}).logprobs == {"A": -0.1, "B": -2.5}
    assert got({"content": "A0"}, logprobs={"content": tokens}).logprobs is None
    with pytest.raises(RequestRefused, match="gives no log-probabilities"):
        got({"content": "A0"}, asked, logprobs=None)


def test_two_tokens_that_read_the_same_add_up() -> None:
    top = [{"token": "A", "logprob": -1.0}, {"token": "A", "logprob": -1.0}]
    found = got({"content": "A"}, Request(TALK, top_logprobs=2), logprobs={"content": [{"top_logprobs": top}]})
    assert found.logprobs is not None
    assert found.logprobs["A"] == pytest.approx(-1.0 + 0.6931471805599453)


def test_a_refusal_is_kept_and_is_no_answer() -> None:
    reply = got({"content": None, "refusal": "I cannot"})
    assert (reply.text, reply.finish, reply.facts) == ("I cannot", "filter", {"refusal": "I cannot"})


@pytest.mark.parametrize("message", [None, "text", [], {"content": 3}, {"content": None, "tool_calls": [{}]}])
def test_messages_that_are_none(message: Any) -> None:
    with pytest.raises(MalformedReply):
        got(message)


def test_many_calls_at_once_do_not_mix_up() -> None:
    def echo(body: dict[str, Any]) -> str:
        return str(body["messages"][-1]["content"])

    async def main(name: str) -> list[str]:
        model = open_model(name)
        requests = [Request((Message("user", f"call {n}"),)) for n in range(200)]
        try:
            return [reply.text for reply in await asyncio.gather(*map(model.complete, requests))]
        finally:
            await model.close()

    with LoopbackServer(echo, latency=0.05) as server:
        assert asyncio.run(main(server.model)) == [f"call {n}" for n in range(200)]
        assert server.count == 200 and server.max_in_flight > 20


def test_a_model_stays_in_its_event_loop(server: LoopbackServer) -> None:
    model = open_model(server.model)
    home, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    assert home.run_until_complete(model.complete(Request(TALK))).text == "Noted."
    with pytest.raises(ModelError, match="another event loop"):
        other.run_until_complete(model.complete(Request(TALK)))
    home.run_until_complete(model.close())
    home.close()
    other.close()


def test_a_prompt_of_megabytes_goes_through(server: LoopbackServer, ask: Ask) -> None:
    ask(server.model, "word " * 400_000)
    assert len(server.requests[0].body) > 2_000_000
