"""What a dry run says, worked out a second time: from the prompts that a server really receives."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from ostrom.agents.config import AgentConfig
from ostrom.api import commands
from ostrom.costs.forecast import CORRECTION, CostSum, Forecast, PerCall, add_up, assumptions, forecast, verdicts
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN
from ostrom.costs.measured import Measured, measure, measured_of
from ostrom.costs.rehearsing import CHARACTERS
from ostrom.engine.folder import manifest_bytes
from ostrom.engine.plan import Budget, Seated
from ostrom.ground.files import content_hash
from ostrom.memory import memories
from ostrom.models.providers import scripted
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

LONGEST = 100
REPEATED = {"name": "repetition", "rounds": 10}
STUDIES: dict[str, dict[str, Any]] = {
    "one shot": {},
    "long matches": {"mechanism": {"name": "repetition", "rounds": 20}},
    "an amount each round": {"game": "public_goods_amounts", "mechanism": REPEATED, "types": {"model": {}}},
    "offers in turn": {"game": "ultimatum", "types": {"model": {}}},
    "dialogue": {"mechanism": REPEATED, "conversation": "dialogue"},
}


def study_of(model: str, changes: dict[str, Any]) -> StudyPlan:
    more = dict(changes)
    talk = {"conversation": more.pop("conversation")} if "conversation" in more else {}
    data: dict[str, Any] = {
        "name": "counted",
        "game": "prisoners_dilemma",
        "agent": {"style": "direct", "memory": "window:4", "params": {"max_tokens": LONGEST}, **talk},
        "types": {"model": {}, "other": "random"},
        "seating": "ordered",
        "seeds": 2,
    } | more
    data["types"] = {**data["types"], "model": {"model": model}}
    return StudyPlan(load_study(data))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_calls_tokens_and_prices_are_those_of_the_requests(name: str, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        plan = study_of(server.model, STUDIES[name])
        told = forecast(plan, {server.model: {"input": 100, "output": 200, "batch": 0.25}})
        assert play(plan.study, runs=tmp_path).complete
        bodies = [json.loads(request.body) for request in server.requests]
    calls = len(bodies)
    characters = sum(len(message["content"]) for body in bodies for message in body["messages"])
    assert told.calls == told.likely_calls == calls
    assert told.likely_tokens_in == pytest.approx(characters / 4, rel=0.1)
    assert told.tokens_in >= characters / 3.5
    assert told.tokens_out == calls * LONGEST
    by_hand = (told.tokens_in * 100 + calls * LONGEST * 200) / 1e6
    likely = (told.likely_tokens_in * 100 + told.likely_tokens_out * 200) / 1e6
    assert told.usd == pytest.approx(by_hand, rel=1e-3) and told.likely_usd == pytest.approx(likely, rel=1e-3)
    assert told.batch_usd == pytest.approx(by_hand / 4, rel=1e-3)
    assert told.likely_batch_usd == pytest.approx(likely / 4, rel=1e-3)


def test_many_short_prompts_do_not_cost_what_a_long_one_does() -> None:
    """Some services take more for prompts beyond 200,000 tokens: that is a matter of each call."""
    pytest.importorskip("genai_prices")
    from ostrom.models.base import Usage
    from ostrom.models.prices import price_of, price_of_calls

    model = "google/gemini-2.5-pro"
    one = price_of(model, Usage(3000, 100))
    assert one is not None and price_of_calls(model, 100, 3000, 100) == pytest.approx(100 * one)
    assert price_of_calls(model, 2, 3000.5, 0.5) == pytest.approx(_both(model), rel=1e-3)
    plan = study_of(model, {"mechanism": {"name": "repetition", "rounds": 100}, "seeds": 50})
    told = forecast(plan)
    tokens_out = told.tokens_out
    assert tokens_out is not None and told.tokens_in > 200_000
    per_token = [price_of(model, usage) for usage in (Usage(1000, 0), Usage(0, 1000))]
    assert per_token[0] is not None and per_token[1] is not None
    by_hand = (told.tokens_in * per_token[0] + tokens_out * per_token[1]) / 1000
    assert told.usd == pytest.approx(by_hand, rel=1e-3)


def _both(model: str) -> float:
    from ostrom.models.base import Usage
    from ostrom.models.prices import price_of

    prices = [price_of(model, Usage(into, out)) for into, out in ((3000, 0), (3001, 1))]
    return sum(price for price in prices if price is not None)


PER_TOKEN = {"lab/own": {"input": 1e6, "output": 2e6, "batch": 0.5}}


def test_scripts_and_players_with_a_tree_take_no_calls_and_notes_take_their_own() -> None:
    model: dict[str, Any] = {"model": "lab/own", "style": "direct"}
    configs = [
        model,
        {"strategy": "grim"},
        {**model, "tree": "auto", "params": {"temperature": 0}},
        {**model, "memory": "asked:2"},
    ]
    rules = SimpleNamespace(
        spreads=False, most_decisions=lambda _: 10, longest_history=lambda _: 4, decisions_of=lambda *_: 5
    )
    players = tuple(Seated("p", AgentConfig(**config)) for config in configs)
    unit: Any = SimpleNamespace(mechanism=rules, game=None, players=players)
    told = add_up(Forecast(), [unit], lambda *_: PerCall(100, 20, 50), PER_TOKEN, times=2)
    notes = memories.build("asked:2").most_notes(4)
    assert notes > 0 and (told.decisions, told.calls) == (20, 2 * (5 + 5 + notes))


def test_sums_of_ten_calls_by_hand() -> None:
    """100 tokens in, 20 or at most 50 out, asked again once at most; a token costs 1 in and 2 out."""
    cost = CostSum(Forecast(retries_per_decision=1), PER_TOKEN)
    cost.add("lab/own", 10, PerCall(100, 20, 50, 90))
    told = cost.finished()
    dense = CHARACTERS_PER_TOKEN / CHARACTERS
    retried = 20 * (100 + (50 + CORRECTION) / 2 + 2 * 50)
    assert (told.calls, told.tokens_in, told.tokens_out, told.likely_tokens_out) == (10, 1000, 500, 200)
    assert told.likely_tokens_in == round(900 * dense) and told.likely_calls == 10
    assert told.usd == 2 * (told.batch_usd or 0) == pytest.approx(2000)
    assert told.likely_usd == 2 * (told.likely_batch_usd or 0) == pytest.approx(900 * dense + 400)
    assert told.usd_with_retries == 2 * (told.batch_usd_with_retries or 0) == pytest.approx(retried)
    assert told.at_most == {
        "decisions": 0, "calls": 20, "tokens_in": 1000 + 1500 + 10 * CORRECTION, "tokens_out": 1000,
        "usd": pytest.approx(retried),
    }  # fmt: skip
    usd, calls, tokens = verdicts(told, Budget(usd=1, calls=1, tokens=1))
    assert (usd.likely, usd.most, calls.likely, calls.most) == (told.likely_usd, told.usd_with_retries, 10, 20)
    assert tokens.likely == told.likely_tokens_in + 200 and tokens.most == 3500 + 10 * CORRECTION
    (in_batches,) = verdicts(told, Budget(usd=1), batch=True)
    assert (in_batches.likely, in_batches.most) == (told.likely_batch_usd, told.batch_usd_with_retries)


def test_without_a_bound_or_a_price_nothing_is_promised() -> None:
    open_end = CostSum(Forecast(), PER_TOKEN)
    open_end.add("lab/own", 10, PerCall(100, 20, None))
    told = open_end.finished()
    assert (told.usd, told.usd_with_retries, told.batch_usd, told.tokens_out) == (None,) * 4
    assert told.likely_usd is not None and told.unbounded == ("lab/own",)
    unknown = CostSum(Forecast(), {})
    unknown.add("lab/other", 10, PerCall(100, 20, 50))
    told = unknown.finished()
    assert (told.usd, told.likely_usd, told.tokens_out, told.unpriced) == (None, None, 500, ("lab/other",))


def test_means_of_a_run_by_hand(tmp_path: Path) -> None:
    """One model answers at once, the other at the second try: calls asked for again are told apart from questions."""
    scripted.register("quick", "[A0]")
    scripted.register("slow", lambda request: "[A0]" if len(request.messages) > 1 else "well well well")
    study = {
        "name": "m", "game": "prisoners_dilemma", "agent": {"style": "direct"}, "seating": "self", "seeds": 2,
        "types": {"a": "scripted/quick", "b": "scripted/slow"}, "invalid": {"retries": 1, "policy": "fail"},
    }  # fmt: skip
    assert play(load_study(study), runs=tmp_path).complete
    with open_run("m", tmp_path) as run:
        means, unit = measured_of(run), run.plan.unit(0)
    for name in ("quick", "slow"):
        scripted.unregister(name)
    assert means is not None and (means.calls, means.again) == (12, 1.5)
    played = means.played(unit)
    assert played is not None and played.calls == pytest.approx(2)  # two questions a match, however often asked
    models = ("scripted/quick", "scripted/slow", "scripted/other")
    replies = [means.reply(AgentConfig(model=model, style="direct")) for model in models]
    assert replies == [1.0, 2.0, pytest.approx(20 / 12)]


@pytest.mark.parametrize(
    ("allowed", "likely", "most", "said"),
    [
        (10, None, None, "unknown"),
        (10, 4.0, 10.0, "suffices"),
        (10, 4.0, 10.5, "likely suffices"),
        (10, 10.0, None, "likely suffices"),
        (10, 10.5, 20.0, "does not suffice"),
    ],
)
def test_a_budget_suffices_up_to_its_own_amount(
    allowed: float, likely: float | None, most: float | None, said: str
) -> None:
    bound = Forecast(likely_usd=likely, usd_with_retries=most)
    [one] = verdicts(bound, Budget(usd=allowed))
    assert one.verdict == said
    needed = {
        "unknown": "the price is not known, so nobody can say whether it suffices",
        "suffices": "suffices (likely 4, at most 10)",
        "does not suffice": "does not suffice (likely 10.50, at most 20)",
    }
    assert said not in needed or str(one) == f"budget of 10 USD: {needed[said]}"


def test_calls_and_tokens_without_a_bound_are_said_so() -> None:
    open_end = Forecast(calls=3, likely_calls=2, tokens_out=None, likely_tokens_in=5, likely_tokens_out=6)
    calls, tokens = verdicts(open_end, Budget(calls=3, tokens=11))
    assert (calls.of, calls.verdict, calls.most) == ("calls", "suffices", 3)
    assert str(tokens) == "budget of 11 tokens: likely suffices (likely 11, no bound)"
    assert open_end.at_most["tokens_in"] is None and open_end.at_most["tokens_out"] is None


def test_means_in_words_and_what_likely_figures_take_for_granted() -> None:
    means = Measured("r", 12, {(None, "direct", ""): 9.6, ("m", "direct", ""): 3.0}, 1.5, characters=4.25)
    assert str(means) == "12 calls of r: direct 10 tokens, 4.2 characters a token, 1.500 calls an answer"
    assert means.reply(AgentConfig(model="m", style="direct")) == 3.0
    assert means.reply(AgentConfig(model="n", style="direct")) == 9.6
    assert means.reply(AgentConfig(model="m", style="social")) is None
    assert assumptions(means) == () and len(assumptions()) == 1
    lines = assumptions(means, ["centipede", "trust"], chance=True, tools=True)
    assert [line.split()[0] for line in lines] == ["matches", "a", "how"] and "centipede, trust" in lines[2]


def test_earlier_means_make_calls_more_and_prompts_denser() -> None:
    """Two calls a question, prompts 3 times those of first calls, 7 characters a token in place of 3.5."""
    cost = CostSum(Forecast(), PER_TOKEN, Measured("r", 4, {}, 2.0, 3.0, 7.0))
    cost.add("lab/own", 10, PerCall(100, 20, 50), times=2, likely_calls=4)
    told = cost.finished()
    assert (told.calls, told.tokens_in, told.tokens_out) == (20, 2000, 1000)
    assert (told.likely_calls, told.likely_tokens_out) == (16, 320)
    assert told.likely_tokens_in == 16 * 100 * 0.5 * 1.5 and told.measured is not None
    assert told.likely_usd == pytest.approx(1200 + 2 * 320)


def test_rounds_that_chance_may_leave_out_are_expected_in_part() -> None:
    """Two rounds at most, the second with a chance of a half: three decisions of four are likely in each match."""
    made = {
        "name": "s", "game": "prisoners_dilemma", "types": {"a": "grim", "b": "tit_for_tat"}, "seating": "ordered",
        "mechanism": {"name": "repetition", "rounds": 2, "stopping": "geometric", "continuation": 0.5}, "seeds": 3,
    }  # fmt: skip
    told = forecast(StudyPlan(load_study(made)))
    assert (told.matches, told.decisions, told.calls) == (12, 48, 0)
    assert told.likely_decisions == pytest.approx(36) and (told.usd or 0) == 0


def test_replies_that_a_second_call_ends_are_counted_by_style(tmp_path: Path) -> None:
    """A server that can be bound: reasons without an answer take two calls, a named answer takes one."""

    def reply(body: dict[str, Any]) -> str:
        if body["messages"][-1]["role"] == "assistant" or "write nothing else" in body["messages"][-1]["content"]:
            return "[A0]"
        return "Let me think about what the other player may do next."

    with LoopbackServer(reply) as server:
        agent = {"settings": {"dialect": "llamacpp"}, "params": {"max_tokens": LONGEST}}
        study: dict[str, Any] = {
            "name": "bound", "game": "prisoners_dilemma", "types": {"model": {"model": server.model}},
            "agent": agent, "seating": "self", "vary": {"agent.style": ["reasoned", "direct"]}, "seeds": 3,
        }  # fmt: skip
        plan = StudyPlan(load_study(study))
        told = forecast(plan)
        assert play(plan.study, runs=tmp_path).complete
        calls = server.count
    assert calls == told.calls == 3 * (2 * 2 + 2) and told.decisions == told.likely_calls == 12
    means = measure("bound", tmp_path)
    assert [means.repeated(server.model, style)[0] for style in ("reasoned", "direct")] == [2.0, 1.0]
    assert forecast(plan, None, means).likely_calls == calls
    direct = StudyPlan(load_study({**study, "agent": {**agent, "style": "direct"}, "vary": {}}))
    assert forecast(direct, None, means).likely_calls == 6


def test_a_shared_run_is_measured_like_the_run(tmp_path: Path) -> None:
    with LoopbackServer(latency=0.05) as server:
        plan = study_of(server.model, {"mechanism": REPEATED})
        assert play(plan.study, runs=tmp_path).complete
    commands.export("counted", format="shared", out=tmp_path / "tables", runs=tmp_path)
    run, tables = measure("counted", tmp_path), measure(tmp_path / "tables")
    assert (tables.calls, tables.matches, tables.replies) == (run.calls, run.matches, run.replies)
    assert (tables.again, tables.styles) == (run.again, run.styles)
    assert tables.seconds == pytest.approx(run.seconds, abs=0.0006), "shared times are to the millisecond"
    assert tables.rate == pytest.approx(run.rate, rel=0.05)
    assert run.rate and run.rate * run.seconds[None] >= 0.99, "calls overlap, and their pauses do not count"
    (known, shared) = (forecast(plan, None, of) for of in (run, tables))
    assert shared.likely_calls == known.likely_calls
    assert shared.likely_tokens_in == pytest.approx(known.likely_tokens_in, rel=0.1)


@pytest.mark.parametrize(
    ("column", "value"),
    [("at", None), ("at", math.nan), ("latency", math.nan), ("latency", math.inf), ("latency", -1.0)],
)
def test_times_that_cannot_be_are_no_measurement(tmp_path: Path, column: str, value: float | None) -> None:
    """Shared tables come from strangers."""
    with LoopbackServer() as server:
        plan = study_of(server.model, {"mechanism": REPEATED})
        assert play(plan.study, runs=tmp_path).complete
    commands.export("counted", format="shared", out=tmp_path / "tables", runs=tmp_path)
    file, manifest = tmp_path / "tables" / "calls.parquet", tmp_path / "tables" / "run.json"
    calls = pl.read_parquet(file)
    calls.with_columns(pl.lit(value, dtype=pl.Float64).alias(column)).write_parquet(file)
    told = json.loads(manifest.read_bytes())
    del told["checksum"]
    told["shared"]["tables"]["calls"]["digest"] = content_hash(file.read_bytes())
    manifest.write_bytes(manifest_bytes(told))
    known = measure(tmp_path / "tables")
    assert known.calls == len(calls) and known.rate is None and bool(known.seconds) == (column == "at")
    expected = forecast(plan, None, known)
    assert not re.search(r"nan|inf|-\d", str(expected.speed)), expected.speed
