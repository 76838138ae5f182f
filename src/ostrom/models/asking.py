"""Checks shared by all clients: requests within a model's abilities, and numbers of the right kind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from ostrom.ground.errors import MalformedReply, RequestRefused, StudyError
from ostrom.models.base import Abilities, Message, Request


def at_least_one(value: object, key: str) -> int:
    """Check that a setting is a whole number of at least 1, and return it.

    >>> at_least_one(16, "connections")
    16
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise StudyError("must be a whole number of at least 1", key=key, actual=value)
    return value


MOST_TOKENS = 20_000_000
"""The largest plausible token count of a call; more is a wrong report."""


def token_count(value: object) -> int | None:
    """Return a token count reported by a server; None if it is implausible.

    >>> [token_count(v) for v in (12, 0, -1, 2**62, 3.0, True, "7", None)]
    [12, 0, None, None, None, None, None, None]
    """
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def positive(value: object, key: str) -> float:
    """A number above 0.

    >>> positive(30, "timeout")
    30.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise StudyError("must be a number above 0", key=key, actual=value)
    return float(value)


MOST_CALLS, LONGEST_ARGUMENTS, LONGEST_NAME = 32, 20_000, 200
"""Limits of one reply: calls of tools, and characters of arguments and of a name."""


def tool_calls(raw_calls: Iterable[tuple[object, object, object]], who: str) -> list[dict[str, str]]:
    """Return the tool calls of a reply (id, name, arguments), with bounded texts.

    >>> tool_calls([("c1", "calculate", {"expression": "1+1"})], "m")
    [{'id': 'c1', 'name': 'calculate', 'arguments': '{"expression":"1+1"}'}]
    """
    calls = []
    for place, (id_, name, arguments) in enumerate(raw_calls):
        if place == MOST_CALLS:
            raise MalformedReply(f"{who} called more than {MOST_CALLS} tools in one reply")
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=str).decode()
        if not isinstance(name, str) or len(name) > LONGEST_NAME or len(text) > LONGEST_ARGUMENTS:
            raise MalformedReply(
                f"{who} called a tool without a name, or with more than {LONGEST_ARGUMENTS} characters"
            )
        calls.append(
            {
                "id": id_ if isinstance(id_, str) and 0 < len(id_) <= LONGEST_NAME else f"call_{place}",
                "name": name,
                "arguments": text,
            }
        )
    return calls


def tool_turn(text: str, calls: Sequence[Mapping[str, str]]) -> Message:
    """Return the chat turn of a model that calls tools."""
    return Message("call", orjson.dumps({"text": text, "calls": calls}).decode())


def calls_in(content: str) -> tuple[str, list[dict[str, str]]]:
    """Return the text of a turn with tool calls, and its calls."""
    turn = orjson.loads(content)
    return turn["text"], turn["calls"]


def result_turn(call: Mapping[str, str], result: str) -> Message:
    """The turn of a chat that holds the result of a tool call."""
    return Message("tool", orjson.dumps({"id": call["id"], "name": call["name"], "result": result}).decode())


def arguments_of(text: str) -> dict[str, Any] | None:
    """Parse the arguments of a call; None if they are no object."""
    try:
        parsed = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def put_params(
    body: dict[str, Any], params: Mapping[str, Any], words: Mapping[str, str], allowed: Iterable[str]
) -> None:
    """Put parameters of a call into a body, under the server's words for them; ``extra`` is added unchanged."""
    for name, value in params.items():
        if name in words:
            body[words[name]] = value
        elif name == "extra":
            body.update(value)
        else:
            raise RequestRefused(f"unknown model parameter {name!r} (known: {', '.join(allowed)})")


def as_list(texts: str | Iterable[str]) -> list[str]:
    """Return one text, or several, as a list."""
    return [texts] if isinstance(texts, str) else list(texts)


def refuse_beyond(abilities: Abilities, request: Request, who: str) -> None:
    """Raise RequestRefused if the request needs an ability that the model does not have.

    >>> from ostrom.models.base import Message
    >>> refuse_beyond(Abilities(), Request((Message("user", "hi"),), top_logprobs=2), "m")
    Traceback (most recent call last):
    ...
    ostrom.ground.errors.RequestRefused: m is not known to give log-probabilities (ability 'logprobs')
    """
    constraint = request.constraint
    if constraint is not None:
        if constraint.choices is not None and not abilities.choices:
            raise RequestRefused(f"{who} is not known to keep to given choices (ability 'choices')")
        if constraint.choices is not None and not constraint.choices:
            raise RequestRefused(f"{who}: an empty list of choices has no answer")
        if constraint.schema is not None and not abilities.schema:
            raise RequestRefused(f"{who} is not known to keep to a JSON schema (ability 'schema')")
    if request.top_logprobs and not abilities.logprobs:
        raise RequestRefused(f"{who} is not known to give log-probabilities (ability 'logprobs')")
    if request.tools and not abilities.tools:
        raise RequestRefused(f"{who} is not known to call tools (ability 'tools')")
    if not request.messages:
        raise RequestRefused(f"{who}: the request has no messages")
    if request.messages[-1].role == "assistant" and not abilities.prefill:
        raise RequestRefused(f"{who} is not known to go on from a given beginning (ability 'prefill')")
