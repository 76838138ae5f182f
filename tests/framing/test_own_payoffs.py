"""The payoffs of one seat as templates read them, by hand: rows, answers, matrices and formulas."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ostrom.answers import Choice, Number
from ostrom.framing.config import Framing
from ostrom.framing.labelling import Labelling, RuleLabels, naming
from ostrom.framing.payoffs import OwnPayoffs, by_payoff, standing
from ostrom.games import build_game
from ostrom.games.tensor import TensorGame
from ostrom.games.words import Words
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Decision, View

AB = ("a", "b")
PAID = np.zeros((2, 2, 2, 3))
for _p in product(
    (0, 1), repeat=3
):  # the digits of a payoff are the actions of all seats, the thousands the seat
    PAID[_p] = [1000 * s + 100 * _p[0] + 10 * _p[1] + _p[2] for s in range(3)]
GAME = TensorGame("digits", (AB, AB, AB), PAID)
LABELS = (("A0", "A1"), ("B0", "B1"), ("C0", "C1"))
NAMES = ("P1", "P2", "P3")


def own(seat: int, order: tuple[int, ...] = (1, 0), **more: Any) -> OwnPayoffs:
    return OwnPayoffs(GAME, seat, order, LABELS, NAMES, **more)


def test_rows_have_the_own_action_first_and_the_others_by_seat() -> None:
    made = own(1)
    assert (made.options, made.others) == (["B1", "B0"], ["P1", "P3"])
    rows = made.rows()
    assert [row["value"] for row in rows] == [1010, 1011, 1110, 1111, 1000, 1001, 1100, 1101]
    assert rows[1] == {
        "own": "B1", "payoff": "1011", "value": 1011.0,
        "others": [{"name": "P1", "label": "A0"}, {"name": "P3", "label": "C1"}],
    }  # fmt: skip
    assert own(1, arranged=lambda rows: rows[::-1]).rows() == rows[::-1]


def test_responses_name_the_best_own_action() -> None:
    responses = own(0).responses()
    assert [one["payoffs"] for one in responses] == [
        ["100", "0"], ["101", "1"], ["110", "10"], ["111", "11"],
    ]  # fmt: skip
    assert all(one["best"] == ["A1"] for one in responses)
    assert responses[2]["others"] == [{"name": "P2", "label": "B1"}, {"name": "P3", "label": "C0"}]


def test_matrices_are_against_each_other_player_for_every_action_of_the_rest() -> None:
    found = own(2, (0, 1)).matrices()
    assert [(one["other"], one["given"]) for one in found] == [
        ("P1", [{"name": "P2", "label": "B0"}]), ("P1", [{"name": "P2", "label": "B1"}]),
        ("P2", [{"name": "P1", "label": "A0"}]), ("P2", [{"name": "P1", "label": "A1"}]),
    ]  # fmt: skip
    assert found[1]["columns"] == ["A0", "A1"]
    assert found[1]["lines"] == [
        {"own": "C0", "payoffs": ["2010", "2110"]}, {"own": "C1", "payoffs": ["2011", "2111"]},
    ]  # fmt: skip


def test_a_standing_counts_the_better_payoffs_and_rows_are_sorted_by_own_action() -> None:
    assert [standing(GAME, 0, paid) for paid in (111, 110.5, 0, -1)] == [(0, 8), (1, 8), (7, 8), (8, 8)]
    rows = [{"own": o, "value": v} for o, v in [("B", 1), ("A", 5), ("B", 2), ("A", 5.5)]]
    assert [row["value"] for row in by_payoff(rows)] == [2, 1, 5.5, 5]
    with pytest.raises(StudyError, match="needs a presentation of payoffs with one outcome per row"):
        by_payoff([*rows, {"own": "A"}])


def test_a_formula_counts_one_action_that_all_call_the_same() -> None:
    goods = build_game({"name": "public_goods", "n": 3})
    same = OwnPayoffs(goods, 0, (0, 1), (("X", "Y"),) * 3, NAMES).formula()
    assert (same["counted"], same["same"], [row["own"] for row in same["rows"]]) == ("X", True, ["X", "Y"])
    assert [row["minus"] for row in same["rows"]] == [False, False] and same["claims"] == []
    for k, own_action in ((1, 0), (2, 0), (0, 1), (2, 1)):
        row = same["rows"][own_action]
        paid = float(row["constant"] or 0) + float(row["factor"]) * k / float(row["over"] or 1)
        others = [0] * (k - (own_action == 0)) + [1] * (2 - k + (own_action == 0))
        assert paid == pytest.approx(goods.payoff((own_action, *others))[0])
    with pytest.raises(StudyError, match=r"a formula needs payoffs that are linear .*\(game public_goods\)"):
        OwnPayoffs(goods, 0, (0, 1), (("X", "Y"), ("X", "Y"), ("Z", "Y")), NAMES).formula()
    with pytest.raises(StudyError, match=r"\(game digits\)"):
        own(0).formula()
    claims = build_game("travelers_dilemma")
    labels = (tuple(f"L{i}" for i in range(len(claims.actions[0]))),) * 2
    told = OwnPayoffs(claims, 1, (1, 0), labels, NAMES).formula()
    assert [one["own"] for one in told["claims"]] == ["L1", "L0"] and told["minus"] is False
    assert float(told["claims"][1]["amount"]) < float(told["claims"][0]["amount"])


def test_actions_are_named_in_the_order_that_the_framing_says() -> None:
    worded = TensorGame("g", (AB, AB), np.zeros((2, 2, 2)), words=Words(order=(("b", "a"), AB)))
    assert [naming(Framing(order=order), worded, seat) for order in ("given", "reversed") for seat in (0, 1)] == [
        (1, 0), (0, 1), (0, 1), (1, 0),
    ]  # fmt: skip
    labelling = Labelling(Framing(labels="JF"), "direct", None)
    decision = Decision(0, "act", View(worded, 0, "none"), Choice(AB))
    assert labelling.order_of(decision, None) == (1, 0)
    assert list(labelling.named(decision, 0, (1, 0)).items()) == [("b", "F"), ("a", "J")]
    shuffled = Labelling(Framing(order="shuffled"), "direct", None)
    orders = {shuffled.order_of(decision, np.random.default_rng(seed)) for seed in range(8)}
    assert orders == {(0, 1), (1, 0)} and shuffled.order_of(decision, None) == (1, 0)


def test_options_of_a_rule_share_labels_by_their_number() -> None:
    game = build_game("ultimatum")
    plain, labelled = (RuleLabels(Framing(labels=of), "direct", game, None) for of in (None, "JF"))
    reply = Choice(("accept", "reject"))
    assert plain.of(plain.names(reply, 1)) == {"accept": "accept", "reject": "reject"}
    assert labelled.of(labelled.names(reply, 1)) == {"accept": "J", "reject": "F"}
    assert labelled.names(Number(0, 100), 0) == () and labelled.of(()) == {}
    orders = [
        labelled.ordered(reply, 1, Framing(order=order), None) for order in ("given", "reversed", "shuffled")
    ]
    assert orders == [(0, 1), (1, 0), (0, 1)]
