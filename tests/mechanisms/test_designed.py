"""Mediation and contracting: votes, winners, signatures, delegation, payoffs; and what theory says."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ostrom.agents.strategies.best_response import BestResponse
from ostrom.answers import Answer, Choice, Invalid, read
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame, table_of
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.designs import Contracting, Designed, Mediation, mediated_game
from ostrom.mechanisms.protocol import Decision, History, Outcome, View
from ostrom.replications.coopeval.incentives import Quality, quality
from ostrom.testing.check_mechanism import drive, played_by

PD = build_game("prisoners_dilemma:coopeval")
GOODS = build_game("public_goods")
DILEMMAS = ["prisoners_dilemma:coopeval", "public_goods", "travelers_dilemma", "trust"]


def played(
    rules: Designed, said: Mapping[str, Sequence[Any]], game: Game = PD, streams: Streams | None = None
) -> Outcome:
    """A match in which every kind of question is answered as listed by seat."""

    def reply(decision: Decision, step: int) -> Answer:
        value = said[decision.kind][decision.player]
        if decision.kind == "vote":
            value = {p["label"]: p["label"] in value for p in decision.view.facts["proposals"]}
        if isinstance(value, dict) and decision.kind == "act":
            return Answer(max(value, key=lambda k: value[k]), "exact", value)
        return Answer(value, "exact")

    return drive(rules, game, streams or Streams(0, 0), reply).outcome


def tournament(mechanism: str, types: Sequence[str], game: Game) -> Outcome:
    """Designs, then one match, by scripted players."""
    rules = mechanisms.build(mechanism)
    facts = []
    for seat, spec in enumerate(types):
        preparation = rules.preparation(game, seat)
        assert preparation is not None
        facts.append(match(preparation, [spec], game).facts)
    return match(rules.with_preparations(facts), types, game)


def match(rules: Mechanism, types: Sequence[str], game: Game) -> Outcome:
    """One match by scripted players."""
    streams = Streams(0, 9)
    return drive(rules, game, streams, played_by(types, streams)).outcome


def votes(*approvals: Sequence[str]) -> list[Sequence[str]]:
    """The labels that each seat approves."""
    return list(approvals)


# -- the vote --------------------------------------------------------------------------------------------


def test_the_most_approved_design_wins() -> None:
    rules = Mediation([[1, 0], [1, 1]])
    said: dict[str, Any] = {"vote": votes(["M2"], ["M1", "M2"]), "act": ["cooperate", "defect"]}
    facts = played(rules, said).facts
    assert (facts["approvals"], facts["winner"], facts["design"]) == ([1, 2], "M2", [1, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "ballots", [votes([], [], []), votes(["M1", "M2", "M3"], [], []), votes(["M1"], ["M2"], ["M3"])]
)
def test_ties_are_drawn_evenly_by_key(ballots: list[Sequence[str]]) -> None:
    rules = Mediation([[1, 1, 0], [0, 0, 0], [1, 1, 1]])
    said: dict[str, Any] = {"vote": ballots, "act": ["contribute"] * 3}
    winners = [played(rules, said, GOODS, Streams(0, n)).facts["winner"] for n in range(300)]
    assert winners == [played(rules, said, GOODS, Streams(0, n)).facts["winner"] for n in range(300)]
    assert all(70 < count < 130 for count in Counter(winners).values()) and len(set(winners)) == 3


def test_without_designs_there_is_no_match() -> None:
    with pytest.raises(GameError, match="needs a design per seat"):
        next(Mediation().play(PD, Streams(0, 0)))


# -- mediation -------------------------------------------------------------------------------------------


def test_delegators_play_what_the_mediator_says_for_their_number() -> None:
    rules = Mediation([[1, 0, 0]] * 3)
    approve = votes(["M1"], ["M1"], ["M1"])

    def actions(*acts: str) -> tuple[int, ...]:
        return played(rules, {"vote": approve, "act": acts}, GOODS).rounds[0].actions

    assert actions("delegate", "contribute", "free_ride") == (1, 0, 1)
    assert actions("delegate", "delegate", "free_ride") == (0, 0, 1)
    assert actions("delegate", "delegate", "delegate") == (0, 0, 0)
    assert actions("contribute", "free_ride", "free_ride") == (0, 1, 1)


def test_the_expectation_is_exact_given_the_mediator() -> None:
    odds = {"cooperate": 0.2, "defect": 0.3, "delegate": 0.5}
    outcome = played(Mediation([[1, 0], [1, 0]]), {"vote": votes(["M1"], ["M1"]), "act": [odds, {**odds}]})
    both, c, d, x = 0.25, 0.2, 0.3, 0.5
    own = c * (c * 2 + d * 0 + x * 0) + d * (c * 3 + d * 1 + x * 1) + x * (c * 3 + d * 1) + both * 2
    assert outcome.rounds[0].expected == pytest.approx((own, own))
    assert outcome.scores == (2.0, 2.0)


def test_a_mediator_is_designed_in_the_own_action_names() -> None:
    trust = build_game("trust")
    preparation = Mediation().preparation(trust, 1)
    assert preparation is not None
    play = preparation.play(trust, Streams(0, 0))
    (decision,) = next(play)
    assert decision.form.options == ("share", "keep")  # type: ignore[union-attr]
    with pytest.raises(StopIteration) as stop:
        play.send([Answer({"delegators_1": "keep", "delegators_2": "share"})])
    assert stop.value.value.facts == {"design": [1, 0]}


@pytest.mark.parametrize("spec", DILEMMAS)
def test_a_mediator_that_defects_unless_all_delegate_makes_delegating_an_equilibrium(spec: str) -> None:
    game = build_game(spec)
    good, bad = game.cooperative[0], game.defective[0]
    assert good is not None and bad is not None
    mediator = [bad] * (game.seats - 1) + [good]
    together = tuple(len(names) for names in game.actions)
    paid = mediated_game(game, mediator).payoff(together)
    for seat in range(game.seats):
        for action in range(len(game.actions[seat])):
            alone = (*together[:seat], action, *together[seat + 1 :])
            assert mediated_game(game, mediator).payoff(alone)[seat] <= paid[seat]
    assert quality(Mediation(), game, mediator).equilibrium


def test_only_some_mediators_make_delegating_dominant() -> None:
    rules = Mediation()
    assert quality(rules, PD, [1, 0]) == Quality(equilibrium=True, dominant=True)
    assert quality(rules, PD, [1, 1]) == Quality(equilibrium=False, dominant=False)
    assert quality(rules, PD, [0, 0]) == Quality(equilibrium=False, dominant=False)
    assert quality(rules, PD, [0, 1]) == Quality(equilibrium=False, dominant=False)
    assert quality(rules, build_game("trust"), [1, 0]) == Quality(equilibrium=True, dominant=False)
    assert quality(rules, build_game("stag_hunt"), [1, 1]).equilibrium  # both hunting is one anyway
    assert quality(rules, build_game("matching_pennies"), [1, 0]) == Quality(False, False)


def test_a_defector_approves_nothing_and_delegates_never() -> None:
    outcome = tournament("mediation", ["tit_for_tat", "defector"], PD)
    assert outcome.facts["votes"] == [["M1"], []]
    assert outcome.facts["delegated"] == [True, False]
    assert outcome.rounds[0].actions == (1, 1)  # the mediator plays defect for a lone delegator


def test_calculating_players_design_and_use_a_mediator_that_pays_them() -> None:
    outcome = tournament("mediation", ["best_response", "best_response"], PD)
    assert outcome.rounds[0].actions == (0, 0)


# -- contracting -----------------------------------------------------------------------------------------


def signed(*signs: bool) -> list[dict[str, bool]]:
    return [{"sign": sign} for sign in signs]


def test_a_contract_is_in_force_only_if_all_sign() -> None:
    rules = Contracting(designs=[[0, -2], [0, 0]])
    said: dict[str, Any] = {"vote": votes(["K1"], ["K1"]), "act": ["cooperate", "defect"]}
    bound = played(rules, {**said, "sign": signed(True, True)})
    assert bound.scores == (2.0, 1.0)
    assert bound.facts["transfers"] == [2.0, -2.0]
    free = played(rules, {**said, "sign": signed(True, False)})
    assert free.scores == (0.0, 3.0)
    assert (free.facts["in_force"], free.facts["refusers"], free.facts["transfers"]) == (False, [1], [0.0, 0.0])


def test_refusers_are_named_before_play() -> None:
    rules = Contracting(designs=[[0, -2]] * 3)
    play = rules.play(GOODS, Streams(0, 0))
    next(play)
    play.send([Answer({"K1": True, "K2": False, "K3": False})] * 3)
    acts = play.send([Answer({"sign": sign}) for sign in (True, False, False)])
    assert all(d.view.facts["refusers"] == [1, 2] and not d.view.facts["in_force"] for d in acts)


def test_the_expectation_counts_transfers() -> None:
    rules = Contracting(designs=[[0, -2], [0, -2]])
    sure, half = {"cooperate": 1.0, "defect": 0.0}, {"cooperate": 0.5, "defect": 0.5}
    said: dict[str, Any] = {"vote": votes([], []), "act": [sure, half]}
    assert played(rules, {**said, "sign": signed(True, True)}).rounds[0].expected == pytest.approx((2.0, 1.5))
    assert played(rules, {**said, "sign": signed(True, False)}).rounds[0].expected == pytest.approx((1.0, 2.5))


@pytest.mark.parametrize("amount", [31, -31, 1.5, "3", None, True])
def test_an_amount_out_of_bounds_is_no_answer(amount: Any) -> None:
    form = Contracting().form(PD, 0)
    said = json.dumps({"cooperate": 0, "defect": amount})
    assert isinstance(read(form, said), Invalid)
    assert isinstance(read(Contracting(bound=50).form(PD, 0), '{"cooperate": 0, "defect": 31}'), Answer)


@pytest.mark.parametrize("amount", [31, -31])
def test_a_contract_of_the_study_keeps_to_the_bound_too(amount: int) -> None:
    Contracting(designs=[[0, 30], [-30, 0]]).check(PD)
    with pytest.raises(GameError, match="an amount lies between -30 and 30"):
        Contracting(designs=[[0, 0], [0, amount]]).check(PD)


def test_without_such_a_contract_calculating_players_do_not_cooperate() -> None:
    rules = Contracting(designs=[[0, 0], [0, 0]])
    outcome = match(rules, ["best_response"] * 2, PD)
    assert outcome.rounds[0].actions == (1, 1)
    assert quality(Contracting(), PD, [0, 0]) == Quality(equilibrium=False, dominant=False)


def test_a_defector_refuses_to_sign() -> None:
    outcome = tournament("contracting", ["tit_for_tat", "defector"], PD)
    assert outcome.facts["refusers"] == [1]
    assert outcome.scores == (0.0, 3.0)


def test_a_gain_within_the_tolerance_is_none() -> None:
    less = np.array([[[0, 0], [0, -1 + 1e-10]], [[-1 + 1e-10, 0], [0, 0]]])
    near = TensorGame("near", table_of(PD).actions, PD.payoffs + less, (0, 0))
    assert quality(Contracting(), near, [0, 0]).equilibrium
    assert not quality(Contracting(), near, [0, 0], tolerance=1e-12).equilibrium


@pytest.mark.parametrize(
    ("belief", "first", "delegates"),
    [([[1.0, 0.0]], None, False), ([[0.0, 1.0]], None, False), (None, None, True), (None, "cooperate", False)],
)
def test_a_best_responder_delegates_where_that_pays_more_than_acting(
    belief: list[list[float]] | None, first: str | None, delegates: bool
) -> None:
    """Alone, delegating plays defect; both delegating cooperate, which only somebody without a belief expects."""
    game = build_game("prisoners_dilemma")
    view = View(game, 0, "mediation", 1, History([]), {"mediator": [1, 0]})
    rule = BestResponse(first=first, belief=belief)
    assert rule.delegate(view, Choice(("cooperate", "defect", "delegate"))) is delegates
