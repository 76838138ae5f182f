"""Negotiation: what is signed binds, nothing else does, and payments are settled exactly."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests import sizes
from tests.sizes import size

from ostrom.analysis.estimate import estimate
from ostrom.answers import Answer, Invalid, read
from ostrom.answers.random_answers import random_answer
from ostrom.data.rundata import run_data
from ostrom.games import build_game
from ostrom.games.equilibria import bargaining_points
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.rounds import simultaneous_round
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.check_mechanism import Playing, check_mechanism, drive

PD = build_game("prisoners_dilemma")


def offer(
    actions: dict[int, str] | None = None,
    payments: list[tuple[int, int, int, str]] | None = None,
    seats: int = 2,
    intend: str | None = None,
) -> Answer:
    """An offer that binds seats (by number) to actions, with payments (from, to, amount, when)."""
    return Answer(
        {
            "message": "so?",
            "intend": [] if intend is None else [intend],
            "actions": {f"player_{s}": [a] if (a := (actions or {}).get(s)) else [] for s in range(1, seats + 1)},
            "payments": [
                {"from": f"player_{a}", "to": f"player_{b}", "amount": n, "when": w} for a, b, n, w in payments or []
            ],
        }
    )


def reply(accept: bool, intend: str | None = None) -> Answer:
    return Answer({"accept": accept, "message": "", "intend": [] if intend is None else [intend]})


def negotiated(
    offers: list[Answer], accepts: list[bool], acts: str = "defect", game: Any = PD, **params: Any
) -> Playing:
    """A match in which these offers are made and answered; who is asked to act does this."""
    rules = mechanisms.build({"name": "negotiation", "turns": len(offers), **params})
    waiting, answers = iter(offers), iter(accepts)

    def said(decision: Decision, step: int) -> Answer:
        match decision.kind:
            case "offer":
                return next(waiting)
            case "reply":
                return reply(next(answers))
        return Answer(acts)

    return drive(rules, game, Streams(0, 0), said)


BOTH = offer({1: "cooperate", 2: "cooperate"})


def test_an_agreement_binds_and_who_is_bound_is_not_asked() -> None:
    played = negotiated([BOTH], [True])
    assert [d.kind for step in played.asked for d in step] == ["offer", "reply"]
    assert played.outcome.rounds[0].payoffs == (3.0, 3.0)
    (agreement,) = played.outcome.facts["agreements"]
    assert agreement["actions"] == [{"seat": 0, "action": 0}, {"seat": 1, "action": 0}] and agreement["by"] == 0


def test_a_refused_offer_binds_nobody() -> None:
    played = negotiated([BOTH], [False])
    assert [d.kind for step in played.asked for d in step] == ["offer", "reply", "act", "act"]
    assert played.outcome.rounds[0].payoffs == (1.0, 1.0) and not played.outcome.facts["agreements"]


def test_who_makes_an_offer_about_itself_alone_is_bound_at_once() -> None:
    played = negotiated([offer({1: "cooperate"})], [])
    assert [(d.kind, d.player) for step in played.asked for d in step] == [("offer", 0), ("act", 1)]
    assert played.outcome.rounds[0].payoffs == (0.0, 5.0)


def test_an_offer_that_contradicts_an_agreement_is_not_put_forward() -> None:
    played = negotiated([offer({1: "cooperate"}), offer({1: "defect"}), offer({2: "cooperate"})], [True])
    outcomes = [entry["outcome"] for entry in played.outcome.facts["said"]]
    assert outcomes == ["signed", "impossible", "signed"]
    log = played.asked[-1][0].view.facts["log"]
    assert [event["problem"] for event in log if event.get("result") == "impossible"] == ["contradiction"]
    assert played.outcome.rounds[0].payoffs == (3.0, 3.0)


def test_nobody_pays_more_than_it_has() -> None:
    deal = offer({1: "cooperate", 2: "cooperate"}, [(1, 2, 2, "now"), (1, 2, 50, "end"), (2, 1, 1, "end")])
    (played,) = negotiated([deal], [True], endowment=1).outcome.rounds
    assert [payment["paid"] for payment in played.facts["payments"]] == [1.0, 3.0, 1.0]
    assert played.payoffs == (3 - 1 - 3 + 1, 3 + 1 + 3 - 1)


def test_who_owes_points_pays_nothing() -> None:
    loss = build_game({"name": "loss", "actions": ["a", "b"], "payoffs": [[[-4, 1], [-4, 1]], [[-4, 1], [-4, 1]]]})
    (played,) = negotiated([offer(None, [(1, 2, 2, "end")])], [], "a", loss).outcome.rounds
    assert [payment["paid"] for payment in played.facts["payments"]] == [0.0] and played.payoffs == (-4, 1)


def test_a_payment_to_oneself_is_none() -> None:
    played = negotiated([offer(None, [(1, 1, 2, "now")]), offer(None, [(2, 1, 0, "now")])], [], endowment=5)
    assert not played.outcome.facts["agreements"] and not played.outcome.rounds[0].facts["payments"]


def test_who_is_bound_is_asked_where_the_action_is_no_option() -> None:
    def rule(now: Now) -> Stages:
        (first,) = yield [Due(0, "first", ("hold", "go"))]
        last = yield [Due(seat, "last", ("go", "stop")) for seat in (0, 1)]
        return End((float(first == "hold"), float(last[0] == "stop")))

    names = ("hold", "go", "stop")
    game = FunctionGame("two_steps", (names, names), rule, stages=("first", "last"), turns=3)
    played = negotiated([offer({1: "hold"})], [], "stop", game, bound=5)
    assert [(d.kind, d.player) for step in played.asked for d in step][1:] == [("act", 0), ("act", 1)]
    assert played.outcome.rounds[0].payoffs == (1.0, 1.0)


@pytest.mark.parametrize(("when", "most"), [("start", 4 * 2 + 3 * 2), ("before", 3 * (4 * 2 + 2))])
def test_the_most_decisions_are_offers_replies_and_acts(when: str, most: int) -> None:
    rules = mechanisms.build({"name": "negotiation", "turns": 4, "rounds": 3, "when": when})
    assert rules.most_decisions(PD) == most


@dataclass
class Again:
    """A negotiation computed once more, from the rules and the bare answers: no fact of the match is read."""

    game: Any
    rounds: int
    turns: int
    before: bool
    endowment: int
    said: Iterator[tuple[str, int, Any]]
    has: list[Fraction] = field(default_factory=list)
    bound: dict[int, int] = field(default_factory=dict)
    deals: list[tuple[int, list[Any]]] = field(default_factory=list)
    signed: int = 0
    ledger: list[tuple[int, int, int, int, str, Fraction]] = field(default_factory=list)

    def play(self) -> list[tuple[tuple[int, ...], tuple[float, ...], list[Any]]]:
        """By round what all did, what all were paid, and every payment."""
        seats = self.game.seats
        self.has, played = [Fraction(self.endowment)] * seats, []
        for number in range(1, self.rounds + 1):
            self.ledger = []
            if self.before or number == 1:
                self.bound, self.deals = {}, []
                self._talk()
            places = [self.bound[s] if s in self.bound else self._asked("act", s) for s in range(seats)]
            values = [self.game.value(s, place) for s, place in enumerate(places)]
            earned = [Fraction(x) for x in simultaneous_round(self.game, number, values).payoffs]
            self.has = [had + got for had, got in zip(self.has, earned, strict=True)]
            last = self.before or number == self.rounds
            for deal, payments in self.deals:
                self._pay(deal, payments, ["each_round", "end"] if last else ["each_round"])
            for _, payer, receiver, _, _, moved in self.ledger:
                earned[payer] -= moved
                earned[receiver] += moved
            played.append((tuple(places), tuple(map(float, earned)), self.ledger))
        assert next(self.said, None) is None, "somebody was asked too much"
        return played

    def _asked(self, kind: str, seat: int) -> Any:
        asked, player, value = next(self.said)
        assert (asked, player) == (kind, seat)
        return self.game.index(seat, value) if kind == "act" else value

    def _talk(self) -> None:
        idle, seats = 0, self.game.seats
        for turn in range(self.turns):
            by = turn % seats
            value = self._asked("offer", by)
            acts = {
                s: self.game.index(by, value["actions"][f"player_{s + 1}"][0])
                for s in range(seats)
                if value["actions"][f"player_{s + 1}"]
            }
            pays = [
                (int(p["from"][-1]) - 1, int(p["to"][-1]) - 1, p["amount"], p["when"])
                for p in value["payments"]
                if p["from"] != p["to"] and p["amount"] > 0
            ]
            idle = 0 if acts or pays else idle + 1
            if any(self.bound.get(s, place) != place for s, place in acts.items()):
                continue
            if acts or pays:
                concerned = sorted({*acts, *(payer for payer, *_ in pays)} - {by})
                accepts = [self._asked("reply", other)["accept"] for other in concerned]
                if all(accepts):
                    self.signed += 1
                    self.bound |= acts
                    self.deals.append((self.signed, pays))
                    self._pay(self.signed, pays, ["now"])
            if idle == seats:
                return

    def _pay(self, deal: int, payments: list[Any], moments: list[str]) -> None:
        for payer, receiver, amount, when in payments:
            if when in moments:
                moved = min(Fraction(amount), max(self.has[payer], Fraction(0)))
                self.has[payer] -= moved
                self.has[receiver] += moved
                self.ledger.append((deal, payer, receiver, amount, when, moved))


TENTHS: dict[str, Any] = {
    "name": "tenths", "actions": ["C", "D"],
    "payoffs": [[[0.3, 0.3], [-0.2, 0.7]], [[0.7, -0.2], [0.1, 0.1]]],
}  # fmt: skip


@pytest.mark.parametrize("spec", ["prisoners_dilemma", "public_goods", "minimum_effort", "trust", TENTHS])
def test_random_negotiations_settle_exactly(spec: Any) -> None:
    game = build_game(spec)
    signed = short = several = 0
    for seed in range(size(200, 8)):
        before, rounds, endowment = bool(seed % 2), 1 + seed % 3, (0, 3, 40)[seed % 3]
        turns = 2 + seed % 4
        rules = mechanisms.build(
            {
                "name": "negotiation", "turns": turns, "rounds": rounds, "bound": 12, "endowment": endowment,
                "when": "before" if before else "start",
            }
        )  # fmt: skip
        streams = Streams(seed, 0)

        def said(decision: Decision, step: int, streams: Streams = streams) -> Answer:
            answer = random_answer(decision.form, streams.generator(step, decision.player, "any"))
            if decision.kind == "reply" and step % 3:
                return Answer({**answer.value, "accept": True})
            if decision.kind == "offer" and step % 5 == 4:  # a pass
                return offer(seats=game.seats)
            return answer

        played = drive(rules, game, streams, said)
        given = [
            (decision.kind, decision.player, answer.value)
            for step, answers in zip(played.asked, played.answers, strict=True)
            for decision, answer in zip(step, answers, strict=True)
        ]
        again = Again(game, rounds, turns, before, endowment, iter(given))
        for own, (places, payoffs, ledger) in zip(played.outcome.rounds, again.play(), strict=True):
            assert own.actions == places and own.payoffs == payoffs
            assert [
                tuple(paid[key] for key in ("agreement", "from", "to", "amount", "when", "paid"))
                for paid in own.facts["payments"]
            ] == [(*entry[:5], float(entry[5])) for entry in ledger]
            short += sum(moved < amount for *_, amount, _, moved in ledger)
            several += len({deal for deal, *_ in ledger}) > 1
        assert len(played.outcome.facts["agreements"]) == again.signed
        signed += again.signed
    assert signed > 4 and short and (several or sizes.QUICK)


# -- attacks ----------------------------------------------------------------------------------------------


def kinds(playing: Playing) -> list[tuple[str, int]]:
    return [(decision.kind, decision.player) for step in playing.asked for decision in step]


def test_paying_oneself_or_nothing_is_no_offer() -> None:
    played = negotiated([offer(payments=[(1, 1, 5, "now"), (2, 1, 0, "end")]), offer()], [], endowment=9)
    assert [entry["outcome"] for entry in played.outcome.facts["said"]] == ["pass", "pass"]
    assert played.outcome.rounds[0].payoffs == (1.0, 1.0) and not played.outcome.rounds[0].facts["payments"]


@pytest.mark.parametrize("amount", [-1, 2.5, 31, True, "3", None])
def test_a_payment_is_a_whole_number_within_the_bound(amount: Any) -> None:
    rules = mechanisms.build({"name": "negotiation", "bound": 30})
    form = next(rules.play(PD, Streams(0, 0)))[0].form
    value = {
        "message": "", "intend": [], "actions": {"player_1": [], "player_2": []},
        "payments": [{"from": "player_1", "to": "player_2", "amount": amount, "when": "now"}],
    }  # fmt: skip
    labels = {"cooperate": "A0", "defect": "A1"}
    assert isinstance(read(form, json.dumps(value), labels), Invalid)
    value["payments"][0]["amount"] = 30  # type: ignore[index]
    assert isinstance(read(form, json.dumps(value), labels), Answer)


def test_several_agreements_pay_no_more_than_there_is_in_the_order_of_signing() -> None:
    deals = [offer(payments=[(1, 2, 4, "now")]), offer(payments=[(1, 2, 4, "now")]), offer(payments=[(1, 2, 4, "end")])]
    (played,) = negotiated(deals, [True], endowment=6).outcome.rounds
    assert [paid["paid"] for paid in played.facts["payments"]] == [4.0, 2.0, 1.0]  # 6, then the point of the round
    assert played.payoffs == (1 - 7, 1 + 7)


def test_nobody_pays_out_of_a_loss() -> None:
    game = build_game({**TENTHS, "payoffs": [[[-3, -3], [-3, -3]], [[-3, -3], [-3, -3]]]})
    (played,) = negotiated([offer(payments=[(1, 2, 4, "end")])], [], "D", game, endowment=1, bound=9).outcome.rounds
    assert played.payoffs == (-3.0, -3.0) and played.facts["payments"][0]["paid"] == 0.0


def test_an_agreement_of_an_earlier_round_does_not_contradict_one_of_a_later_round() -> None:
    deals = [offer({1: "cooperate"}), offer({1: "defect"})]
    played = negotiated(deals, [], turns=1, when="before", rounds=2)
    assert [r.actions for r in played.outcome.rounds] == [(0, 1), (1, 1)]
    assert [a["round"] for a in played.outcome.facts["agreements"]] == [1, 2]


def test_two_of_three_can_agree_and_the_third_is_neither_asked_nor_bound() -> None:
    goods = build_game("public_goods")
    deal = offer({1: "contribute", 2: "contribute"}, [(1, 2, 1, "end")], 3)
    played = negotiated([deal], [True], "free_ride", goods)
    assert kinds(played) == [("offer", 0), ("reply", 1), ("act", 2)]
    (alone,) = negotiated([deal], [False], "free_ride", goods).outcome.rounds
    assert alone.actions == (1, 1, 1) and played.outcome.rounds[0].actions == (0, 0, 1)


@pytest.mark.parametrize("amount", [2.5, 2])
def test_an_amount_that_is_no_option_binds_nobody(amount: float) -> None:
    game = build_game("minimum_effort")
    deal = Answer({**offer(seats=4).value, "actions": {f"player_{s}": [amount] for s in range(1, 5)}})
    played = negotiated([deal], [True] * 3, 7, game, bound=5)  # type: ignore[arg-type]
    outcome = played.outcome.facts["said"][0]["outcome"]
    assert outcome == ("signed" if amount == 2 else "impossible")
    assert len(kinds(played)) == (4 if amount == 2 else 5)


def test_agreements_have_no_noise() -> None:
    with pytest.raises(StudyError, match="unknown key 'noise' of mechanism negotiation"):
        mechanisms.build({"name": "negotiation", "noise": 0.1})


def test_games_in_which_offers_have_no_words_are_refused() -> None:
    rules = mechanisms.build("negotiation")
    with pytest.raises(GameError, match="the same number of actions or the same amounts"):
        rules.fit(build_game("ultimatum"))
    with pytest.raises(GameError, match="has no table of payoffs, so bound must be given"):
        rules.fit(build_game("minimum_effort"))


def test_the_contract_of_mechanisms_holds_with_amounts_too() -> None:
    spec = {"name": "negotiation", "turns": 3, "rounds": 2, "bound": 10, "when": "before"}
    check_mechanism(spec, games=["public_goods_amounts", "trust_symmetric"], seeds=1)


def test_measures_say_what_came_of_it(tmp_path: Path) -> None:
    def player(request: Request) -> str:
        text = request.messages[-1].content
        if '"accept"' in text:
            return json.dumps({"accept": True, "message": "yes", "intend": ["A0"]})
        if '"payments"' in text:
            first = "offer 1 of 2" in text
            return json.dumps(
                {
                    "message": "hello",
                    "intend": [],
                    "actions": {"player_1": [] if first else ["A0"], "player_2": []},
                    "payments": [],
                }
            )
        return "[A1]"

    register("player", player)
    study = {
        "name": "deal",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "negotiation", "turns": 2},
        "types": {"m": {"model": "scripted/player", "style": "direct"}},
        "seating": "self",
        "seeds": 1,
    }
    try:
        assert play(load_study(study), runs=tmp_path).complete
    finally:
        unregister("player")
    with open_run("deal", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        values = {
            name: [e.value for e in estimate(data, name, ["player"] if name == "surplus_share" else [])]
            for name in ("agreement", "offers_to_agreement", "surplus_taken", "surplus_share", "broken_words")
        }
    assert values["agreement"] == [1.0] and values["offers_to_agreement"] == [2.0]
    assert values["surplus_taken"] == [pytest.approx((0 + 5 - 2) / (6 - 2))]  # one is bound, the other defects
    assert values["surplus_share"] == pytest.approx([-1 / 3, 4 / 3])
    assert values["broken_words"] == []  # who said what it intends was bound


@pytest.mark.parametrize(
    "name", ["prisoners_dilemma", "chicken", "battle_of_the_sexes", "stag_hunt", "travelers_dilemma"]
)
def test_bargaining_points_are_those_of_a_fine_search(name: str) -> None:
    game = build_game(name)
    found = bargaining_points(game)
    assert found is not None
    (a, b), points = found.disagreement, game.payoffs.reshape(-1, 2)
    mixed = (
        [
            (t * p[0] + (1 - t) * q[0], t * p[1] + (1 - t) * q[1])
            for p in points
            for q in points
            for t in (i / 400 for i in range(401))
        ]
        if len(points) < 20
        else [tuple(p) for p in points]
    )
    better = [(x, y) for x, y in mixed if x >= a - 1e-9 and y >= b - 1e-9]
    product = max((x - a) * (y - b) for x, y in better)
    nash = (found.nash[0] - a) * (found.nash[1] - b)
    assert nash >= product - 1e-9 and nash == pytest.approx(product, rel=1e-2)
    ideal = max(x for x, _ in better) - a, max(y for _, y in better) - b
    ks = found.kalai_smorodinsky
    assert (ks[0] - a) * ideal[1] == pytest.approx((ks[1] - b) * ideal[0], abs=1e-6)
    assert not any(x > ks[0] + 1e-6 and y > ks[1] + 1e-6 for x, y in better)


def test_where_nobody_can_gain_there_is_nothing_to_bargain_about() -> None:
    assert bargaining_points(build_game("prisoners_dilemma"), (3.0, 3.0)) is None
    assert bargaining_points(build_game("public_goods")) is None
