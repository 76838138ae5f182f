"""Forecasts of whole studies against a server: what is likely is met, what is possible at most is never exceeded."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from tests.batch_server import BatchServer

from ostrom.answers.random_answers import _value, filler
from ostrom.costs.forecast import Forecast, forecast
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN
from ostrom.costs.measured import measure
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.replies import answer, openai_document, schema_of

TOOLS = ["agent.settings={abilities: [tools]}"]
slow = pytest.mark.slow
BUILT_IN = {
    "recognised": (), "pricing": (), "mechanisms": (), "memory": (), "memory-curation": (), "personas": (),
    "said-and-done": (), "sharing": (), "tools": (*TOOLS, "vary.game=null"),
}  # fmt: skip
"""Studies whose end does not depend on what the players do, with changes."""
TALK = {"name": "repetition", "rounds": 4}
OWN: dict[str, dict[str, Any]] = {
    "talk in turn": {"mechanism": {**TALK, "talk": {"turns": 3, "order": "in_turn", "shown": "all"}}},
    "channels": {
        "game": "public_goods",
        "mechanism": {**TALK, "talk": {"turns": 2, "channels": {"ring": [1, 2], "hall": "everybody"}}},
    },
    "talk in a chat": {
        "mechanism": {**TALK, "talk": {"turns": 2, "shown": "all"}}, "agent": {"conversation": "dialogue"},
    },
    "negotiation": {"mechanism": {"name": "negotiation", "turns": 6, "rounds": 2}},
    "negotiation of three": {
        "game": "public_goods", "mechanism": {"name": "negotiation", "turns": 6, "rounds": 3, "when": "before"},
    },
    "negotiation in a chat": {
        "mechanism": {"name": "negotiation", "turns": 4, "rounds": 2}, "agent": {"conversation": "dialogue"},
    },
    "disarmament": {"mechanism": "disarmament"},
    "dialogue": {
        "mechanism": {"name": "repetition", "rounds": 8},
        "agent": {"conversation": "dialogue"},
    },
    "a stock": {"game": {"name": "common_pool", "n": 2}, "mechanism": {"name": "repetition", "rounds": 3}},
    "tools": {
        "mechanism": TALK, "agent": {"tools": ["notes", "past"], "settings": {"abilities": ["tools"]}},
    },
}  # fmt: skip


def stated(body: dict[str, Any]) -> str:
    """A reply as long as the forecast states: 148 tokens where reasons are asked for, messages of 25."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    form, text = asked.rpartition("\n\n")[2], answer(body)
    if '"message"' in text:
        text = json.dumps({**json.loads(text), "message": filler(100)})
    if found := re.search(r"text alone, in at most ([0-9]+) words", form):
        return " ".join(["notes"] * int(found[1]))
    return f"{filler(4 * 140)}\n{text}" if "irst think" in form else text


class CharacterServer(BatchServer):
    """A server that counts characters as tokens do; it calls no tool, one before each answer, or as many as it may.

    With ``most`` replies are as long as they may be; with ``twice`` the first one to every question cannot be read.
    """

    def __init__(
        self,
        per_token: float = 4.0,
        tools: int = 1,
        *,
        most: bool = False,
        twice: bool = False,
        reply: Callable[[dict[str, Any]], str] = answer,
    ) -> None:
        super().__init__(self._counted, record=False)
        self.reply = reply
        self.per_token, self.tools, self.most, self.twice = per_token, tools, most, twice
        self.calls = self.tokens_in = self.tokens_out = 0

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self._longest(body) if self.most else self.reply(body)
        document = openai_document({**body, "tools": None}, text)
        used = sum(message["role"] == "tool" for message in body["messages"])
        if body.get("tools") and used < self.tools:
            offered = [tool["function"]["name"] for tool in body["tools"]]
            name = offered[used % len(offered)]
            given = {"write_note": {"text": "x" * 300}, "look_back": {"first": 1, "last": 90}}.get(name, {})
            function = {"name": name, "arguments": json.dumps(given)}
            call = {"id": f"call_{used}", "type": "function", "function": function}
            document["choices"][0] |= {
                "message": {"role": "assistant", "content": None, "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }
            text = json.dumps(function)
        into = math.ceil(_characters(body) / self.per_token)
        out = math.ceil(len(text) / self.per_token)
        self.calls, self.tokens_in, self.tokens_out = (
            self.calls + 1, self.tokens_in + into, self.tokens_out + out,
        )  # fmt: skip
        document["usage"] = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
        return document

    def _longest(self, body: dict[str, Any]) -> str:
        """As long a reply as the request allows."""
        asked = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
        form = asked.rpartition("\n\n")[2]
        room = int(body["max_tokens"] * self.per_token)
        text = answer(body)
        if self.twice and "could not be taken as an answer" not in asked:
            text = "nonsense"
        elif '"message"' in text:
            text = _long_message(text, form)
        elif found := re.search(r"text alone, in at most ([0-9]+) words", form):
            text = " ".join(["lengthy"] * int(found[1]))
        if "irst think" in form and len(text) < room - 1:
            text = f"{filler(room - len(text) - 1)}\n{text}"
        return text[:room]

    @property
    def spent(self) -> dict[str, float]:
        """What was taken, by what is counted, at 100 and 200 dollars for a million tokens."""
        usd = (self.tokens_in * 100 + self.tokens_out * 200) / 1e6
        return {"calls": self.calls, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "usd": usd}

    @property
    def prices(self) -> dict[str, Any]:
        """These prices, and half of them in batches."""
        return {self.model: {"input": 100, "output": 200, "batch": 0.5}}


def _characters(body: dict[str, Any]) -> int:
    tools = len(json.dumps(body["tools"], separators=(",", ":"))) if body.get("tools") else 0
    return tools + sum(
        len(message.get("content") or "")
        + sum(len(call["function"]["name"] + call["function"]["arguments"]) for call in message.get("tool_calls") or ())
        for message in body["messages"]
    )


def _long_message(text: str, form: str) -> str:
    """The answer with the longest message; an offer that binds everybody, which all others are then asked about."""
    found = re.search(r"at most ([0-9]+) characters", form)
    assert found is not None
    said = {**json.loads(text), "message": "m" * int(found[1])}
    if "accept" in said:
        said["accept"] = False
    if "payments" in said:
        named = re.search(r'is written as one of "([^"]+)"', form)
        assert named is not None
        players = list(said["actions"])
        paid = {"from": players[0], "to": players[-1], "amount": 1, "when": "each_round"}
        said |= {"actions": {player: [named[1]] for player in players}, "payments": [paid] * 4}
    return json.dumps(said)


def own_study(name: str, model: str, retries: int) -> StudyFile:
    stated = {"game": "prisoners_dilemma", **OWN[name]}
    agent = {"style": "reasoned", "memory": "full", "params": {"max_tokens": 400}, **stated.pop("agent", {})}
    return load_study(
        {
            "name": "own", **stated, "agent": agent, "types": {"m": {"model": model}}, "seating": "self", "seeds": 2,
            "invalid": {"retries": retries, "policy": "uniform"},
        }
    )  # fmt: skip


def built_in(name: str, model: str, retries: int) -> StudyFile:
    return load_study(
        name, preset="smoke", models=[model], changes=[*BUILT_IN.get(name, ()), f"invalid.retries={retries}"]
    )


def held(told: Forecast, server: CharacterServer) -> list[str]:
    """What was taken more of than the forecast allows."""
    bounds = {name: told.at_most[name] for name in server.spent}
    assert None not in bounds.values()
    return [name for name, spent in server.spent.items() if spent > (bounds[name] or 0)]


@pytest.mark.parametrize(
    "name", [name if name in ("recognised", "tools") else pytest.param(name, marks=slow) for name in BUILT_IN]
)
def test_what_is_likely_is_met_where_the_end_is_known(name: str, tmp_path: Path) -> None:
    with CharacterServer() as server:
        study = built_in(name, server.model, 1)
        plan = StudyPlan(study)
        told = forecast(plan, server.prices)
        assert play(study, runs=tmp_path, name="run").complete
        assert held(told, server) == []
        assert told.likely_calls == pytest.approx(server.calls, rel=0.15)
        assert told.likely_tokens_in == pytest.approx(server.tokens_in, rel=0.15)
        again = forecast(plan, server.prices, measure("run", tmp_path))
        spent = server.spent
    assert {key: again.likely[key] for key in spent} == pytest.approx(spent, rel=0.15)


@pytest.mark.parametrize(
    "name",
    [name if name in ("disarmament", "dialogue", "negotiation") else pytest.param(name, marks=slow) for name in OWN],
)
def test_replies_of_the_stated_length_are_what_is_likely(name: str, tmp_path: Path) -> None:
    """Where what is asked depends on the players, one who played before says how often they are asked."""
    with CharacterServer(reply=stated) as server:
        study = own_study(name, server.model, 1)
        plan = StudyPlan(study)
        told = forecast(plan, server.prices)
        assert play(study, runs=tmp_path, name="run").complete
        again = forecast(plan, server.prices, measure("run", tmp_path))
    assert held(told, server) == []
    spent = server.spent
    assert {key: again.likely[key] for key in spent} == pytest.approx(spent, rel=0.05)
    if not any("depends on what the players do" in line for line in told.assumes):
        assert told.likely_calls == pytest.approx(server.calls, rel=0.15)
    per_call = told.likely_tokens_in / told.likely_calls, told.likely_tokens_out / told.likely_calls
    if name != "negotiation of three":  # what three agree on fills many prompts, or none
        spent_a_call = server.tokens_in / server.calls, server.tokens_out / server.calls
        assert per_call == pytest.approx(spent_a_call, rel=0.4 if name == "negotiation" else 0.25)
    assert any("reasoned 148 tokens for a choice, a message 25" in line for line in told.assumes)


@slow
@pytest.mark.parametrize("name", ["disarmament", "a stock", "negotiation", "negotiation of three"])
def test_players_who_draw_evenly_among_what_is_allowed_end_when_the_forecast_expects(name: str, tmp_path: Path) -> None:
    """Without an earlier run the forecast supposes such players; the calls of 60 matches vary by few per cent."""
    rng = np.random.default_rng(0)

    def even(body: dict[str, Any]) -> str:
        schema = schema_of(body) or {}
        drawn = {"cap", "accept", "payments", "amount"} & schema.get("properties", {}).keys()
        return json.dumps(_value(schema, rng, 100, full=False)) if drawn else answer({**body, "seed": rng.random()})

    with CharacterServer(reply=even) as server:
        study = own_study(name, server.model, 1)
        agent = {**study.agent, "style": "direct", "settings": {"abilities": ["schema"]}}
        study = study.model_copy(update={"agent": agent, "seeds": 60})
        told = forecast(StudyPlan(study), server.prices)
        assert play(study, runs=tmp_path, name="run", options=PlayOptions(max_connections=1)).complete
    assert held(told, server) == []
    assert told.likely_calls == pytest.approx(server.calls, rel=0.15)
    played = server.tokens_in + server.tokens_out
    assert told.likely_tokens_in + told.likely_tokens_out == pytest.approx(played, rel=0.25)


def test_an_end_by_the_players_is_seen_though_every_rehearsal_is_the_longest() -> None:
    told = forecast(StudyPlan(own_study("disarmament", "openai/gpt-4o", 0)))
    assert any("depends on what the players do" in line for line in told.assumes)
    assert told.likely_calls < told.calls


QUICK = {("talk in turn", 0), ("negotiation", 1)}


@pytest.mark.parametrize(
    ("name", "retries"),
    [
        pytest.param(name, retries, marks=() if (name, retries) in QUICK else slow)
        for name in (*OWN, *(built for built in BUILT_IN if built not in OWN), "commons", "society")
        for retries in (0, 1)
    ],
)
def test_what_is_possible_at_most_is_never_exceeded(name: str, retries: int, tmp_path: Path) -> None:
    """Every reply is as long as it may be, questions are asked as often, and tools are called to the limit."""
    with CharacterServer(CHARACTERS_PER_TOKEN, 8, most=True, twice=bool(retries)) as server:
        study = (own_study if name in OWN else built_in)(name, server.model, retries)
        told = forecast(StudyPlan(study), server.prices)
        assert play(study, runs=tmp_path, name="run").complete
    assert held(told, server) == []


def test_what_is_likely_with_tools_follows_a_run_that_called_more_of_them(tmp_path: Path) -> None:
    with CharacterServer(tools=3) as server:
        study = own_study("tools", server.model, 1)
        plan = StudyPlan(study)
        told = forecast(plan)
        assert any("calls one of them before each answer" in line for line in told.assumes)
        assert told.likely_calls == 2 * told.likely_decisions
        assert play(study, runs=tmp_path, name="run").complete
        again = forecast(plan, None, measure("run", tmp_path))
        assert server.calls == 4 * told.decisions == again.likely_calls
    assert again.likely_decisions == told.likely_decisions and not again.assumes


def test_a_stock_that_may_be_used_up_is_no_fixed_end() -> None:
    """Whether the first rehearsal comes to the last round or not, other matches may end before it."""
    for seed in range(8):  # in some of them it does
        study = {
            "name": "stock", "game": {"name": "common_pool", "n": 2, "capacity": 100, "regrowth": 2, "collapse": 5},
            "mechanism": {"name": "repetition", "rounds": 2}, "types": {"m": {"model": "openai/gpt-4o"}},
            "seating": "self", "seeds": 1, "seed": seed, "agent": {"params": {"max_tokens": 50}},
        }  # fmt: skip
        told = forecast(StudyPlan(load_study(study)))
        assert told.calls == 4 and 2 <= told.likely_calls < 4
        assert any("depends on what the players do" in line for line in told.assumes)


@slow
@pytest.mark.parametrize("name", ["talk in turn", "tools"])
def test_batches_cost_no_more_than_was_forecast(name: str, tmp_path: Path) -> None:
    with CharacterServer(tools=2) as server:
        study = own_study(name, server.model, 0)
        told = forecast(StudyPlan(study), server.prices)
        options = PlayOptions(batch=True, polling=PollingPolicy(first=0.01, longest=0.02))
        assert play(study, runs=tmp_path, name="run", options=options).complete
        assert held(told, server) == []
        assert told.batch_usd_with_retries is not None and told.waves is not None
        assert server.spent["usd"] / 2 <= told.batch_usd_with_retries
    with open_run("run", tmp_path) as run:
        assert 0 < len(read_batches(run.journal)) <= told.waves.count
