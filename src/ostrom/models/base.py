"""The interface of model clients: requests, replies, abilities; errors are in ``ostrom.ground.errors``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from ostrom.ground.values import value

ReasoningKind = Literal["raw", "summary", "none"]
Finish = Literal["stop", "length", "filter", "tools", "other"]


@value
class Message:
    """One turn of the conversation.

    A ``call`` is an assistant's turn that calls tools, a ``tool`` the result of one call: both are JSON (``tool_turn``,
    ``result_turn``), so that a prompt is a list of roles and texts wherever it is kept.
    """

    role: Literal["system", "user", "assistant", "call", "tool"]
    content: str


@value
class ToolSpec:
    """A tool offered to a model; ``schema`` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@value
class Constraint:
    """A constraint on the reply: one of ``choices``, or an object of ``schema``."""

    choices: tuple[str, ...] | None = None
    schema: Mapping[str, Any] | None = None
    name: str = "answer"


@value
class Request:
    """A request to a model. A trailing assistant message starts the reply (prefill)."""

    messages: tuple[Message, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    """temperature, max_tokens, top_p, seed, stop; provider-specific ones under ``extra``."""
    constraint: Constraint | None = None
    top_logprobs: int = 0
    """The number of alternatives of the first token to report (0 for none)."""
    lasting: int = 0
    """The number of leading messages that later requests likely share: a client may mark them for a cache."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the model may call before it answers."""


@value
class Usage:
    """Token counts of one call; None if the server does not report them.

    ``input`` counts the whole prompt, ``cached`` the part of it that the server had in its cache, ``kept`` the
    part that it wrote into its cache for a price; ``output`` counts everything written, ``reasoning`` the part
    of it that was reasoning.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    kept: int | None = None


@value
class Reply:
    """A reply: the new text alone, without the prefill.

    ``logprobs`` maps alternatives of the first generated token to log-probabilities. A reply that calls tools has the
    finish ``tools``, and its text is the content of the turn that makes the calls (``tool_turn``).
    """

    text: str
    reasoning: str | None = None
    reasoning_kind: ReasoningKind = "none"
    finish: Finish = "stop"
    usage: Usage = Usage()
    logprobs: Mapping[str, float] | None = None
    model: str | None = None
    """The model version that the server reports."""
    id: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further facts: fingerprint, refusal, timings, unsupported parameters."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model supports besides text. A request for anything else is refused, never ignored."""

    choices: bool = False
    schema: bool = False
    logprobs: bool = False
    prefill: bool = False
    deterministic: bool = False
    """Whether the same request with the same seed always has the same reply."""
    tools: bool = False

    def described(self) -> dict[str, bool]:
        """Return the abilities for a manifest; tools are left out, because they affect no request without tools."""
        return {name: has for name, has in asdict(self).items() if name != "tools"}


class Model(Protocol):
    """A model client, created once per run and used by many matches concurrently."""

    name: str
    abilities: Abilities
    connections: int
    """The initial number of calls in flight; the engine's limiter adapts it."""

    async def complete(self, request: Request) -> Reply:
        """Make one call. Raises a ModelError; never retries by itself."""

    async def close(self) -> None:
        """Release connections, threads and memory."""

    def describe(self) -> Mapping[str, Any]:
        """Return what the manifest records: base URL, version, settings; never a secret.

        Everything in it may decide a reply, except the entry ``client`` (timeout, connections).
        """
