"""Games by a rule: closed forms, recurrences and best responses that theory gives, and no limit of profiles."""

import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from ostrom.agents.past import Past
from ostrom.agents.strategies.best_response import best_move
from ostrom.games import build_game
from ostrom.games.amounts import Amounts
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.function import Due, End, FunctionGame, Now, Stages, at_once
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import History, Outcome, Round, View
from ostrom.mechanisms.rounds import otherwise
from ostrom.studies.checks import check_policy_action
from ostrom.testing import check_game
from ostrom.testing.check_mechanism import drive, played_by


def match(game: Any, types: Sequence[Any], rules: Any = "none", seed: int = 0) -> Outcome:
    streams = Streams(seed, 1)
    return drive(mechanisms.build(rules), build_game(game), streams, played_by(types, streams)).outcome


@pytest.mark.parametrize("given", [0, 1, 37, 100])
def test_a_dictator_keeps_what_it_does_not_give(given: int) -> None:
    assert match("dictator", [f"constant:{given}", "random"]).scores == (100 - given, given)


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize(("offer", "least", "paid"), [(40, 30, (60, 40)), (30, 30, (70, 30)), (29, 30, (0, 0))])
def test_an_ultimatum_pays_what_is_accepted(offer: int, least: int, paid: tuple[int, int], blind: bool) -> None:
    game = {"name": "ultimatum", "strategy_method": blind}
    assert match(game, [f"constant:{offer}", f"threshold:{least}"]).scores == paid


def test_best_responses_play_the_subgame_perfect_ultimatum() -> None:
    assert match("ultimatum", ["best_response", "best_response"]).scores == (100, 0)
    assert match("dictator", ["best_response", "random"]).scores == (100, 0)


@pytest.mark.parametrize(("share", "months"), [(0.1, 12), (0.11, 12), (0.16, 4), (0.19, 2), (0.2, 1)])
def test_a_commons_collapses_in_the_month_that_the_recurrence_gives(share: float, months: int) -> None:
    stock, month, each = 100, 0, []
    while month < 12:  # the recurrence by itself: take, then double up to the capacity
        month += 1
        take = min(int(share * stock + 0.5 - 1e-9), stock)
        each.append(take)
        left = stock - 5 * take
        if left < 5:
            break
        stock = min(100, 2 * left)
    outcome = match("common_pool", [{"name": "proportional", "share": share}] * 5, {"name": "repetition", "rounds": 12})
    assert len(outcome.played) == month == months
    assert outcome.scores == pytest.approx([sum(each) / 12] * 5)
    assert outcome.facts.get("over_round") == (months if months < 12 else None)


def test_wishes_beyond_the_stock_are_cut_in_proportion() -> None:
    outcome = match("common_pool:2", ["constant:100", "constant:50"])
    assert outcome.scores == pytest.approx((200 / 3, 100 / 3)) and outcome.rounds[0].facts["collapsed"]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_response_in_a_second_price_auction_is_the_own_value(seed: int) -> None:
    outcome = match("second_price_auction:2", ["best_response"] * 2, seed=seed)
    (hidden,) = outcome.facts["hidden"]
    assert hidden["bids"] == hidden["values"]


@pytest.mark.slow
def test_the_best_response_in_a_first_price_auction_shades_the_bid() -> None:
    outcome = match("first_price_auction:2", ["best_response"] * 2, seed=2)
    (hidden,) = outcome.facts["hidden"]
    assert all(abs(b - v / 2) <= 1 for b, v in zip(hidden["bids"], hidden["values"], strict=True))


def test_auctions_keep_values_to_the_bidder_and_pay_the_price() -> None:
    for name, place in (("first_price_auction", 0), ("second_price_auction", 1)):
        outcome = match({"name": name, "n": 3}, ["random"] * 3, seed=5)
        (played,), (hidden,) = outcome.rounds, outcome.facts["hidden"]
        price = sorted(hidden["bids"], reverse=True)[place]
        winner = played.facts["winner"]
        assert "values" not in played.facts
        assert played.payoffs[winner] == hidden["values"][winner] - price == sum(played.payoffs)


@pytest.mark.parametrize(("game", "moves"), [("dictator", 100), ("common_pool:2", None)])
def test_a_round_is_told_otherwise_unless_it_leaves_something_behind(game: str, moves: int | None) -> None:
    (played,) = match(game, ["proportional:0.2"] * 2).rounds
    other = otherwise(build_game(game), played, 0)
    assert (None if other is None else other.facts["moves"][0]["value"]) == moves


@pytest.mark.parametrize(("drawn", "winner"), [(0.0, 0), (0.49, 0), (0.5, 2), (0.99, 2)])
def test_chance_decides_between_equal_bids(drawn: float, winner: int) -> None:
    stages = build_game("first_price_auction:3").begin(Now(chance=lambda seat, why: drawn))
    next(stages)
    with pytest.raises(StopIteration) as stop:
        stages.send([40, 30, 40])
    assert stop.value.value.facts["winner"] == winner


@pytest.mark.parametrize(("offers", "paid"), [(1, (100, 0)), (2, (50, 50)), (3, (75, 25))])
def test_bargaining_follows_backward_induction(offers: int, paid: tuple[int, int]) -> None:
    game = {"name": "alternating_offers", "discount": 0.5, "offers": offers}
    assert match(game, ["best_response"] * 2).scores == paid
    built = build_game(game)
    assert isinstance(built, FunctionGame) and built.theory_payoffs == paid


def test_a_rejected_offer_shrinks_what_is_left() -> None:
    types = [
        {"name": "constant", "action": {"offer": 10, "reply": "accept"}},
        {"name": "threshold", "least": 50, "names": 40},
    ]
    outcome = match("alternating_offers", types)
    assert outcome.scores == pytest.approx((36, 54)) and outcome.rounds[0].facts["agreed"] == 2


def test_a_beauty_contest_pays_the_nearest() -> None:
    assert match("beauty_contest:3", ["constant:0", "constant:30", "constant:60"]).scores == (0, 100, 0)
    assert match("beauty_contest:2", ["constant:10", "constant:10"]).scores == (50, 50)


def test_public_goods_pay_the_share_and_what_was_kept() -> None:
    scores = match("public_goods_amounts:4", ["constant:20", "constant:10", "constant:0", "constant:5"]).scores
    assert scores == pytest.approx((14, 24, 34, 29))


@pytest.mark.slow
def test_ten_seats_with_101_amounts_play_in_memory_that_does_not_grow_with_profiles() -> None:
    game = build_game({"name": "public_goods_amounts", "n": 10, "endowment": 100})
    tracemalloc.start()
    outcome = match(
        game, ["best_response", "conditional_cooperator", *["random"] * 8], {"name": "repetition", "rounds": 3}
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(outcome.rounds) == 3 and most < 20_000_000
    with pytest.raises(GameError, match="in no table"):
        pure_equilibria(game)


def test_rules_that_need_a_table_refuse_in_one_line() -> None:
    game = build_game("ultimatum")
    for name in ("mediation", "contracting", "disarmament", "punishment", "society", "similarity"):
        with pytest.raises(GameError, match="needs a table of payoffs"):
            mechanisms.build(name).fit(game)
    with pytest.raises(GameError, match=r"mechanism: \{name: none, talk: \{when: before, length: 280\}\}$"):
        mechanisms.build("cheap_talk").fit(game)
    with pytest.raises(GameError, match="repetition, rounds: 3, told_rounds: true, talk"):
        mechanisms.build({"name": "cheap_talk", "rounds": 3}).fit(game)
    mechanisms.build({"name": "repetition", "noise": 0.1}).fit(game)
    with pytest.raises(GameError, match="a record holds one action of every member per round"):
        mechanisms.build("reputation").fit(game)


@pytest.mark.parametrize(("cooperative", "best"), [(None, "a"), ("b", "b"), ("c", "a")])
def test_among_equals_the_cooperative_option_is_best(cooperative: str | None, best: str) -> None:
    options = ("a", "b", "c")
    game = FunctionGame("even", (options,), at_once("x", (options,), lambda done: [float(done[0] != "c")]))
    view = View(game, 0, "none", facts={"stage": "x", "moves": ()})
    assert best_move(Past(view), options, cooperative) == best


@pytest.mark.parametrize(("sure", "best"), [(0.6, "safe"), (0.4, "risky")])
def test_what_chance_may_bring_counts_on_average(sure: float, best: str) -> None:
    options = ("safe", "risky")

    def rule(now: Now) -> Stages:
        (done,) = yield [Due(0, "x", options)]
        return End((sure if done == "safe" else float(now.chance(0, "x") < 0.5),))

    view = View(FunctionGame("bet", (options,), rule), 0, "none", facts={"stage": "x", "moves": ()})
    assert best_move(Past(view), options) == best


def test_a_last_move_that_is_no_option_any_more_is_expected_at_the_nearest_one() -> None:
    fives = Amounts(0, 20, 5)
    play = at_once("x", (fives, fives), lambda done: [float(done[0] == done[1] + 5), 0.0])
    moves = [{"seat": seat, "stage": "x", "value": 7} for seat in (0, 1)]
    past = History([Round(1, (0, 0), (0.0, 0.0), facts={"moves": moves})])
    view = View(FunctionGame("ahead", (fives, fives), play), 0, "none", 2, past, {"stage": "x", "moves": ()})
    assert best_move(Past(view), fives) == 10


def test_a_best_response_tries_every_course_of_play_once() -> None:
    tried: Counter[tuple[Any, ...]] = Counter()
    amounts = Amounts(0, 4)

    def rule(now: Now) -> Stages:
        (size,) = yield [Due(0, "size", amounts)]
        (entry,) = yield [Due(1, "entry", ("in", "out"))]
        made = yield [Due(0, "made", amounts), Due(1, "made", amounts)]
        tried[size, entry, *made] += 1
        price = 8 - float(made[0]) - float(made[1])
        return End((price * float(made[0]) - float(size), price * float(made[1]) * (entry == "in")))

    game = FunctionGame(
        "entry", (amounts, Amounts(0, 4, also=("in", "out"))), rule, stages=("size", "entry", "made"), turns=4
    )
    view = View(game, 0, "none", facts={"stage": "size", "moves": ()})
    assert best_move(Past(view), amounts) == 0
    assert set(tried.values()) == {1} and len(tried) == 5 * 2 * 5 * 5


@pytest.mark.parametrize(
    ("game", "types", "says"),
    [
        ("ultimatum", ["tit_for_tat", "random"], "speaks of cooperation"),
        ("ultimatum", ["proportional", "proportional"], "names an amount"),
        ("ultimatum", ["constant:140", "random"], "not an option here"),
        ("common_pool", ["threshold", "threshold"] + ["random"] * 3, None),
    ],
)
def test_a_strategy_that_has_no_rule_says_so(game: str, types: list[str], says: str | None) -> None:
    if says is None:
        assert match(game, types).rounds
    else:
        with pytest.raises(StudyError, match=says):
            match(game, types)


def _for_ever(now: Now) -> Stages:
    while True:
        yield [Due(0, "x", Amounts(0, 5))]


def _silent(now: Now) -> Stages:
    while True:
        yield []


def _twice(now: Now) -> Stages:
    yield [Due(0, "x", Amounts(0, 5)), Due(0, "x", Amounts(0, 5))]
    return End((0, 0))


def _nowhere(now: Now) -> Stages:
    yield [Due(2, "x", Amounts(0, 5))]
    return End((0, 0))


def _infinite(now: Now) -> Stages:
    yield [Due(0, "x", Amounts(0, 5))]
    return End((float("inf"), float("nan")))


def _short(now: Now) -> Stages:
    yield [Due(0, "x", Amounts(0, 5))]
    return End((1.0,))


def _nothing(now: Now) -> Any:
    yield [Due(0, "x", Amounts(0, 5))]


def _nobody(now: Now) -> Stages:
    return End((1.0, 1.0))
    yield


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (_for_ever, "asks more than 2 decisions"), (_silent, "asks nobody anything at a step"),
        (_twice, "asks the seats [1, 1] at the same time"), (_nowhere, "asks the seats [3]"),
        (_infinite, "pays [inf, nan]"), (_short, "pays [1.0]"), (_nothing, "returns NoneType"),
        (_nobody, "asks nobody anything"),
    ],
)  # fmt: skip
def test_a_rule_that_breaks_the_contract_is_refused_in_play(rule: Any, says: str) -> None:
    game = FunctionGame("odd", (Amounts(0, 5),) * 2, rule, stages=("x",))
    with pytest.raises(GameError, match=re.escape(says)):
        game.payoff((1, 1))
    with pytest.raises(AssertionError, match=re.escape(says)):
        check_game(game)


def test_a_best_response_among_a_thousand_million_amounts_is_found_in_steps() -> None:
    """The peak lies where no even step falls; a refused amount is named without listing any."""
    peak = 123_456_789

    def play(now: Now) -> Stages:
        (named,) = yield [Due(0, "x", Amounts(0, 10**9 - 1))]
        return End((-abs(float(named) - peak),))

    game = FunctionGame("hill", (Amounts(0, 10**9 - 1),), play, stages=("x",))
    view = View(game, 0, "none", facts={"stage": "x", "moves": []})
    assert best_move(Past(view), Amounts(0, 10**9 - 1)) == peak
    with pytest.raises(StudyError, match="default:0 to 999999999"):
        check_policy_action("default:much", game, None)
