"""The bridge to Inspect AI, against the loopback server. Skipped, visibly, where Inspect is not installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ostrom.ground.errors import AccessRefused, ConnectionFailed, MalformedReply, ModelError, ServerFailed, TimedOut
from ostrom.models import Message, Reply, Request, open_model
from ostrom.models.check import check_model
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

pytest.importorskip("inspect_ai", reason="needs the extra 'inspect'")
pytest.importorskip("openai", reason="Inspect needs the openai package for this provider")
pytestmark = pytest.mark.filterwarnings("default")  # their warnings are not ours to mend

Ask = Callable[..., Reply]
NAME = "inspect/openai/gpt-4o-mini"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain-canary-1234")


def test_a_call_goes_through(server: LoopbackServer, ask: Ask) -> None:
    talk = (Message("system", "rules"), Message("user", "[A] or [B]"))
    params = {"temperature": 0.5, "max_tokens": 9, "seed": 3, "stop": "q"}
    reply = ask(NAME, Request(talk, params, top_logprobs=2), base_url=server.url)
    assert reply.text in ("[A]", "[B]") and reply.usage.input and reply.logprobs
    body = server.bodies()[0]
    assert body["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "[A] or [B]"}]
    assert {key: body[key] for key in ("temperature", "max_tokens", "seed", "stop")} == {**params, "stop": ["q"]}


def test_it_keeps_the_contract(server: LoopbackServer) -> None:
    asyncio.run(check_model(open_model(NAME, base_url=server.url)))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("server_error", ServerFailed), ("refused_key", AccessRefused), ("hang", TimedOut),
     ("reset", ConnectionFailed), ("malformed", MalformedReply), ("wrong_schema", MalformedReply)],
)  # fmt: skip
def test_faults_have_their_errors(kind: str, expected: type[ModelError], ask: Ask) -> None:
    with LoopbackServer(faults=Faults({kind: 1.0})) as server, pytest.raises(expected) as caught:
        ask(NAME, base_url=server.url, timeout=1 if kind == "hang" else 60)
    assert "canary" not in str(caught.value) and "\n" not in str(caught.value)
