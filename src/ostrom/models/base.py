"""What every model client speaks: a request in, a reply out, errors from the tree in ``ostrom.ground.errors``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from ostrom.ground.values import value

ReasoningKind = Literal["raw", "summary", "none"]
Finish = Literal["stop", "length", "filter", "tools", "other"]


@value
class Message:
    """One turn of the conversation that is sent.

    A ``call`` is an assistant's turn that calls tools, a ``tool`` the result of one call: both are JSON (``tool_turn``,
    ``result_turn``), so that a prompt is a list of roles and texts wherever it is kept.
    """

    role: Literal["system", "user", "assistant", "call", "tool"]
    content: str


@value
class ToolSpec:
    """A tool as a model is told of it; ``schema`` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@value
class Constraint:
    """A bound on what the model may write: one of ``choices``, or an object of ``schema``."""

    choices: tuple[str, ...] | None = None
    schema: Mapping[str, Any] | None = None
    name: str = "answer"


@value
class Request:
    """Everything that decides a reply. A trailing assistant message begins the reply (prefill)."""

    messages: tuple[Message, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    """temperature, max_tokens, top_p, seed, stop, and anything the provider understands under ``extra``."""
    constraint: Constraint | None = None
    top_logprobs: int = 0
    """How many alternatives of the first token to report (0: none)."""
    lasting: int = 0
    """So many of the first messages are likely to begin a later request too: a wire may mark them for a cache."""
    tools: tuple[ToolSpec, ...] = ()
    """What the model may call before it answers."""


@value
class Usage:
    """Tokens of one call; None where the server does not say.

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
    """What came back: the new text alone, never the beginning that was sent as prefill.

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
    """The version that the server says it used."""
    id: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth keeping: fingerprint, refusal, timings, parameters the server has no word for."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can be asked for besides text. A request for anything else is refused, never ignored."""

    choices: bool = False
    schema: bool = False
    logprobs: bool = False
    prefill: bool = False
    deterministic: bool = False
    """The same request with the same seed always gives the same reply."""
    tools: bool = False

    def described(self) -> dict[str, bool]:
        """What a manifest holds; that a model could call tools decides no reply to a request without any."""
        return {name: has for name, has in asdict(self).items() if name != "tools"}


class Model(Protocol):
    """A model client. Created once per run, used from many matches at the same time."""

    name: str
    abilities: Abilities
    connections: int
    """How many calls may be in flight at the start; the engine's limiter adapts from there."""

    async def complete(self, request: Request) -> Reply:
        """Make one call. Raises a ModelError; never retries by itself."""

    async def close(self) -> None:
        """Release connections, threads and memory."""

    def describe(self) -> Mapping[str, Any]:
        """What the manifest records: base URL, version, settings; never a secret.

        Everything in it may decide a reply, except the entry ``client`` (timeout, connections).
        """
