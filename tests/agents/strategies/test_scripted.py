"""The scripted agent turns what a strategy says into answers of the form that was asked for."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.agents.past import Past
from ostrom.agents.scripted import ScriptedAgent, whole_percentages
from ostrom.agents.strategies import strategies
from ostrom.agents.strategies._dilemma import Grim
from ostrom.agents.strategy import Strategy
from ostrom.answers import Answer, Choice, Form, Mixture, Record, Text
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.missing import void_round
from ostrom.mechanisms.populations import Reputation
from ostrom.mechanisms.protocol import Decision, History, Outcome, Round, View
from ostrom.memory import memories
from ostrom.models.base import Model, Reply, Request
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA, view_of

CD = ("cooperate", "defect")
SCHEMA = {"type": "object", "properties": {"m1": {"type": "boolean"}}, "required": ["m1"]}


class DecisionContext:
    """A context that only draws: scripts make no calls."""

    def __init__(self, streams: Streams, step: int, player: int) -> None:
        self.streams, self.unit, self.step, self.player = streams, 0, step, player

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        return self.streams.generator(self.step if step is None else step, self.player, purpose)

    def chance(self, purpose: str = "") -> float:
        return self.streams.chance(self.step, self.player, purpose)

    async def call(self, model: Model, request: Request, part: str = "") -> Reply:
        raise AssertionError("a script makes no calls")

    async def answer_once(self, part: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        raise AssertionError("a script has no questions within a decision")

    def earlier_answers(self, part: str) -> list[Answer]:
        return []

    def earlier_parts(self, beginning: str) -> list[Answer]:
        raise AssertionError(f"a script asks for nothing within a decision: {beginning}")

    def earlier_turns(self) -> list[Answer]:
        return []

    def at_end(self, work: Callable[[], Awaitable[object]]) -> None:
        raise AssertionError("a script starts nothing")

    def count_invalid(self, reason: str) -> None:
        raise AssertionError(f"a script gives valid answers: {reason}")


def never() -> float:
    raise AssertionError("nothing is left to chance here")


def ask(spec: str, form: Form, view: View, kind: str = "act") -> Answer:
    return ScriptedAgent(strategies.build(spec)).decide(Decision(view.seat, kind, view, form), never)


def play(agents: list[ScriptedAgent], mechanism: Repetition, game: Game, streams: Streams) -> Outcome:
    match, step = mechanism.play(game, streams), 1
    due = next(match)
    while True:
        answers = [agents[d.player].reply(d, DecisionContext(streams, step, d.player)) for d in due]
        try:
            due, step = match.send(answers), step + 1
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def test_a_certain_move_draws_nothing_and_states_its_odds() -> None:
    answer = ask("tit_for_tat", Choice(CD), view_of(PRISONERS_DILEMMA, [(0, 1)]))
    assert answer == Answer("defect", "scripted", {"cooperate": 0.0, "defect": 1.0})


def test_a_move_of_chance_is_drawn_by_its_odds() -> None:
    agent = ScriptedAgent(strategies.build("random:0.3"))
    decision = Decision(0, "act", view_of(PRISONERS_DILEMMA, []), Choice(CD))
    rng = np.random.default_rng(1)
    answers = [agent.decide(decision, rng.random) for _ in range(4000)]
    assert answers[0].probabilities == {"cooperate": 0.3, "defect": 0.7}
    assert np.mean([a.value == "cooperate" for a in answers]) == pytest.approx(0.3, abs=0.03)


def test_options_beyond_the_games_actions_have_no_chance() -> None:
    answer = ask("cooperator", Choice((*CD, "delegate")), view_of(PRISONERS_DILEMMA, []))
    assert answer.probabilities == {"cooperate": 1.0, "defect": 0.0, "delegate": 0.0}


def test_an_action_that_is_no_option_is_refused() -> None:
    with pytest.raises(StudyError, match=r"tit_for_tat wants to play 'cooperate'.*allowed: A0, A1"):
        ask("tit_for_tat", Choice(("A0", "A1")), view_of(PRISONERS_DILEMMA, []))


def test_the_order_of_the_options_does_not_change_the_move() -> None:
    answer = ask("defector", Choice(CD[::-1]), view_of(PRISONERS_DILEMMA, []))
    assert answer.value == "defect"


def test_a_mixture_is_answered_in_whole_percentages() -> None:
    answer = ask("zd_extortion:3", Mixture(CD), view_of(PRISONERS_DILEMMA, [(1, 0)]))
    assert answer.value == {"cooperate": 27, "defect": 73}
    assert answer.probabilities == {"cooperate": 0.27, "defect": 0.73}
    assert answer.note is None


def test_a_cap_on_an_option_is_kept_and_noted() -> None:
    answer = ask("defector", Mixture(CD, {"defect": 40}), view_of(PRISONERS_DILEMMA, []))
    assert answer.value == {"cooperate": 60, "defect": 40}
    assert answer.note == "capped: defect 100 to 40"


def test_an_action_cannot_be_a_record() -> None:
    with pytest.raises(StudyError, match="grim cannot act by filling in a Record"):
        ask("grim", Record("contract", SCHEMA), view_of(PRISONERS_DILEMMA, []))


def test_what_a_strategy_cannot_answer_it_says() -> None:
    with pytest.raises(StudyError, match="strategy grim cannot answer a 'arbitrate' decision"):
        ask("grim", Record("mediator", SCHEMA), view_of(PRISONERS_DILEMMA, []), "arbitrate")


def test_a_method_named_after_the_kind_answers_it() -> None:
    class Voter(Grim):
        """Approve of everything."""

        def vote(self, view: View, form: Form) -> dict[str, bool]:
            return {"m1": True}

        def sign(self, view: View, form: Form) -> str:
            return "perhaps"

    view = view_of(PRISONERS_DILEMMA, [])
    agent = ScriptedAgent(Voter())
    assert agent.decide(Decision(0, "vote", view, Record("vote", SCHEMA)), never).value == {"m1": True}
    with pytest.raises(StudyError, match=r"no valid answer to a 'sign' decision.*'perhaps'.*allowed: yes, no"):
        agent.decide(Decision(0, "sign", view, Choice(("yes", "no"))), never)


def test_parts_of_a_strategy_are_not_answers_to_decisions() -> None:
    with pytest.raises(StudyError, match="cannot answer a 'forget' decision"):
        ask("grim", Text(), view_of(PRISONERS_DILEMMA, []), "forget")


def test_scripts_have_nothing_to_say() -> None:
    assert ask("grim", Text(), view_of(PRISONERS_DILEMMA, []), "message").value == ""


def test_scripts_expect_the_last_action_again() -> None:
    form = Choice(("J", "F"))
    assert ask("favourite", form, view_of(NO_COOPERATION, []), "predict").value == "F"
    assert ask("favourite", form, view_of(NO_COOPERATION, [(0, 0)]), "predict").value == "J"
    assert ask("grim", Choice(CD), view_of(PRISONERS_DILEMMA, [], 1), "predict").value == "cooperate"


def test_other_conduct_can_be_given() -> None:
    def sign(strategy: Strategy, view: View, form: Form) -> str:
        return "yes"

    agent = ScriptedAgent(strategies.build("grim"), conduct={"sign": sign})
    decision = Decision(0, "sign", view_of(PRISONERS_DILEMMA, []), Choice(("yes", "no")))
    assert agent.decide(decision, never).value == "yes"


def test_with_a_memory_the_match_begins_with_the_first_round_remembered() -> None:
    streams = Streams(1, 1)
    grim = ScriptedAgent(strategies.build("grim"), memories.build("window:2"))
    once = ScriptedAgent(strategies.build("defect_once"))
    outcome = play([grim, once], Repetition(rounds=6), PRISONERS_DILEMMA, streams)
    assert [r.actions for r in outcome.rounds] == [(0, 1), (1, 0), (1, 0), (0, 0), (0, 0), (0, 0)]


class HalfTheTime(Strategy):
    """Overrides the odds, and states those of its move in every second round."""

    name, title, citation = "half_the_time", "Half the Time", "none"
    memory_depth = 1

    def move(self, past: Past) -> float:
        return 1.0

    def mix(self, past: Past) -> Sequence[float]:
        return super().mix(past) if len(past) % 2 else (0.0, 1.0)


def test_odds_that_a_strategy_overrides_hold_in_every_round() -> None:
    agents = [ScriptedAgent(HalfTheTime()), ScriptedAgent(strategies.build("cooperator"))]
    outcome = play(agents, Repetition(6), PRISONERS_DILEMMA, Streams(0, 0))
    assert [r.actions[0] for r in outcome.rounds] == [1, 0, 1, 0, 1, 0]


def test_a_chance_outside_0_to_1_is_refused_in_a_later_round_too() -> None:
    class Late(HalfTheTime):
        """Goes wrong in the third round."""

        mix = Strategy.mix

        def move(self, past: Past) -> float:
            return 1.0 if len(past) < 2 else 1.5

    agents = [ScriptedAgent(Late()), ScriptedAgent(strategies.build("cooperator"))]
    with pytest.raises(StudyError, match="outside 0 to 1"):
        play(agents, Repetition(6), PRISONERS_DILEMMA, Streams(0, 0))


def test_a_script_that_has_acted_before_sees_each_new_past_through_its_memory() -> None:
    context, form = DecisionContext(Streams(0, 0), 1, 0), Choice(CD)
    agent = ScriptedAgent(strategies.build("tit_for_tat"))
    first = agent.reply(Decision(0, "act", view_of(PRISONERS_DILEMMA, [(0, 0)]), form), context)
    with_memory = ScriptedAgent(strategies.build("tit_for_tat"), memories.build("window:0"))
    again = [
        who.reply(Decision(0, "act", view_of(PRISONERS_DILEMMA, [(0, 1)]), form), context)
        for who in (agent, with_memory, with_memory)
    ]
    said = agent.reply(Decision(0, "announce", view_of(PRISONERS_DILEMMA, [(0, 1)]), form), context)
    assert [a.value for a in (first, *again, said)] == ["cooperate", "defect", "cooperate", "cooperate", "defect"]


def test_in_a_society_a_script_that_has_acted_before_answers_to_the_records_of_those_it_meets() -> None:
    rules, streams = Reputation("first", rounds=6, window=3).for_players(6), Streams(0, 0)
    agents = [ScriptedAgent(strategies.build(name)) for name in ("tit_for_tat", "alternator") * 3]
    match, step, values = rules.play(PRISONERS_DILEMMA, streams), 1, set[str]()
    due = next(match)
    while due:
        answers = [agents[d.player].reply(d, DecisionContext(streams, step, d.player)) for d in due]
        for decision, answer in zip(due, answers, strict=True):
            fresh = ScriptedAgent(strategies.build(agents[decision.player].strategy.name))
            assert answer == fresh.decide(decision, never)
            values |= {answer.value} if decision.player % 2 == 0 else set()
        try:
            due, step = match.send(answers), step + 1
        except StopIteration:
            break
    assert values == set(CD), "tit for tat met both kinds of records"


@pytest.mark.parametrize("spec", ["grim", "contrite_tit_for_tat", "generous_tit_for_tat", "win_stay_lose_shift"])
def test_an_agent_that_joins_late_plays_on_as_if_it_had_always_been_there(spec: str) -> None:
    streams, noisy = Streams(3, 5), Repetition(rounds=40, noise=0.2)

    def agents() -> list[ScriptedAgent]:
        return [ScriptedAgent(strategies.build(spec)) for _ in range(2)]

    whole = play(agents(), noisy, PRISONERS_DILEMMA, streams)
    match = noisy.play(PRISONERS_DILEMMA, streams)
    due, old, new = next(match), agents(), agents()
    with pytest.raises(StopIteration) as end:
        for step in range(1, 100):
            seated = old if step < 20 else new
            due = match.send([seated[d.player].reply(d, DecisionContext(streams, step, d.player)) for d in due])
    assert end.value.value.rounds == whole.rounds


def test_waiting_for_a_script_gives_the_same_answer() -> None:
    agent = ScriptedAgent(strategies.build("random:0.5"))
    decision = Decision(0, "act", view_of(PRISONERS_DILEMMA, []), Choice(CD))
    context = DecisionContext(Streams(1, 2), 1, 0)
    assert asyncio.run(agent.answer(decision, context)) == agent.reply(decision, context)


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.01), st.data())
def test_percentages_are_whole_sum_to_a_hundred_and_keep_the_caps(weights: list[float], data: Any) -> None:
    odds = {f"a{i}": w / sum(weights) for i, w in enumerate(weights)}
    caps = {o: data.draw(st.integers(0, 100)) for o in odds}
    if sum(caps.values()) < 100:
        with pytest.raises(StudyError, match="leave no room"):
            whole_percentages(odds, caps)
        return
    capped, free = whole_percentages(odds, caps), whole_percentages(odds)
    for shares in (capped, free):
        assert sum(shares.values()) == 100 and min(shares.values()) >= 0
    assert all(capped[o] <= caps[o] for o in odds)
    assert all(abs(free[o] - 100 * odds[o]) < 1 for o in odds)


def test_a_view_of_a_match_that_has_gone_on_is_answered_by_its_own_past() -> None:
    rounds = [Round(n, moves, PRISONERS_DILEMMA.payoff(moves)) for n, moves in enumerate([(0, 1), (0, 0)], 1)]
    before, now = (View(PRISONERS_DILEMMA, 0, "repetition", n + 1, History(rounds, n)) for n in range(1, 3))
    agent = strategies.build("tit_for_tat")
    assert [agent.odds(view) for view in (now, before, now, before)] == [(1, 0), (0, 1), (1, 0), (0, 1)]
    void = History([*rounds, void_round(PRISONERS_DILEMMA, 3, (0,))], 3, gaps=True)
    assert agent.odds(View(PRISONERS_DILEMMA, 0, "repetition", 4, void)) == (1, 0)
