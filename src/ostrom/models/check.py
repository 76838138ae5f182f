"""Conformance checks of a model client: its claimed abilities, and what the engine relies on.

For your own client::

    await check_model("my_provider/my_model")
"""

import asyncio
import math
import os
import time
from collections.abc import Mapping
from typing import Any

import orjson

from ostrom.ground.errors import ModelError, OstromError, RequestRefused
from ostrom.models import open_model
from ostrom.models.base import Constraint, Message, Model, Reply, Request, ToolSpec
from ostrom.models.failures import json_or_none
from ostrom.models.pending_call import PreparesCalls
from ostrom.models.redaction import redact

CHOICES = ("[A0]", "[A1]")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer", "minimum": 1, "maximum": 9}},  # no digits without end
    "required": ["number"],
    "additionalProperties": False,
}
QUESTION = "Pick one of the two labels. Valid answers: [A0] or [A1]."


class ModelCheckFailed(OstromError):
    """Raised when a client violates its contract."""


async def check_model(model: str | Model, *, concurrent: int = 4, close: bool = True) -> list[str]:
    """Check a client against the contract; return the names of the checks, or raise ModelCheckFailed.

    ``model`` is a name (``provider/model``) or the client.
    """
    model = open_model(model) if isinstance(model, str) else model
    passed = []
    for check in [_one_call, _stages, _description, _abilities, _concurrency, _usage]:
        await check(model, concurrent)
        passed.append(check.__name__.strip("_"))
    if close:
        await model.close()
        await model.close()
        passed.append("close")
    return passed


async def probe(model: Model) -> dict[str, Any]:
    """Make one call and report what came back, for `ostrom models check`."""
    clock = time.perf_counter()
    reply = await model.complete(_request(QUESTION, max_tokens=64))
    return {
        "name": model.name,
        "latency": round(time.perf_counter() - clock, 3),
        "version": reply.model,
        "finish": reply.finish,
        "usage": {name: getattr(reply.usage, name) for name in ("input", "output", "cached", "reasoning")},
        "reasoning_kind": reply.reasoning_kind,
        "reply": " ".join(reply.text.split())[:80],
        "settings": dict(model.describe()),
    }


TOOL = ToolSpec(
    "calculate",
    "Compute an arithmetic expression exactly.",
    {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)


async def calls_tools(model: Model) -> str:
    """Offer a tool to a model; return in words whether the model called it."""
    if not model.abilities.tools:
        return "not known to call them"
    try:
        reply = await model.complete(_request("Compute 1234 * 5678 with the tool.", 200, tools=(TOOL,)))
    except ModelError as error:
        return f"refused: {error}"
    return "called" if reply.finish == "tools" else "offered one, called none"


def _request(text: str, max_tokens: int = 32, **more: Any) -> Request:
    return Request((Message("user", text),), {"max_tokens": max_tokens}, **more)


async def _one_call(model: Model, _: int) -> None:
    reply = await model.complete(_request(QUESTION))
    _must(isinstance(reply, Reply), model, f"complete() gave {type(reply).__name__}, not a Reply")
    _must(isinstance(reply.text, str), model, "the reply's text is not text")
    _must((reply.reasoning is None) == (reply.reasoning_kind == "none"), model, "reasoning and its kind disagree")
    _must(model.connections >= 1, model, "connections is below 1")


async def _stages(model: Model, _: int) -> None:
    """Check that a prepared call is sent on demand, and releases its slot once."""
    if not isinstance(model, PreparesCalls):
        return
    left: list[bool] = []
    call = model.prepare(_request(QUESTION), lambda: left.append(True))
    _must(not call.begun and not left, model, "prepare() begins the call")
    call.start()
    reply = await call.reply()
    _must(isinstance(reply, Reply), model, f"a prepared call gave {type(reply).__name__}, not a Reply")
    _must(call.begun > 0 and call.took is not None, model, "a prepared call does not tell when it was made")
    call.release()
    call.release()
    _must(left == [True], model, f"a prepared call gave its place back {len(left)} times")
    model.prepare(_request(QUESTION)).drop()


async def _description(model: Model, _: int) -> None:
    try:
        written = orjson.dumps(model.describe()).decode()
    except TypeError as error:
        raise ModelCheckFailed(f"{model.name}: describe() is not plain data ({error})") from None
    description = written + repr(model)
    for name, secret in os.environ.items():
        hidden = not name.endswith(("_KEY", "_TOKEN", "_SECRET")) or len(secret) < 8 or secret not in description
        _must(hidden, model, f"describe() or repr() shows the value of {name}")
    _must(redact(description, ()) == description, model, "describe() or repr() shows something that looks like a key")
    _must(model.describe() == model.describe(), model, "describe() changes from call to call")


async def _abilities(model: Model, _: int) -> None:
    requests = {
        "choices": _request(QUESTION, constraint=Constraint(choices=CHOICES)),
        "schema": _request("Name a number from 1 to 9, as JSON.", 200, constraint=Constraint(schema=SCHEMA)),
        "logprobs": _request(QUESTION, top_logprobs=2),
        "prefill": Request((Message("user", QUESTION), Message("assistant", "I choose [")), {"max_tokens": 4}),
    }
    for name, request in requests.items():
        await (_able if getattr(model.abilities, name) else _refuses)(model, name, request)
    if model.abilities.deterministic:
        again = Request((Message("user", QUESTION),), {"max_tokens": 8, "temperature": 1.0, "seed": 7})
        first, second = await model.complete(again), await model.complete(again)
        _must(first.text == second.text, model, "claims to be deterministic, but one seed gave two replies")


async def _able(model: Model, name: str, request: Request) -> None:
    try:
        reply = await model.complete(request)
    except RequestRefused as error:
        raise ModelCheckFailed(f"{model.name}: claims the ability {name!r} but refuses it: {error}") from None
    match name:
        case "choices":
            _must(reply.text in CHOICES, model, f"was held to {CHOICES} and wrote {reply.text[:40]!r}")
        case "schema":
            parsed = json_or_none(reply.text)
            number = parsed.get("number") if isinstance(parsed, dict) and len(parsed) == 1 else None
            good = type(number) is int and 1 <= number <= 9
            _must(good, model, f"was held to a JSON schema and wrote {reply.text[:40]!r}")
        case "logprobs":
            odds = reply.logprobs or {}
            _must(bool(odds), model, "gave no log-probabilities")
            total = math.fsum(map(math.exp, odds.values()))
            _must(total <= 1.001, model, f"gave probabilities that sum to {total:.3f}")
        case "prefill":
            _must(not reply.text.startswith("I choose ["), model, "repeats the beginning that it was given")


async def _refuses(model: Model, name: str, request: Request) -> None:
    try:
        await model.complete(request)
    except ModelError:
        return
    raise ModelCheckFailed(f"{model.name}: does not claim the ability {name!r}, yet takes such a request in silence")


async def _concurrency(model: Model, concurrent: int) -> None:
    """Check that concurrent calls return what they return alone, if that can be compared."""
    if not (model.abilities.choices or model.abilities.deterministic):
        await asyncio.gather(*(model.complete(_request(QUESTION)) for _ in range(concurrent)))
        return
    if model.abilities.choices:
        labels = [(f"[B{n}]", f"[C{n}]") for n in range(concurrent)]
        requests = [_request(f"Choose {a} or {b}.", constraint=Constraint(choices=(a, b))) for a, b in labels]
        for reply, allowed in zip(await asyncio.gather(*map(model.complete, requests)), labels, strict=True):
            _must(reply.text in allowed, model, f"mixes up concurrent calls: {reply.text!r} is not in {allowed}")


async def _usage(model: Model, _: int) -> None:
    usage = (await model.complete(_request(QUESTION))).usage
    _must(usage.input is not None and usage.output is not None, model, "does not report its usage of tokens")


def _must(holds: bool, model: Model, problem: str) -> None:
    if not holds:
        raise ModelCheckFailed(f"{model.name}: {problem}")
