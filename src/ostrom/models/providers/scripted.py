"""Models for tests: fixed or computed replies, registered by name in this process.

>>> import asyncio
>>> from ostrom.models import open_model
>>> from ostrom.models.base import Message, Request
>>> register("echo", lambda request: request.messages[-1].content)
>>> model = open_model("scripted/echo")
>>> asyncio.run(model.complete(Request((Message("user", "[A0]"),)))).text
'[A0]'
>>> unregister("echo")
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ostrom.ground.errors import ModelError, UnknownName
from ostrom.models.asking import at_least_one, refuse_beyond
from ostrom.models.base import Abilities, Reply, Request, Usage

Answer: TypeAlias = "str | Reply | ModelError"
Source: TypeAlias = "str | Iterable[Answer] | Callable[[Request], Answer | Awaitable[Answer]]"

EVERYTHING = Abilities(choices=True, schema=True, logprobs=True, prefill=True, deterministic=True, tools=True)
_SCRIPTS: dict[str, Source] = {}


class ScriptedModel:
    """Replies from a text (always the same), a list (in the order of the calls) or a function of the request.

    An answer that is a ModelError is raised. Words stand for tokens in the usage.
    """

    def __init__(self, name: str, source: Source, *, abilities: Abilities = EVERYTHING, connections: int = 16) -> None:
        self.name, self.abilities = name, abilities
        self.connections = at_least_one(connections, "connections")
        self.calls, self._source = 0, source
        self._rest: Iterator[Answer] | None = None if isinstance(source, str) or callable(source) else iter(source)

    def __repr__(self) -> str:
        return f"<ScriptedModel {self.name}>"

    async def complete(self, request: Request) -> Reply:
        """Return the next reply."""
        refuse_beyond(self.abilities, request, self.name)
        self.calls += 1
        if self._rest is not None:
            answer: Any = next(self._rest, None)
            if answer is None:
                raise ModelError(f"{self.name}: the script ended after {self.calls - 1} replies")
        elif callable(self._source):
            answer = self._source(request)
            answer = await answer if inspect.isawaitable(answer) else answer
        else:
            answer = self._source
        if isinstance(answer, ModelError):
            raise answer
        reply = answer if isinstance(answer, Reply) else Reply(text=answer, model=self.name)
        words = sum(len(message.content.split()) for message in request.messages)
        return replace(
            reply, usage=Usage(input=words, output=len(reply.text.split())) if reply.usage == Usage() else reply.usage
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def describe(self) -> Mapping[str, Any]:
        """Name and abilities."""
        return {"name": self.name, "wire": "scripted", "abilities": self.abilities.described()}


def register(name: str, source: Source) -> None:
    """Register ``scripted/NAME`` as a model of this process; a name can be replaced."""
    _SCRIPTS[name] = source


def unregister(name: str) -> None:
    """Forget a script."""
    _SCRIPTS.pop(name, None)


def registered() -> list[str]:
    """The names of all scripts of this process."""
    return sorted(_SCRIPTS)


def check(model: str) -> None:
    """Refuse a name without a registered script."""
    if model not in _SCRIPTS:
        raise UnknownName("scripted model", model, _SCRIPTS)


def _open(model: str, *, connections: int = 16) -> ScriptedModel:
    check(model)
    return ScriptedModel(f"scripted/{model}", _SCRIPTS[model], connections=connections)


PROVIDER = _open
