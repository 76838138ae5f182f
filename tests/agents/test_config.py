"""What an agent may be: one way to decide, and what goes together with it."""

from typing import Any

import pytest
from pydantic import ValidationError

from ostrom.agents.config import AgentConfig, OutsideSeat, ToolLimit

MODEL = {"model": "scripted/x"}
COLD = {**MODEL, "params": {"temperature": 0}}
UNBOUND = {"words": None}


@pytest.mark.parametrize(
    "given",
    [
        {"strategy": "grim"},
        {"person": True},
        {"person": "web"},
        {"mcp": "seat"},
        {"recorded": "somebody"},
        {**COLD, "tree": "auto"},
        {**COLD, "tree": "auto", "answer": "explained"},
        {**MODEL, "tools": ["calculator"]},
        {**MODEL, "conversation": "dialogue", "earlier_reasoning": "dropped"},
        {**MODEL, "persona": "a trader", "persona_in": "system"},
        {**MODEL, "framing": UNBOUND, "answer": "explained", "style": "direct"},
        {"strategy": "grim", "framing": UNBOUND},
        {"mcp": "seat", "constrain": "never"},
        {**MODEL, "style": "logprob"},
        {**MODEL, "constrain": "always"},
    ],
)
def test_what_goes_together_is_taken(given: dict[str, Any]) -> None:
    AgentConfig(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no model is named"),
        ({"person": False}, "no model is named"),
        ({**MODEL, "strategy": "grim"}, r"exactly one way.*found strategy, model"),
        ({**MODEL, "person": True}, r"exactly one way.*found model, person"),
        ({**MODEL, "mcp": "seat"}, r"exactly one way.*found model, mcp"),
        ({"strategy": "grim", "recorded": "r"}, r"exactly one way.*found strategy, recorded"),
        ({"strategy": "grim", "tools": ["calculator"]}, "tools are for a model"),
        ({**MODEL, "style": "logprob", "tools": ["calculator"]}, "tools are for a model"),
        ({**COLD, "tree": "auto", "tools": ["calculator"]}, "tools are for a model"),
        ({**MODEL, "tools": ["notes", "notes"]}, "the same tool twice"),
        ({"strategy": "grim", "params": {"temperature": 0}, "tree": "auto"}, "tree needs a model"),
        ({**MODEL, "params": {"temperature": 0.1}, "tree": "auto"}, "tree needs a model"),
        ({**COLD, "tree": "auto", "answer": "mixture"}, "tree needs answer"),
        ({**COLD, "tree": "auto", "conversation": "dialogue"}, "tree needs conversation"),
        ({**COLD, "tree": "a/b"}, "tree"),
        ({**MODEL, "earlier_reasoning": "dropped"}, "earlier_reasoning: dropped needs"),
        ({**MODEL, "framing": UNBOUND, "style": "direct"}, r"framing\.words: null needs"),
        ({**MODEL, "framing": UNBOUND, "answer": "explained"}, r"framing\.words: null needs"),
        ({"mcp": "seat", "style": "logprob"}, r"an agent at a seat \(mcp\)"),
        ({"mcp": "seat", "constrain": "always"}, r"an agent at a seat \(mcp\)"),
        ({**MODEL, "persona_in": "system"}, "persona_in: system needs"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AgentConfig(**given)


@pytest.mark.parametrize(
    ("part", "key", "bounds"),
    [(ToolLimit, "calls", (1, 100)), (ToolLimit, "tokens", (1, 10**6)), (OutsideSeat, "time", (1, 604_800))],
)
def test_limits_have_bounds(part: type[ToolLimit | OutsideSeat], key: str, bounds: tuple[int, int]) -> None:
    for bound, beyond in zip(bounds, (0, bounds[1] + 1), strict=True):
        assert getattr(part(**{key: bound}), key) == bound
        with pytest.raises(ValidationError, match=key):
            part(**{key: beyond})


@pytest.mark.parametrize(
    ("given", "kind", "label"),
    [
        ({"strategy": "grim"}, "strategy", "grim"),
        (MODEL, "model", "scripted/x"),
        ({**MODEL, "called": "X"}, "model", "X"),
        ({"person": True}, "person", "person"),
        ({"mcp": "seat"}, "model", "mcp"),
        ({"recorded": "r"}, "recorded", "r"),
    ],
)
def test_an_agent_has_a_kind_and_a_name(given: dict[str, Any], kind: str, label: str) -> None:
    config = AgentConfig(**given)
    assert (config.kind, config.label) == (kind, label)
    assert config.client == given.get("model")


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ({"attributes": {"size": 7}}, True),
        ({"called": "X"}, True),
        ({"persona_in": "user", "conversation": "prompt", "earlier_reasoning": "kept"}, True),
        ({"conversation": "dialogue"}, False),
        ({"system": "You are."}, False),
        ({"prompts": "mine"}, False),
        ({"framing": {"language": "de"}}, False),
        ({"params": {"temperature": 0.7}}, False),
        ({"params": {"temperature": 0.7, "max_tokens": 2000.0}}, False),
        ({"tools": ["notes"]}, False),
    ],
)
def test_what_decides_makes_another_agent(more: dict[str, Any], same: bool) -> None:
    assert (AgentConfig(**MODEL, **more).identity == AgentConfig(**MODEL).identity) == same


IDENTITIES: dict[str, dict[str, Any]] = {
    "e7b66c128da8": {"called": "a", "attributes": {"size": 7}},
    "c7302277b4b0": {"conversation": "dialogue"},
    "0d173af787b6": {"system": "Be brief."},
    "ae30f48d0153": {"style": "direct"},
    "c2b8a2c47d93": {"memory": "none"},
    "5e350def8b65": {"framing": {"language": "de"}},
    "cfdd3096b43c": {"framing": {"wording": "plain"}},
    "a8da4f4f78a4": {"params": {"temperature": 0.5}},
}


@pytest.mark.parametrize("identity", IDENTITIES)
def test_identities_are_those_of_earlier_runs(identity: str) -> None:
    assert AgentConfig(**{"model": "scripted/x", **IDENTITIES[identity]}).identity == identity


def test_equal_numbers_play_alike_and_tools_are_written_where_there_are_some() -> None:
    one, two = (AgentConfig(**MODEL, params={"temperature": t}, called=c) for t, c in ((1, "a"), (1.0, "b")))
    assert one.conduct == two.conduct != AgentConfig(**MODEL, params={"temperature": 0.5}).conduct
    assert {"tools", "tool_limit", "mcp"} & set(AgentConfig(**MODEL).model_dump()) == set()
    assert {"tools", "tool_limit"} <= set(AgentConfig(**MODEL, tools=["notes"]).model_dump())
    served = AgentConfig(**MODEL, tools=["notes", {"mcp": {"command": ["serve"]}}])
    odd = {"mcp": {"command": ["serve"]}, "more": 1}
    assert AgentConfig(**MODEL, tools=[odd]).tools == [odd]  # left to whoever builds it, which names the key
    assert served.tools == ["notes", {"name": "mcp", "command": ["serve"]}]
    assert served.commands == [("agent.tools", ["serve"])]
    assert OutsideSeat(command=["serve"]).command == ["serve"] and OutsideSeat().command is None
    assert AgentConfig(mcp="seat").commands == []
