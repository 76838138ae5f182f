"""What is likely is an expectation, what is possible at most a bound: both worked out by hand, then played."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from ostrom.costs.forecast import Forecast, _verdict, forecast
from ostrom.costs.measured import Measured, measure
from ostrom.mechanisms.controls import build_mechanism
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play
from ostrom.testing.replies import answer, openai_document
from ostrom.testing.server import LoopbackServer

GEOMETRIC = {"name": "repetition", "rounds": 30, "stopping": "geometric", "told_continuation": 0.8}
MODEL = "openai/gpt-4o"


def plan_of(model: str = MODEL, **changes: Any) -> StudyPlan:
    agent = {"style": "direct", "memory": "full", "params": {"max_tokens": 50}, **changes.pop("agent", {})}
    data = {
        "name": "expected", "game": "prisoners_dilemma", "types": {"model": {"model": model}}, "seating": "self",
        "seeds": 10, "invalid": {"retries": 2}, **changes, "agent": agent,
    }  # fmt: skip
    return StudyPlan(load_study(data))


class CountingServer(LoopbackServer):
    """A server whose tokens are four characters, and which counts what it was asked and what it wrote."""

    def __init__(self, more: str = "") -> None:
        super().__init__(self._counted, record=False)
        self.more, self.spent = more, [0, 0, 0]

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self.more + answer(body)
        document = openai_document(body, text)
        into, out = sum(len(message["content"]) for message in body["messages"]) // 4, len(text) // 4 + 1
        document["usage"] = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
        self.spent = [n + more for n, more in zip(self.spent, (1, into, out), strict=True)]
        return document


@pytest.mark.parametrize(("chance", "cap"), [(0.8, 30), (0.5, 4), (0.0, 5), (1.0, 6)])
def test_a_random_end_counts_every_round_by_its_chance(chance: float, cap: int) -> None:
    rules = {"name": "repetition", "rounds": cap, "stopping": "geometric", "continuation": chance}
    rounds = sum(chance**t for t in range(cap))
    told = forecast(plan_of(mechanism=rules, seeds=1000))
    assert told.likely_calls == told.likely_decisions == pytest.approx(2 * 1000 * rounds, rel=1e-3)
    assert told.calls == told.decisions == 2 * 1000 * cap
    assert told.at_most["calls"] == 3 * told.calls
    assert told.at_most["tokens_out"] == 3 * 50 * told.calls
    assert any("chance" in line for line in told.assumes) == (chance < 1)


def test_rules_say_when_they_last_and_how_likely_a_round_is() -> None:
    rules = build_mechanism({**GEOMETRIC, "talk": "before", "state": "after"}, key="mechanism")
    assert [rules.survival(n) for n in (1, 2, 3)] == pytest.approx([1.0, 0.8, 0.64])
    fixed = rules.with_rounds(7)
    assert fixed.survival(3) == 1.0 and fixed.rounds == 7 and rules.rounds == 30  # type: ignore[attr-defined]
    assert fixed.told == rules.told  # type: ignore[attr-defined]


def test_a_statement_after_the_match_is_asked_however_early_it_ends() -> None:
    told = forecast(plan_of(mechanism={**GEOMETRIC, "state": "after"}, seeds=1000))
    rounds = sum(0.8**t for t in range(30))
    assert told.likely_calls == pytest.approx(2000 * (rounds + 1), rel=1e-3)


def test_talk_after_a_round_needs_that_another_one_follows() -> None:
    told = forecast(plan_of(mechanism={**GEOMETRIC, "talk": {"when": "after"}}, seeds=1000))
    rounds = sum(0.8**t for t in range(30))
    assert told.likely_calls == pytest.approx(2000 * (2 * rounds - 1), rel=1e-3)
    assert told.calls == 2000 * (30 + 29)


def test_a_seat_without_a_decision_is_not_counted() -> None:
    games = {"dictator": 1, "ultimatum": 2, "trust_amounts": 2}
    for game, asked in games.items():
        told = forecast(plan_of(game=game, seeds=1))
        assert told.calls == told.likely_calls == told.decisions == asked, game


def test_one_prediction_for_each_of_several_others() -> None:
    told = forecast(plan_of(game="public_goods", agent={"style": "social"}, seeds=1))
    seats = told.decisions
    assert seats > 2 and told.calls == told.likely_calls == seats * seats


def test_notes_are_counted_in_the_rounds_in_which_they_are_due() -> None:
    memory = {"name": "summary", "keep": 2, "every": 3, "words": 20}
    told = forecast(plan_of(mechanism={"name": "repetition", "rounds": 12}, agent={"memory": memory}, seeds=1))
    # 11 rounds lie behind the last decision, 9 of them are old: a note after every 3.
    assert told.calls == told.likely_calls == 2 * (12 + 3)


def test_a_collapse_names_its_assumption_and_a_played_run_takes_its_place() -> None:
    rules = {"name": "repetition", "rounds": 10}
    told = forecast(plan_of(game="common_pool", mechanism=rules, seeds=1))
    assert told.likely_calls < told.calls == told.decisions
    assert any("common_pool depends on what the players do" in line for line in told.assumes)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "changes",
    [
        {"mechanism": GEOMETRIC, "seeds": 40},
        {"mechanism": {**GEOMETRIC, "talk": "before"}, "seeds": 30},
        {"mechanism": {"name": "repetition", "rounds": 9}, "seeds": 2, "agent": {"conversation": "dialogue"}},
        {"game": "common_pool", "mechanism": {"name": "repetition", "rounds": 6}, "seeds": 3},
        {"mechanism": {"name": "repetition", "rounds": 4, "predict": "players"}, "seeds": 2},
    ],
    ids=["random end", "talk", "dialogue", "common pool", "predictions"],
)
def test_a_server_counts_what_was_forecast(changes: dict[str, Any], tmp_path: Path) -> None:
    with CountingServer() as server:
        plan = plan_of(server.model, **changes)
        told = forecast(plan)
        assert play(plan.study, runs=tmp_path, name="run").complete
        spent = list(server.spent)
    again = forecast(plan, None, measure("run", tmp_path))
    bounds = [told.at_most[name] for name in ("calls", "tokens_in", "tokens_out")]
    assert all(bound is not None and n <= bound for n, bound in zip(spent, bounds, strict=True))
    assert told.likely_calls == pytest.approx(spent[0], rel=0.15)
    assert [again.likely_calls, again.likely_tokens_in, again.likely_tokens_out] == pytest.approx(spent, rel=0.15)


def test_replies_of_a_run_lengthen_the_chat_that_holds_them(tmp_path: Path) -> None:
    rules = {"name": "repetition", "rounds": 8}
    with CountingServer("I think of what the others would do next. " * 4 + "\n") as server:
        plan = plan_of(server.model, mechanism=rules, seeds=1, agent={"conversation": "dialogue", "style": "reasoned"})
        play(plan.study, runs=tmp_path, name="run")
        spent = list(server.spent)
    told = forecast(plan, None, measure("run", tmp_path))
    assert [told.likely_tokens_in, told.likely_tokens_out] == pytest.approx(spent[1:], rel=0.05)


def test_unreadable_replies_are_counted_by_question(tmp_path: Path) -> None:
    """Two of three tries fail and the last one too: three calls a question, whatever the policy does then."""
    with LoopbackServer(lambda _: "no idea") as server:
        plan = plan_of(server.model, seeds=3, invalid={"retries": 2, "policy": "uniform"})
        play(plan.study, runs=tmp_path, name="run")
        calls = server.count
    told = forecast(plan, None, measure("run", tmp_path))
    assert calls == 18 and told.likely_calls == told.at_most["calls"] == 18 and told.calls == 6


def test_both_are_labelled_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    from ostrom.cli.ending import forecast_text
    from ostrom.cli.output import show
    from ostrom.engine.plan import Budget

    prices = {MODEL: {"input": 1, "output": 2}}
    told = forecast(plan_of(mechanism=GEOMETRIC), prices)
    data = json.loads(json.dumps(told.as_dict(), default=str))
    assert data["likely"]["calls"] == data["likely_calls"] < data["calls"] < data["at_most"]["calls"]
    assert data["likely"]["usd"] < data["usd"] < data["at_most"]["usd"]
    assert data["likely"]["tokens_in"] < data["tokens_in"] < data["at_most"]["tokens_in"]
    show(*forecast_text("x", "10 matches", told, Budget(usd=told.usd)))
    shown = capsys.readouterr()
    lines = [line for line in shown.out.splitlines() if "│" in line]
    assert [next(name for name in ("without retries", "likely", "at most") if name in line) for line in lines] == [
        "likely", "without retries", "at most",
    ]  # fmt: skip
    assert "likely suffices" in shown.err and "likely: every reply can be read" in shown.err


def test_hours_stand_beside_money_and_batches_only_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    from ostrom.cli.ending import forecast_text
    from ostrom.cli.output import show
    from ostrom.engine.plan import Budget

    rules = {"name": "repetition", "rounds": 10}
    told = forecast(plan_of(mechanism=rules, seeds=160))
    assert told.likely_calls == 3200
    a_call = 1 + 8 / 50
    assert told.hours() == pytest.approx(3200 * a_call / 16 / 3600)
    one = forecast(plan_of(mechanism=rules, seeds=1), connections=100)
    assert one.hours() == pytest.approx(10 * a_call / 3600), "its ten rounds wait for each other"
    assert one.hours(1000) == pytest.approx(20_000 * a_call / 100 / 3600)
    run = Measured("pilot", 1, seconds={None: 3.0, MODEL: 2.0})
    measured = forecast(plan_of(mechanism=rules, seeds=160), None, run)
    assert measured.hours() == pytest.approx(3200 * 2 / 16 / 3600)
    for forecast_, words in ((told, "50 tokens a second (no run was measured)"), (measured, "as in pilot")):
        show(*forecast_text("x", "160 matches", forecast_, Budget()))
        shown = capsys.readouterr()
        assert "hours" in shown.out and f"{forecast_.hours():.2g}" in shown.out
        assert words in shown.err and "batch" not in shown.out + shown.err
    for rate, said in ((5.0, True), (100.0, False), (None, False)):
        paced = forecast(plan_of(mechanism=rules, seeds=160), None, replace(run, rate=rate))
        assert paced.hours() == measured.hours(), "the latency with 16 calls in flight"
        assert said == ("0.18 hours if no more than 5.0 calls end a second, as there" in paced.speed)
    show(*forecast_text("x", "160 matches", told, Budget(), batch=True))
    shown = capsys.readouterr()
    assert "with --batch: " in shown.err and "no run was measured" not in shown.err


def test_a_society_is_rehearsed_for_its_first_rounds_only() -> None:
    rules = {"name": "society", "network": "ring", "rounds": 50, "members": 30}
    told = forecast(plan_of(mechanism=rules, seeds=1))
    assert told.calls == told.likely_calls == 50 * 30


def test_measured_lengths_of_texts_are_those_that_were_written() -> None:
    usual = forecast(plan_of(mechanism={"name": "repetition", "rounds": 5, "talk": "before"}))
    short = forecast(plan_of(mechanism={"name": "repetition", "rounds": 5, "talk": "before"}), None,
                     Measured("run", 1, texts={"message": 8.0}, characters=4.0))  # fmt: skip
    assert isinstance(short, Forecast)
    # One act in two quotes two messages, each 92 characters shorter than the usual 100.
    acts, quoted = usual.likely_calls / 2, 2
    assert usual.likely_tokens_in - short.likely_tokens_in == pytest.approx(acts * quoted * 92 / 4, rel=0.05)


def test_later_generations_make_few_designs_anew() -> None:
    """Founders make a design each; of the newborn a fifth does, and the others take over their parent's."""
    told = forecast(
        plan_of(
            mechanism={
                "name": "evolution", "under": "mediation", "population": 40, "generations": 6, "genomes": ["Be fair."],
                "mutation": {"share": 0.0, "design": 0.2},
            },
            seeds=1,
        )
    )  # fmt: skip
    matches, designs = 6 * 40 * 2, 40 + 5 * 0.2 * 40
    assert told.likely_calls == pytest.approx(matches + designs, rel=0.05)
    assert told.calls == matches + 6 * 40


@pytest.mark.parametrize(
    ("likely", "most", "verdict"),
    [
        (3.0, 5.0, "suffices"),
        (3.0, 5.1, "likely suffices"),
        (5.0, None, "likely suffices"),
        (5.1, 9.0, "does not suffice"),
        (None, 5.0, "unknown"),
    ],
)
def test_a_budget_suffices_up_to_all_of_it(likely: float | None, most: float | None, verdict: str) -> None:
    assert _verdict(5.0, likely, most) == verdict
