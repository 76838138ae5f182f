"""Negotiation: what is signed binds, nothing else does, and payments are settled exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.answers import Answer
from ostrom.answers.random_answers import random_answer
from ostrom.data.rundata import run_data
from ostrom.games import build_game
from ostrom.games.equilibria import bargaining_points
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import Decision
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
            "actions": {
                f"player_{s}": [a] if (a := (actions or {}).get(s)) else [] for s in range(1, seats + 1)
            },
            "payments": [
                {"from": f"player_{a}", "to": f"player_{b}", "amount": n, "when": w}
                for a, b, n, w in payments or []
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
    assert (
        agreement["actions"] == [{"seat": 0, "action": 0}, {"seat": 1, "action": 0}] and agreement["by"] == 0
    )


def test_a_refused_offer_binds_nobody() -> None:
    played = negotiated([BOTH], [False])
    assert [d.kind for step in played.asked for d in step] == ["offer", "reply", "act", "act"]
    assert played.outcome.rounds[0].payoffs == (1.0, 1.0) and not played.outcome.facts["agreements"]


def test_who_makes_an_offer_about_itself_alone_is_bound_at_once() -> None:
    played = negotiated([offer({1: "cooperate"})], [])
    assert [(d.kind, d.player) for step in played.asked for d in step] == [("offer", 0), ("act", 1)]
    assert played.outcome.rounds[0].payoffs == (0.0, 5.0)


def test_only_those_whom_it_concerns_accept() -> None:
    goods = build_game("public_goods")
    asked = negotiated(
        [offer({3: "contribute"}, [(2, 1, 1, "end")], 3)], [True, True], "free_ride", goods
    ).asked
    assert [(d.kind, d.player) for step in asked for d in step][:3] == [
        ("offer", 0),
        ("reply", 1),
        ("reply", 2),
    ]
    one = negotiated([offer({3: "contribute"}, [], 3)], [False], "free_ride", goods).asked
    assert [(d.kind, d.player) for step in one for d in step][:2] == [("offer", 0), ("reply", 2)]


def test_an_offer_that_contradicts_an_agreement_is_not_put_forward() -> None:
    played = negotiated([offer({1: "cooperate"}), offer({1: "defect"}), offer({2: "cooperate"})], [True])
    outcomes = [entry["outcome"] for entry in played.outcome.facts["said"]]
    assert outcomes == ["signed", "impossible", "signed"]
    assert played.outcome.rounds[0].payoffs == (3.0, 3.0)


def test_talk_ends_once_everybody_has_passed_in_a_row() -> None:
    played = negotiated([offer(), offer(), BOTH], [True])
    assert [d.kind for step in played.asked for d in step] == ["offer", "offer", "act", "act"]
    went_on = negotiated([offer(), BOTH, offer(), offer()], [True])
    assert [d.kind for step in went_on.asked for d in step] == ["offer", "offer", "reply", "offer", "offer"]


@pytest.mark.parametrize(
    ("when", "rounds", "payoffs"),
    [
        ("now", 1, [(1, 5)]),
        ("end", 1, [(1, 5)]),
        ("each_round", 2, [(1, 5), (1, 5)]),
        ("end", 2, [(3, 3), (1, 5)]),
        ("now", 2, [(1, 5), (3, 3)]),
    ],
)
def test_payments_come_when_they_are_due(when: str, rounds: int, payoffs: list[tuple[int, int]]) -> None:
    deal = offer({1: "cooperate", 2: "cooperate"}, [(1, 2, 2, when)])
    played = negotiated([deal], [True], endowment=2, rounds=rounds)
    assert [r.payoffs for r in played.outcome.rounds] == payoffs


def test_nobody_pays_more_than_it_has() -> None:
    deal = offer({1: "cooperate", 2: "cooperate"}, [(1, 2, 2, "now"), (1, 2, 50, "end"), (2, 1, 1, "end")])
    (played,) = negotiated([deal], [True], endowment=1).outcome.rounds
    assert [payment["paid"] for payment in played.facts["payments"]] == [1.0, 3.0, 1.0]
    assert played.payoffs == (3 - 1 - 3 + 1, 3 + 1 + 3 - 1)


def test_who_owes_points_pays_nothing() -> None:
    loss = build_game(
        {"name": "loss", "actions": ["a", "b"], "payoffs": [[[-4, 1], [-4, 1]], [[-4, 1], [-4, 1]]]}
    )
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


def test_negotiations_before_every_round_hold_for_that_round() -> None:
    played = negotiated([BOTH, BOTH], [True, False], turns=1, when="before", rounds=2)
    assert [r.payoffs for r in played.outcome.rounds] == [(3.0, 3.0), (1.0, 1.0)]
    seen = [d.view.facts["agreements"] for step in played.asked for d in step if d.kind in ("offer", "reply")]
    assert seen == [[], [], [], []], "what was signed for another round is not shown"


@pytest.mark.parametrize(("when", "most"), [("start", 4 * 2 + 3 * 2), ("before", 3 * (4 * 2 + 2))])
def test_the_most_decisions_are_offers_replies_and_acts(when: str, most: int) -> None:
    rules = mechanisms.build({"name": "negotiation", "turns": 4, "rounds": 3, "when": when})
    assert rules.most_decisions(PD) == most


def settled(playing: Playing, endowment: int, rounds: int, before: bool, seats: int) -> list[list[Fraction]]:
    """The payoffs by round, recomputed from what was said, signed and played alone."""
    has = [Fraction(endowment)] * seats
    paid = []
    facts = playing.outcome.facts
    for played in playing.outcome.rounds:
        flow = [Fraction(0)] * seats
        now = [a for a in facts["agreements"] if a["round"] == played.number]
        in_force = now if before else facts["agreements"]
        last = before or played.number == rounds
        for stage in ("now", "later"):
            if stage == "later":
                has = [h + Fraction(b) for h, b in zip(has, played.facts["before"], strict=True)]
            for agreement in now if stage == "now" else in_force:
                for payment in agreement["payments"]:
                    due = (
                        payment["when"] == "now"
                        if stage == "now"
                        else payment["when"] == "each_round" or (last and payment["when"] == "end")
                    )
                    if due:
                        moved = max(Fraction(0), min(Fraction(payment["amount"]), has[payment["from"]]))
                        for who, sign in ((payment["from"], -1), (payment["to"], 1)):
                            has[who] += sign * moved
                            flow[who] += sign * moved
        paid.append([Fraction(b) + f for b, f in zip(played.facts["before"], flow, strict=True)])
    return paid


@pytest.mark.parametrize("name", ["prisoners_dilemma", "public_goods", "minimum_effort", "trust"])
def test_random_negotiations_settle_exactly(name: str) -> None:
    game = build_game(name)
    signed = 0
    for seed in range(60):
        before, rounds, endowment = bool(seed % 2), 1 + seed % 3, (0, 3, 40)[seed % 3]
        rules = mechanisms.build(
            {
                "name": "negotiation", "turns": 4, "rounds": rounds, "bound": 12, "endowment": endowment,
                "when": "before" if before else "start",
            }
        )  # fmt: skip
        streams = Streams(seed, 0)

        def said(decision: Decision, step: int, streams: Streams = streams) -> Answer:
            answer = random_answer(decision.form, streams.at(step, decision.player, "any"))
            return (
                Answer({**answer.value, "accept": True}) if decision.kind == "reply" and step % 3 else answer
            )

        played = drive(rules, game, streams, said)
        signed += len(played.outcome.facts["agreements"])
        expected = settled(played, endowment, rounds, before, game.seats)
        for own, recomputed in zip(played.outcome.rounds, expected, strict=True):
            assert own.payoffs == pytest.approx([float(p) for p in recomputed], abs=1e-12)
            assert sum(map(Fraction, own.payoffs)) == sum(map(Fraction, own.facts["before"]))
            for agreement in played.outcome.facts["agreements"]:
                for bound in agreement["actions"]:
                    if not before or agreement["round"] == own.number:
                        done = own.actions[bound["seat"]]
                        wanted = bound.get("action", None)
                        assert done == (
                            game.index(bound["seat"], bound["amount"]) if wanted is None else wanted
                        )
    assert signed > 20


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
    assert values["surplus_taken"] == [
        pytest.approx((0 + 5 - 2) / (6 - 2))
    ]  # one is bound, the other defects
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


@pytest.mark.parametrize(
    ("types", "paid"),
    [
        ({"one": "tit_for_tat", "two": "cooperator"}, (3.0, 3.0)),
        ({"one": "tit_for_tat", "two": "defector"}, (0.0, 5.0)),
    ],
)
def test_kind_scripts_agree_to_cooperate(
    types: dict[str, str], paid: tuple[float, float], tmp_path: Path
) -> None:
    study = {
        "name": "deal", "game": "prisoners_dilemma", "mechanism": "negotiation", "types": types, "seating": "seats",
        "seeds": 1,
    }  # fmt: skip
    assert play(load_study(study), runs=tmp_path).complete
    with open_run("deal", tmp_path) as run:
        assert tuple(row["score"] for row in run.rows.matches()) == paid
