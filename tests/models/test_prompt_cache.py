"""Prompt caches: marks where they pay, tokens journaled and priced, and their share told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.models.anthropic_wire import decode, encode
from ostrom.models.base import Message, Request, Usage
from ostrom.models.dialects import Dialect
from ostrom.models.openai_wire import encode as encode_openai
from ostrom.models.prices import Rates, price_of, read_rates
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

LONG = "rules " * 2000


def chat(*texts: str, lasting: int) -> Request:
    roles = ["user", "assistant"]
    messages = tuple(Message(roles[i % 2], text) for i, text in enumerate(texts))  # type: ignore[arg-type]
    return Request(messages, {"max_tokens": 5}, lasting=lasting)


def marks(request: Request, model: str) -> list[bool]:
    messages = orjson.loads(encode(request, model))["messages"]
    return [isinstance(m["content"], list) and "cache_control" in m["content"][0] for m in messages]


def test_a_long_beginning_that_comes_again_is_marked_at_its_end() -> None:
    request = chat(LONG, "[A0]", "next", lasting=3)
    assert marks(request, "claude-sonnet-4-5") == [False, False, True]
    body = orjson.loads(encode(request, "claude-sonnet-4-5"))
    assert body["messages"][2]["content"][0]["text"] == "next" and body["messages"][0]["content"] == LONG


@pytest.mark.parametrize(
    ("request_", "model"),
    [
        (chat(LONG, "[A0]", "next", lasting=0), "claude-sonnet-4-5"),
        (chat("short", "[A0]", "next", lasting=3), "claude-sonnet-4-5"),
        (chat(LONG, "[A0]", "next", lasting=3), "claude-opus-4-6"),
    ],
    ids=["never again", "too short", "too short for this model"],
)
def test_nothing_is_marked_where_it_does_not_pay(request_: Request, model: str) -> None:
    assert not any(marks(request_, model))


def test_other_wires_send_what_they_always_sent() -> None:
    one, other = (encode_openai(chat(LONG, "[A0]", "next", lasting=n), "m", Dialect()) for n in (0, 3))
    assert one == other


def test_written_tokens_are_read_counted_and_priced_apart() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 2,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 20,
    }
    document = {"content": [{"type": "text", "text": "x"}], "usage": usage}
    found = decode(orjson.dumps(document), chat("a", lasting=0), who="it").usage
    assert found == Usage(input=100, output=2, cached=70, kept=20)
    rates = read_rates({"input": 3, "output": 15, "cached": 0.3, "kept": 3.75}, model="m")
    assert rates.cost(found) == pytest.approx((10 * 3 + 70 * 0.3 + 20 * 3.75 + 2 * 15) / 1e6)
    assert Rates(3, 15).cost(found) == pytest.approx((100 * 3 + 2 * 15) / 1e6)
    published = price_of("anthropic/claude-3-5-haiku-latest", found)
    assert published is not None and published < price_of("anthropic/claude-3-5-haiku-latest", Usage(100, 2))  # type: ignore[operator]


def study(model: str, **agent: Any) -> dict[str, Any]:
    asked = {"model": model, "style": "direct", "conversation": "dialogue", **agent}
    return {
        "name": "cached",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 5},
        "agent": {"persona": LONG, **asked},
    }


def test_a_dialogue_reads_its_beginning_from_the_cache_and_a_run_says_how_much(tmp_path: Path) -> None:
    with LoopbackServer(cache=True) as server:
        result = play(load_study(study(server.model)), runs=tmp_path)
    assert result.tally.tokens_cached > 0.7 * result.tally.tokens_in
    with open_run("cached", tmp_path) as run:
        rows = [row for row in run.rows.calls() if row["player"] == 1]
        assert [row["tokens_cached"] > 0 for row in rows] == [False, True, True, True, True]
        assert run.journal.spent()["tokens_cached"] == result.tally.tokens_cached


def test_on_the_anthropic_wire_marks_make_the_cache_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer(cache=True) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        settings = {"base_url": server.origin}
        for how in ("dialogue", "prompt"):
            data = study("anthropic/claude-sonnet-4-5", conversation=how, settings=settings)
            play(load_study({**data, "name": how}), runs=tmp_path)
    with open_run("dialogue", tmp_path) as run:
        rows = [row for row in run.rows.calls() if row["player"] == 1]
        kept = [orjson.loads(row["params"]).get("kept_in_cache", 0) for row in rows]
    assert kept[0] > 1000 and all(0 < tokens < 100 for tokens in kept[1:])
    assert rows[1]["tokens_cached"] == kept[0] and rows[4]["tokens_cached"] == sum(kept[:4])
    with open_run("prompt", tmp_path) as run:
        assert all(not row["tokens_cached"] for row in run.rows.calls())
