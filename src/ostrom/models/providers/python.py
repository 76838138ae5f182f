"""A Python function as a model: ``python/NAME``, registered in this process.

The function gets the messages as ``{"role": ..., "content": ...}`` and returns a text or a ``Reply``; it may be
asynchronous. It is asked for plain text only: no constraint, no log-probabilities.

>>> import asyncio
>>> from ostrom.models import open_model
>>> from ostrom.models.base import Message, Request
>>> async def echo(messages):
...     return messages[-1]["content"]
>>> register("echo", echo)
>>> asyncio.run(open_model("python/echo").complete(Request((Message("user", "[A0]"),)))).text
'[A0]'
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from ostrom.ground.errors import ModelError, OstromError, UnknownName
from ostrom.models.asking import at_least_one, refuse_beyond
from ostrom.models.base import Abilities, Reply, Request

Answer: TypeAlias = str | Reply
Function: TypeAlias = Callable[[list[dict[str, str]]], Answer | Awaitable[Answer]]
_FUNCTIONS: dict[str, Function] = {}


class PythonModel:
    """A function behind the contract of a model client."""

    abilities = Abilities()

    def __init__(self, name: str, function: Function, *, connections: int = 16) -> None:
        self.name, self._function = name, function
        self.connections = at_least_one(connections, "connections")

    async def complete(self, request: Request) -> Reply:
        """Call the function once; its exceptions become ModelErrors."""
        refuse_beyond(self.abilities, request, self.name)
        try:
            answer: Any = self._function([{"role": m.role, "content": m.content} for m in request.messages])
            if inspect.isawaitable(answer):
                answer = await answer
        except OstromError:
            raise
        except Exception as error:
            raise ModelError(f"{self.name}: {type(error).__name__}: {error}") from error
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise ModelError(
                f"{self.name}: a function that is a model must return a text or a Reply, "
                f"returned {type(answer).__name__}"
            )
        return Reply(answer, model=self.name)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def describe(self) -> Mapping[str, Any]:
        """Return the name of the model; the code of the function is not recorded."""
        return {"name": self.name, "wire": "python"}


def register(name: str, function: Function) -> None:
    """Register ``python/NAME`` as a model of this process; a name can be replaced."""
    _FUNCTIONS[name] = function


def check(model: str) -> None:
    """Refuse a name without a registered function."""
    if model not in _FUNCTIONS:
        raise UnknownName("function as a model in this process (give it to ostrom.study)", model, _FUNCTIONS)


def _open(model: str, *, connections: int = 16) -> PythonModel:
    check(model)
    return PythonModel(f"python/{model}", _FUNCTIONS[model], connections=connections)


PROVIDER = _open
