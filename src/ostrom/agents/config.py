"""The configuration of an agent in a study."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal

import orjson
from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from ostrom.framing.config import Framing
from ostrom.ground.registry import write_spec
from ostrom.ground.validation import Declared, refuse_first

NO_MODEL = (
    "no model is named: give --model PROVIDER/MODEL (see `ostrom list models`), "
    "or set 'model', 'strategy', 'person' or 'mcp' here"
)


class ToolLimit(Declared):
    """The most tool calls in one decision, and the most tokens written for them."""

    calls: int = Field(default=8, ge=1, le=100, description="calls of tools")
    tokens: int = Field(default=4000, ge=1, le=10**6, description="tokens of replies that call tools")


class OutsideSeat(Declared):
    """The seat of an external agent: taken through MCP, or by a program started for each match."""

    command: list[str] | None = Field(
        default=None, description="the program of the agent; left out: the seat waits until an agent takes it"
    )
    time: float = Field(default=600.0, gt=0, le=604_800, description="seconds for a decision")

    @model_validator(mode="before")
    @classmethod
    def _waiting(cls, data: Any) -> Any:
        return {} if data == "seat" else data

    @field_validator("command")
    @classmethod
    def _checked(cls, command: list[str] | None) -> list[str] | None:
        from ostrom.agents.commands import checked

        return None if command is None else checked(command)


class AgentConfig(Declared):
    """How a player decides: by a strategy, a model or a person. Its identity covers all settings."""

    strategy: str | dict[str, Any] | None = Field(default=None, description="a scripted strategy")
    model: str | None = Field(default=None, description="a language model, provider/model or a URL")
    called: str | None = Field(
        default=None, description="the short name of its model in tables and charts, from `models` of the study"
    )
    person: bool | Literal["web"] = Field(
        default=False, description="true: a person at the terminal; web: people in the browser"
    )
    mcp: OutsideSeat | None = Field(
        default=None, description="seat: an agent elsewhere plays through MCP; or the command that starts one"
    )
    tree: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="auto (or a name): every answer of the model is asked beforehand by `ostrom more tree`",
    )
    recorded: str | None = Field(
        default=None, description="somebody whose moves were recorded elsewhere and imported: cannot play"
    )
    style: str = Field(default="reasoned", description="direct, reasoned, logprob, ...")
    answer: Literal["choice", "mixture", "explained"] = Field(
        default="choice",
        description="ask for an action, for a mixed strategy that is then drawn from, or for an action with "
        "its rationale as JSON",
    )
    memory: str | dict[str, Any] = Field(default="full", description="what is shown of the past")
    framing: Framing = Field(default_factory=Framing)
    prompts: str | None = Field(
        default=None, description="a prompt set: a folder beside the study file whose prompt files come first"
    )
    system: str | None = Field(
        default=None, description="what is said in the role of the system: a file in systems/ or a text"
    )
    conversation: Literal["prompt", "dialogue"] = Field(
        default="prompt",
        description="prompt: every decision is one self-contained prompt; dialogue: one chat per match, in which "
        "memory decides which turns stay",
    )
    earlier_reasoning: Literal["kept", "dropped"] = Field(
        default="kept",
        description="of a dialogue: whether earlier replies stay as they were written, or their answers alone",
    )
    persona: str | None = Field(default=None, description="who the player is: a file in personas/ or a text")
    persona_in: Literal["user", "system"] = Field(
        default="user", description="whether the persona is told in the question or in the role of the system"
    )
    params: dict[str, Any] = Field(
        default_factory=lambda: {"temperature": 0.7, "max_tokens": 2000}, description="sampling parameters"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of the model client")
    strict: bool = Field(default=False, description="accept only answers that are alone on the last line")
    constrain: Literal["auto", "always", "never"] = Field(
        default="auto", description="bind the form of the answer where the model can do it"
    )
    tools: list[str | dict[str, Any]] = Field(
        default_factory=list,
        description="what a model may call before it answers: calculator, notes, past, {mcp: {command: [...]}}",
    )
    tool_limit: ToolLimit = Field(default_factory=ToolLimit, description="how much of it in one decision")
    facts: dict[str, Any] = Field(default_factory=dict, description="own variables for prompt files")
    attributes: dict[str, bool | int | float | str] = Field(
        default_factory=dict,
        description="what is known of it, such as size, thinking or an index: columns of the tables, told to nobody",
    )

    @field_validator("tools", mode="before")
    @classmethod
    def _named_tools(cls, tools: Any) -> Any:
        """Convert ``{mcp: {command: [...]}}`` to a tool with a name."""
        return [
            {"name": "mcp", **tool["mcp"]}
            if isinstance(tool, dict) and list(tool) == ["mcp"] and isinstance(tool["mcp"], dict)
            else tool
            for tool in tools
        ] if isinstance(tools, list) else tools  # fmt: skip

    @model_validator(mode="after")
    def _one_way(self) -> AgentConfig:
        ways = [w for w in ("strategy", "model", "mcp", "recorded") if getattr(self, w) is not None]
        ways += ["person"] * bool(self.person)
        named = [tool.get("command", tool) if isinstance(tool, dict) else tool for tool in self.tools]
        tree, writes_freely = self.tree is not None, self.answer != "explained" or self.style == "reasoned"
        refuse_first([
            (not ways, NO_MODEL),
            (len(ways) != 1,
             "an agent decides in exactly one way: set 'model', 'strategy', 'person' or 'mcp' "
             f"(found {', '.join(ways)})"),
            (self.tools and (self.model is None or self.style == "logprob" or tree),
             "tools are for a model that writes its answer: no strategy, person, tree or style logprob"),
            (len({orjson.dumps(tool, option=orjson.OPT_SORT_KEYS) for tool in named}) < len(named),
             "tools names the same tool twice"),
            (tree and (self.model is None or self.params.get("temperature") != 0),
             "tree needs a model with params.temperature 0, which answers the same every time"),
            (tree and self.answer == "mixture",
             "tree needs answer: choice or explained; a mixed strategy is drawn anew every time"),
            (tree and self.conversation == "dialogue",
             "tree needs conversation: prompt; in a dialogue an answer depends on the replies before"),
            (self.earlier_reasoning == "dropped" and self.conversation == "prompt",
             "earlier_reasoning: dropped needs conversation: dialogue, where replies stay"),
            (self.model is not None and self.framing.words is None and writes_freely,
             "framing.words: null needs answer: explained and another style than reasoned; "
             "reasoning in the open is asked for in a number of words"),
            (self.mcp is not None and (self.style == "logprob" or self.constrain == "always"),
             "an agent at a seat (mcp) writes its answers: no style logprob, no constrain: always"),
            (self.persona_in == "system" and self.persona is None,
             "persona_in: system needs a persona to put there: set 'persona'"),
        ])  # fmt: skip
        return self

    @model_serializer(mode="wrap")
    def _plain(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Agents without tools and outside agents keep their earlier form.
        unused = {*(() if self.tools else ("tools", "tool_limit")), *(("mcp",) if self.mcp is None else ())}
        return {name: part for name, part in dump(self).items() if name not in unused}

    @property
    def kind(self) -> Literal["strategy", "model", "person", "recorded"]:
        """Return how the agent decides: strategy, model, person or record; an external agent counts as a model."""
        if self.recorded is not None:
            return "recorded"
        return "strategy" if self.strategy is not None else "person" if self.person else "model"

    @cached_property
    def identity(self) -> str:
        """Return a short hash of all settings that affect play, without attributes and short names.

        >>> AgentConfig(strategy="grim").identity == AgentConfig(strategy="tit_for_tat").identity
        False
        """
        # Fields of later versions are left out at their default, so that older identities stay the same.
        later = ("tree", "prompts", "system", "persona_in", "conversation", "earlier_reasoning")
        usual = {name for name in later if getattr(self, name) == type(self).model_fields[name].default}
        dumped = self.model_dump(mode="json", exclude=usual | {"attributes", "called"})
        if self.framing.wording is None:
            del dumped["framing"]["wording"]
        if self.framing.language == "en":
            del dumped["framing"]["language"]
        return hashlib.blake2b(orjson.dumps(dumped, option=orjson.OPT_SORT_KEYS), digest_size=6).hexdigest()

    @cached_property
    def conduct(self) -> str:
        """Return a key that is equal for agents that play alike, however they are written.

        >>> AgentConfig(strategy="grim", style="direct").conduct == AgentConfig(strategy={"name": "grim"}).conduct
        True
        """
        from ostrom.agents.strategies import strategies
        from ostrom.memory import memories

        parts: dict[str, Any] = {"memory": memories.normalized_spec(self.memory)}
        if self.strategy is not None:
            parts["strategy"] = strategies.normalized_spec(self.strategy)
        else:
            parts = self.model_dump(mode="json", exclude={"attributes", "called"}) | parts
        return orjson.dumps(_as_values(parts), default=repr, option=orjson.OPT_SORT_KEYS).decode()

    @cached_property
    def client(self) -> str | None:
        """Return the name of its model client: agents of one model may differ by an adapter.

        >>> AgentConfig(model="openai/gpt-4o-mini").client
        'openai/gpt-4o-mini'
        """
        from ostrom.models import client_name

        return None if self.model is None else client_name(self.model, self.settings)

    @property
    def commands(self) -> list[tuple[str, Any]]:
        """Return the commands that it would run, each with its key."""
        return [
            ("agent.tools", tool["command"]) for tool in self.tools if isinstance(tool, dict) and "command" in tool
        ] + ([] if self.mcp is None or self.mcp.command is None else [("agent.mcp", self.mcp.command)])

    @property
    def label(self) -> str:
        """Return a readable name, used if the study gives none."""
        if self.strategy is not None:
            return write_spec(self.strategy)
        return self.called or self.model or self.recorded or ("person" if self.person else "mcp")


def _as_values(value: Any) -> Any:
    """Normalise plain data so that equal numbers are identical: 1.0 is 1."""
    match value:
        case dict():
            return {str(key): _as_values(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_as_values(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
