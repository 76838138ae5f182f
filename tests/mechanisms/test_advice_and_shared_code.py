"""Advisers recommend and clients act; copies of one program play what one of them decided."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.games import build_game
from ostrom.ground.errors import GameError, UnknownName
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.incentives import is_equilibrium
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.single import SharedCode, shared_game
from ostrom.mechanisms.two_steps import Advised

PD = build_game("prisoners_dilemma:coopeval")
FOUR = build_game("public_goods:4")


def played(
    rules: Mechanism, game: Any, answer: Callable[[Decision], Answer], seed: int = 0
) -> tuple[list[list[Decision]], Outcome]:
    steps: list[list[Decision]] = []
    going = rules.play(game, Streams(seed, 1))
    try:
        due = next(going)
        while True:
            steps.append(due)
            due = going.send([answer(d) for d in due])
    except StopIteration as stop:
        return steps, stop.value


def by_scripts(types: Sequence[str]) -> Callable[[Decision], Answer]:
    agents = [ScriptedAgent(strategies.build(spec)) for spec in types]
    return lambda decision: agents[decision.player].decide(decision, lambda: 0.5)


class TestAdvice:
    def test_a_client_hears_its_own_advice_and_nobody_elses(self) -> None:
        steps, outcome = played(
            Advised(rounds=2, advisers=2), PD, by_scripts(["advised", "advised", "cooperator", "defector"])
        )
        assert [[(d.kind, d.player) for d in due] for due in steps] == [
            [("advise", 2), ("advise", 3)], [("act", 0), ("act", 1)],
        ] * 2  # fmt: skip
        assert [d.view.facts["advice"] for d in steps[1]] == [0, 1]
        assert all("advice" not in d.view.facts for d in steps[2])
        assert [r.actions for r in outcome.rounds] == [(0, 1)] * 2
        assert outcome.scores == (0.0, 3.0)
        assert outcome.facts == {"advice": [[0, 1], [0, 1]]}

    def test_one_adviser_guides_all_and_is_asked_about_one_client_at_a_time(self) -> None:
        steps, outcome = played(Advised(), FOUR, by_scripts(["advised"] * 4 + ["cooperator"]))
        assert [[(d.kind, d.player, d.view.seat) for d in due] for due in steps[:4]] == [
            [("advise", 4, seat)] for seat in range(4)
        ]
        assert outcome.rounds[0].actions == (0, 0, 0, 0)

    def test_several_advisers_share_the_clients_in_turn(self) -> None:
        steps, _ = played(Advised(advisers=3), FOUR, by_scripts(["advised"] * 4 + ["cooperator"] * 3))
        assert [[(d.player, d.view.seat) for d in due] for due in steps[:2]] == [[(4, 0), (5, 1), (6, 2)], [(4, 3)]]
        asked = [Advised(rounds=2, advisers=3).decisions_of(FOUR, player, 7) for player in range(7)]
        assert asked == [2, 2, 2, 2, 4, 2, 2]
        assert sum(asked) == Advised(rounds=2, advisers=3).most_decisions(FOUR)

    def test_advice_binds_nobody(self) -> None:
        _, outcome = played(Advised(), PD, by_scripts(["defector", "advised", "cooperator"]))
        assert outcome.rounds[0].actions == (1, 0)
        assert outcome.rounds[0].facts["followed"] == [False, True]

    def test_advisers_see_the_past_of_their_clients_and_scores_are_discounted(self) -> None:
        types = ["advised", "defect_once", "tit_for_tat"]
        steps, outcome = played(Advised(rounds=3, discount=0.5), PD, by_scripts(types))
        assert [len(d.view.history) for due in steps for d in due if d.kind == "advise"] == [0, 0, 1, 1, 2, 2]
        # Tit for tat recommends to answer the defection of the first round.
        assert [r.actions for r in outcome.rounds] == [(0, 1), (1, 0), (0, 0)]
        assert outcome.scores[0] == 0.5 * 0 + 0.25 * 3 + 0.25 * 2

    def test_more_advisers_than_clients_are_refused(self) -> None:
        with pytest.raises(GameError, match="3 advisers, but game prisoners_dilemma has 2 seats"):
            Advised(advisers=3).check(PD)

    def test_a_client_trusts_in_part_and_without_advice_plays_otherwise(self) -> None:
        def odds(spec: Any, facts: dict[str, Any]) -> tuple[float, ...]:
            from ostrom.mechanisms.protocol import View

            return tuple(strategies.build(spec).odds(View(PD, 0, "advice", facts=facts), ()))

        half = {"name": "advised", "trust": 0.25, "otherwise": "cooperator"}
        assert odds(half, {"advice": 1}) == (0.75, 0.25)
        assert odds(half, {}) == (1.0, 0.0)
        assert odds("advised", {}) == (0.0, 1.0)
        assert strategies.build(half).stochastic and not strategies.build("advised").stochastic
        with pytest.raises(UnknownName, match="unknown strategy 'nobody'"):
            strategies.build({"name": "advised", "otherwise": "nobody"})


class TestSharedCode:
    def test_with_certainty_one_choice_is_played_by_all_and_each_is_drawn_alike(self) -> None:
        whose = []
        for seed in range(200):
            _, outcome = played(SharedCode(1.0), PD, by_scripts(["cooperator", "defector"]), seed)
            (only,) = outcome.rounds
            assert outcome.facts["chosen"] == [0, 1]
            assert only.actions == ((0, 0) if outcome.facts["code_of"] == 1 else (1, 1))
            assert outcome.scores == PD.payoff(only.actions)
            whose.append(outcome.facts["code_of"])
        assert 70 < whose.count(1) < 130

    def test_the_chance_is_how_often_code_is_shared(self) -> None:
        rules, shared = SharedCode(0.25), 0
        for seed in range(400):
            _, outcome = played(rules, PD, by_scripts(["cooperator", "defector"]), seed)
            shared += outcome.facts["code_of"] is not None
            assert outcome.rounds[0].expected == pytest.approx((0.375, 2.625))
        assert 65 < shared < 135

    def test_without_sharing_the_game_is_as_it_is(self) -> None:
        _, outcome = played(SharedCode(0.0), PD, by_scripts(["cooperator", "defector"]))
        assert (outcome.rounds[0].actions, outcome.facts["code_of"]) == ((0, 1), None)
        assert (shared_game(PD, 0.0).payoffs == PD.payoffs).all()

    def test_each_seat_keeps_its_own_side_of_what_all_play(self) -> None:
        sexes = build_game("battle_of_the_sexes")
        assert shared_game(sexes, 0.5).payoff((0, 0)) == (10.0, 7.0)
        assert shared_game(sexes, 0.5).payoff((0, 1)) == (4.25, 4.25)

    def test_cooperation_is_an_equilibrium_from_two_thirds_on(self) -> None:
        assert not is_equilibrium(shared_game(PD, 0.66), (0, 0))
        assert is_equilibrium(shared_game(PD, 0.67), (0, 0))
        assert not is_equilibrium(shared_game(PD, 0.67), (1, 1))
        induced = SharedCode(0.67).induced_game(PD)
        assert induced.cooperative == PD.cooperative and induced.payoff((0, 0)) == pytest.approx((2.0, 2.0))

    def test_seats_with_different_numbers_of_actions_are_refused(self) -> None:
        game = build_game({"actions": [["a", "b"], ["a", "b", "c"]], "payoffs": [[[1, 1]] * 3] * 2})
        with pytest.raises(GameError, match="all seats need the same number of actions, game game has 2, 3"):
            mechanisms.build("shared_code").check(game)
