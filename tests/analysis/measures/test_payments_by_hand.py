"""Measures of payments and negotiations from rows written by hand: sums, shares, bounds and what has no value."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from ostrom.analysis.measures import _negotiation as talks
from ostrom.analysis.measures import _payments as payments
from ostrom.games import build_game
from ostrom.games.tensor import bimatrix
from ostrom.ground.errors import UsageError

PD = build_game("prisoners_dilemma")


def data(*answers: list[dict[str, Any]], **more: Any) -> Any:
    """A run whose queries give these rows, one after the other."""
    queue = list(answers)
    fields = {"game": lambda _: PD, "columns": lambda _: ["total"], "name": "r", **more}
    return SimpleNamespace(records=lambda *_: queue.pop(0), **fields)


def rows(names: str, *values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), of, strict=True)) for of in values]


def values(made: Iterable[Any]) -> list[Any]:
    return [row["value"] for row in made]


@pytest.mark.parametrize(
    ("rounds", "society", "value"), [(2, False, 0.5), (5, False, 0.2), (4, False, 0.25), (2, True, None)]
)
def test_efficiency_is_a_share_of_the_most_that_could_be_paid(rounds: int, society: bool, value: float | None) -> None:
    unit = SimpleNamespace(mechanism=SimpleNamespace(society=society), game=SimpleNamespace(best_total=10.0))
    played = rows("match rounds", (0, rounds))
    paid = rows("match player total", (0, 1, 4.0), (0, 2, 6.0))
    made = values(payments.efficiency(data(played, paid, unit=lambda _: unit)))
    assert made == ([] if value is None else [pytest.approx(value)])
    unit.game.best_total = 0.0
    assert values(payments.efficiency(data(played, paid, unit=lambda _: unit))) == []


@pytest.mark.parametrize(
    ("paid", "value"), [((1.0, 1.0), 1.0), ((0.0, 4.0), 0.5), ((-1.0, 4.0), None), ((0.0, 0.0), None), ((3.0,), None)]
)
def test_equality_is_one_less_the_gini_coefficient(paid: tuple[float, ...], value: float | None) -> None:
    found = rows("match player total", *((0, i, total) for i, total in enumerate(paid)))
    assert values(payments.equality(data(found))) == ([] if value is None else [value])
    assert payments.gini([1.0, 3.0]) == 0.25


def test_bounds_are_those_of_the_game_unless_something_was_added() -> None:
    low, high = float(PD.payoffs.min()), float(PD.payoffs.max())
    names = "match game mechanism low high"
    inside = payments.paid_by_the_game(data(rows(names, (0, "pd", "none", low, high))))
    assert inside(0) == inside(7) == (low, high)
    for least, most in ((low - 1, high), (low, high + 1)):
        played = rows(names, (0, "pd", "fine", least, most), (1, "pd", "fine", low, high), (2, "pd", "none", low, high))
        bounds = payments.paid_by_the_game(data(played))
        assert (bounds(0), bounds(1), bounds(2)) == ((None, None), (None, None), (low, high))


FLAT = bimatrix("flat", (("a",), ("b", "c")), [[(1, 1), (1, 1)]])


def test_a_game_that_always_pays_the_same_has_no_bounds() -> None:
    paid = rows("match game mechanism low high", (0, "flat", "none", 1.0, 1.0))
    assert payments.paid_by_the_game(data(paid, game=lambda _: FLAT))(0) == (None, None)


def test_a_common_stock_is_harvested_up_to_what_it_holds() -> None:
    stock = rows("match round value", (0, 1, 10.0), (0, 2, 4.0), (0, 3, None))
    taken = rows(
        "match player round taken", (0, 1, 1, 3.0), (0, 2, 1, 2.0), (0, 1, 2, 3.0), (0, 2, 2, 2.0), (0, 1, 3, 1.0)
    )
    made = list(payments.harvest(data(stock, taken)))
    assert [(row["round"], row["value"]) for row in made] == [(1, 5.0), (2, 4.0)]
    over = list(payments.over_use(data(rows("match round value", (0, 1, 4.0), (0, 2, 5.0)), taken)))
    assert [(row["player"], row["value"]) for row in over] == [(1, 1.0), (2, 0.0)]  # its equal part is not too much
    assert values(payments.revenue(data(rows("match round value", (0, 1, 1.0), (0, 2, 2.0))))) == [1.5]
    with pytest.raises(UsageError, match="measure revenue: no game of r states 'price'"):
        list(payments.revenue(data([], [{"1": 1}])))
    assert list(payments.revenue(data([], []))) == []


def test_matches_that_could_not_end_early_do_not_survive() -> None:
    def unit(match: int) -> Any:
        name, one_shot = {0: ("a", False), 1: ("a", False), 2: ("b", False), 3: ("a", True)}[match]
        rule = SimpleNamespace(name=name, params={}, has_table=True, seats=2)
        return SimpleNamespace(mechanism=SimpleNamespace(one_shot=one_shot), game=PD if name == "b" else rule)

    ended = rows("match rounds over", (0, 3, True), (1, 9, False), (2, 9, False), (3, 1, False))
    made = list(payments.survival(data(ended, unit=unit)))
    assert [(row["match"], row["value"]) for row in made] == [(0, 0), (1, 1)]
    assert values(payments.survival_time(data(ended, unit=unit))) == [3, 9]
    with pytest.raises(UsageError, match="no match of r can end early"):
        list(payments.survival(data(ended[2:], unit=unit)))


@pytest.mark.parametrize(
    ("action", "expected", "targets", "value"),
    [("D", "C", [2], 1.0), ("C", "C", [2], 0.0), ("D", "D", [2], 1.0), ("D", "C", [1], None), ("D", "C", [2, 2], None)],
)
def test_a_best_reply_to_what_was_predicted(
    action: str, expected: str, targets: list[int], value: float | None
) -> None:
    names = dict(zip("CD", PD.actions[0], strict=True))
    found = rows(
        "match player seat round action targets expected",
        (0, 1, 1, 1, names[action], targets, [names[expected]] * len(targets)),
    )
    assert values(payments.best_replies(data(found))) == ([] if value is None else [value])
    wrong = [{**found[0], "round": n, "action": names["C"], "targets": [2], "expected": [names["C"]]} for n in (2, 3)]
    mixed = values(payments.best_replies(data([*found, *wrong])))
    assert mixed == [0.0 if value is None else pytest.approx(value / 3)]


def facts(**more: Any) -> list[dict[str, Any]]:
    return [{"match": 0, "facts": orjson.dumps({"agreements": [], "said": [], **more})}]


def said(outcome: str = "passed", **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "from": 0, "round": 1, "intends": None, "replies": [], **more}


def test_agreements_and_the_offers_until_the_first() -> None:
    talk = [said(), said("signed"), said("signed")]
    assert values(talks.agreement(data(facts()))) == [0.0]
    assert values(talks.agreement(data(facts(agreements=[1])))) == [1.0]
    assert values(talks.agreement(data([{"match": 0, "facts": "{}"}]))) == []
    assert values(talks.offers_to_agreement(data(facts(said=talk)))) == [2.0]
    assert values(talks.offers_to_agreement(data(facts(said=talk[:1])))) == []


def test_the_surplus_above_what_players_are_sure_of() -> None:
    sure, best = PD.payoff((1, 1))[0], PD.best_total
    assert best is not None
    scores = rows("match player score", (0, 1, sure + 3.0), (0, 2, sure + 1.0))
    assert values(talks.surplus_taken(data(scores, facts()))) == [pytest.approx(4.0 / (best - 2 * sure))]
    assert values(talks.surplus_share(data(scores, facts()))) == [pytest.approx(0.75), pytest.approx(0.25)]
    assert values(talks.surplus_taken(data([], facts()))) == []
    none = rows("match player score", (0, 1, sure), (0, 2, sure))
    assert values(talks.surplus_share(data(none, facts()))) == []
    assert values(talks.surplus_taken(data(none, facts()))) == [pytest.approx(0.0)]
    assert values(talks.surplus_taken(data(none, facts(), game=lambda _: FLAT))) == []  # nothing to agree on


def test_words_hold_until_others_are_said() -> None:
    acts = rows(
        "match player round act", *((0, 1, n, act) for n, act in enumerate("ABBB", 1)), (0, 2, 1, "A"), (0, 2, 2, "B")
    )
    talk = [said(intends="A", round=2), said(intends="B", round=3, replies=[{"from": 1, "intends": "B"}])]
    made = list(talks.broken_words(data(acts, facts(said=talk))))
    assert [(row["player"], row["value"]) for row in made] == [(1, pytest.approx(1 / 3))]
