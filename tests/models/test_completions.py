"""A base model is asked through the completions endpoint: one text that it goes on from."""

import asyncio
from pathlib import Path

import orjson
import pytest

from ostrom.models import open_model
from ostrom.models.base import Message, Reply, Request
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer


@pytest.mark.parametrize(("dialect", "told"), [("completions", 5), ("vllm_completions", 20)])
def test_one_token_is_compared_after_the_stub(dialect: str, told: int, tmp_path: Path) -> None:
    with LoopbackServer(respond=lambda _: "F", record=True) as server:
        study = {
            "name": "base", "game": "battle_of_the_sexes", "mechanism": {"name": "repetition", "rounds": 2},
            "agent": {"style": "logprob", "framing": {"labels": "JF"}, "params": {"temperature": 0}},
            "types": {"m": {"model": server.model, "settings": {"dialect": dialect}}},
        }  # fmt: skip
        assert play(load_study(study), runs=tmp_path).complete
        received = server.requests[0]
    body = orjson.loads(received.body)
    assert received.path.endswith("/v1/completions") and "messages" not in body
    assert body["prompt"].endswith(": J or F.\nAnswer:") and (body["max_tokens"], body["logprobs"]) == (1, told)
    with open_run(tmp_path / "base") as run:
        assert {row["action"] for row in run.rows.decisions()} == {"football"}


def test_a_completion_is_read_like_any_reply() -> None:
    async def ask(name: str) -> Reply:
        model = open_model(name, dialect="completions")
        reply = await model.complete(Request((Message("system", "Be brief."), Message("user", "A0 or A1?"))))
        await model.close()
        return reply

    with LoopbackServer(respond=lambda _: " [A1]\n") as server:
        reply = asyncio.run(ask(server.model))
        assert orjson.loads(server.requests[0].body)["prompt"] == "Be brief.\n\nA0 or A1?"
    assert reply.text == " [A1]\n" and reply.finish == "stop" and reply.usage.output is not None
