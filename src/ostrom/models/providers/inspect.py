"""Any provider that Inspect AI can reach, as ``inspect/google/gemini-2.0-flash`` (extra ``inspect``)."""

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ostrom.ground.errors import (
    AccessRefused,
    ConnectionFailed,
    MalformedReply,
    ModelError,
    RequestRefused,
    TimedOut,
    UsageError,
)
from ostrom.models.asking import as_list, at_least_one, positive, put_params, refuse_beyond, token_count
from ostrom.models.base import Abilities, Finish, ReasoningKind, Reply, Request, Usage
from ostrom.models.failures import make, one_line
from ostrom.models.grants import INSPECT, require
from ostrom.models.redaction import environment_secrets, redactor
from ostrom.models.services import checked_url

PARAMS = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning_effort", "extra")
_WORDS = {name: name for name in PARAMS if name != "extra"} | {"stop": "stop_seqs"}
_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
}


def check(model: str) -> None:
    """Refuse a name without its provider, and all names if Inspect AI is not installed."""
    if find_spec("inspect_ai") is None:
        raise UsageError(f"inspect/{model} needs Inspect AI: pip install 'ostrom[inspect]'")
    if "/" not in model:
        raise UsageError(f"inspect/{model}: name the provider too, as in inspect/google/gemini-2.0-flash")


class InspectModel:
    """A model of Inspect AI as a model client.

    Inspect is told not to retry; the provider's own package may still do so once or twice unseen.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, timeout: float = 120.0, connections: int = 16
    ) -> None:
        try:
            from inspect_ai.model import get_model
        except ImportError:
            raise UsageError(f"inspect/{model} needs Inspect AI: pip install 'ostrom[inspect]'") from None
        self.name = f"inspect/{model}"
        if base_url is not None:
            base_url = checked_url(base_url, source="base_url")
            require(INSPECT, base_url, who=self.name)  # Inspect sends the provider's key to any address
        self.connections = at_least_one(connections, "connections")
        self.abilities = Abilities(schema=False, logprobs=True)
        self._timeout = positive(timeout, "timeout")
        self._base_url = base_url
        try:
            self._model: Any = get_model(model, base_url=base_url, memoize=False)
        except Exception as error:  # Inspect's, a provider's, or an import error: all become one line
            raise UsageError(f"inspect/{model}: {one_line(str(error), environment_secrets())}") from None

    def __repr__(self) -> str:
        return f"<InspectModel {self.name}>"

    async def complete(self, request: Request) -> Reply:
        """Make one call."""
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig

        refuse_beyond(self.abilities, request, self.name)
        roles = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
        messages = [roles[message.role](content=message.content) for message in request.messages]
        try:
            config = GenerateConfig(**self._config(request), max_retries=0, max_connections=10_000)
            async with asyncio.timeout(self._timeout):
                output = await self._model.generate(messages, config=config)
        except ModelError:
            raise
        except TimeoutError:
            raise TimedOut(f"{self.name} gave no complete reply within {self._timeout:g} s") from None
        except Exception as error:  # every provider package has its own exceptions
            raise _mapped(error, self.name) from None
        return redactor(environment_secrets()).clean_reply(self._reply(output, request))

    async def close(self) -> None:
        """Close Inspect's client."""
        model, self._model = self._model, None
        if model is not None:
            await model.api.aclose()

    def describe(self) -> Mapping[str, Any]:
        """Name, address and Inspect's version."""
        from importlib.metadata import version

        return {
            "name": self.name,
            "wire": "inspect",
            "inspect_ai": version("inspect-ai"),
            "base_url": self._base_url,
            "abilities": self.abilities.described(),
            "client": {"timeout": self._timeout, "connections": self.connections},
        }

    def _config(self, request: Request) -> dict[str, Any]:
        if self._model is None:
            raise ModelError(f"{self.name} was closed before this call")
        config: dict[str, Any] = {}
        put_params(
            config,
            {name: as_list(value) if name == "stop" else value for name, value in request.params.items()},
            _WORDS,
            PARAMS,
        )
        if request.top_logprobs:
            config |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        return config

    def _reply(self, output: Any, request: Request) -> Reply:
        if getattr(output, "error", None):
            raise MalformedReply(f"{self.name}: {one_line(str(output.error), environment_secrets())}")
        if not output.choices:
            raise MalformedReply(f"{self.name} sent a reply without choices")
        choice = output.choices[0]
        content = choice.message.content
        thoughts = [] if isinstance(content, str) else [p for p in content if p.type == "reasoning"]
        kind: ReasoningKind = "summary" if any(p.summary or p.redacted for p in thoughts) else "raw"
        usage = output.usage
        return Reply(
            text=choice.message.text,
            reasoning="\n".join(p.summary or p.reasoning for p in thoughts) if thoughts else None,
            reasoning_kind=kind if thoughts else "none",
            finish=_FINISH.get(choice.stop_reason, "other"),
            usage=Usage(
                token_count(usage.input_tokens),
                token_count(usage.output_tokens),
                token_count(usage.input_tokens_cache_read),
                token_count(usage.reasoning_tokens),
                token_count(usage.input_tokens_cache_write),
            )
            if usage
            else Usage(),
            logprobs=self._logprobs(choice) if request.top_logprobs else None,
            model=output.model,
            id=choice.message.id,
        )

    def _logprobs(self, choice: Any) -> dict[str, float]:
        if not choice.logprobs:
            raise RequestRefused(f"{self.name} gives no log-probabilities")
        return {top.token: top.logprob for token in choice.logprobs.content[:1] for top in token.top_logprobs or ()}


def _mapped(error: BaseException, name: str) -> ModelError:
    """Convert a provider's exception to a ModelError: by its status, else by its class name."""
    # Inspect wraps the error of its last attempt.
    if (last := getattr(error, "last_attempt", None)) is not None and last.exception() is not None:
        error = last.exception()
    text, kind = one_line(str(error), environment_secrets()), type(error).__name__
    for status in (getattr(error, attribute, None) for attribute in ("status_code", "status", "code")):
        if isinstance(status, int) and 300 <= status < 600:
            return make(status, name, text)
    # A package that fails while it parses a reply raises one of these.
    parsing = isinstance(error, TypeError | ValueError | LookupError | AttributeError)
    of_name = (meaning for word, meaning in _OF_CLASS.items() if word in kind)
    return next(of_name, MalformedReply if parsing else RequestRefused)(f"{name}: {text or kind}")


_OF_CLASS: dict[str, type[ModelError]] = {
    "Timeout": TimedOut, "Connect": ConnectionFailed, "Auth": AccessRefused, "Prerequisite": AccessRefused
}  # fmt: skip
"""The error by a word in the class name of a provider's exception."""


PROVIDER = InspectModel
