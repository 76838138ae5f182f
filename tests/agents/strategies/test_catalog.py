"""Every strategy of the catalog keeps the contract, and plays what its definition says."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from tools.site import reference

from ostrom.agents.past import Past
from ostrom.agents.strategies import strategies
from ostrom.agents.strategies._dilemma import ZDExtortion
from ostrom.agents.strategy import Strategy
from ostrom.answers import Number
from ostrom.games import games
from ostrom.games.game import Game, Profile
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import OstromError, StudyError
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA, THREE_PLAYERS, check_strategy, view_of

PARAMETERS = {"constant": "constant:1"}
OURS = [PARAMETERS.get(name, name) for name in strategies if name != "axelrod"]
VARIANTS = [
    "random:0.25", "random:1", "generous_tit_for_tat:0.5", "naive_prober:0.2", "zd_extortion:2",
    "alternator:start=1", "best_response:first=0", "firm_but_fair:0", "joss:1",
]  # fmt: skip
TOLERANT = [name for name in OURS if "tolerance" in strategies.parameters(name.partition(":")[0]) and name != "bully"]


def moves(spec: str, other: str, game: Game = PRISONERS_DILEMMA, own: str | None = None, seat: int = 0) -> str:
    """What a deterministic strategy answers to a sequence of moves; ``own`` overrides what it carried out."""
    strategy, said = strategies.build(spec), ""
    names = "CD" if game.cooperative[0] is not None else "".join(game.actions[0])
    for t in range(len(other) + 1):
        did = own or said
        pairs = [(names.index(did[i]), names.index(other[i])) for i in range(t)]
        profiles: list[Profile] = [pair if seat == 0 else pair[::-1] for pair in pairs]
        said += names[list(strategy.odds(view_of(game, profiles, seat))).index(1.0)]
    return said


@pytest.mark.sample(12)
@pytest.mark.parametrize("spec", OURS + VARIANTS)
def test_keeps_the_contract(spec: str) -> None:
    check_strategy(spec)


@pytest.mark.sample(6)
@pytest.mark.parametrize("spec", TOLERANT)
def test_keeps_the_contract_with_tolerance(spec: str) -> None:
    def make() -> Strategy:
        return strategies.build({"name": spec, "tolerance": 1})

    check_strategy(make, games=[THREE_PLAYERS])


@pytest.mark.parametrize("spec", OURS)
def test_declares_no_more_memory_than_it_uses(spec: str) -> None:
    depth = strategies.build(spec).memory_depth
    # Best response never looks back where defecting is dominant; instructions name strategies of any depth.
    if depth == 0 or spec in ("best_response", "instructed") or strategies.build(spec).about_amounts:
        return
    less = 3 if depth == float("inf") else int(depth) - 1
    answers: dict[tuple[Profile, ...], set[tuple[float, ...]]] = {}
    for length in (less, less + 1):
        for profiles in product(list(PRISONERS_DILEMMA.profiles()), repeat=length):
            odds = tuple(strategies.build(spec).odds(view_of(PRISONERS_DILEMMA, profiles)))
            answers.setdefault(profiles[length - less :], set()).add(odds)
    assert any(len(different) > 1 for different in answers.values())


@pytest.mark.parametrize(
    ("spec", "other", "expected"),
    [
        ("cooperator", "CDDC", "CCCCC"),
        ("defector", "CDDC", "DDDDD"),
        ("alternator", "CDDC", "CDCDC"),
        ("alternator:start=defect", "CDDC", "DCDCD"),
        ("tit_for_tat", "CDDC", "CCDDC"),
        ("suspicious_tit_for_tat", "CDDC", "DCDDC"),
        ("reverse_tit_for_tat", "CDDC", "DDCCD"),
        ("tit_for_two_tats", "CDCDDDC", "CCCCCDDC"),
        ("two_tits_for_tat", "CDCCDCC", "CCDDCDDC"),
        ("hard_tit_for_tat", "CDCCCDC", "CCDDDCDD"),
        ("grim", "CDCCC", "CCDDD" + "D"),
        ("win_stay_lose_shift", "CDDCC", "CCDCC" + "C"),
        ("defect_once", "DDDD", "DCCCC"),
        ("contrite_tit_for_tat", "CDDC", "CCDDC"),
        ("favourite", "CDC", "DDDD"),
        ("constant:defect", "CDC", "DDDD"),
        ("constant:0", "CDC", "CCCC"),
    ],
)
def test_plays_by_its_definition(spec: str, other: str, expected: str) -> None:
    assert moves(spec, other) == expected


def test_aliases_are_the_same_rule() -> None:
    assert strategies.get("grudger") is strategies.get("grim")
    assert strategies.get("bully") is strategies.get("reverse_tit_for_tat")


def test_alternators_start_with_the_others_favourite_in_battle_of_the_sexes() -> None:
    assert moves("alternator", "JJJ", NO_COOPERATION) == "FJFJ"
    assert moves("alternator", "FFF", NO_COOPERATION, seat=1) == "JFJF"
    assert moves("alternator:own", "JJJ", NO_COOPERATION) == "JFJF"


def test_favourite_insists_on_the_own_best_outcome() -> None:
    assert moves("favourite", "FJ", NO_COOPERATION) == "JJJ"
    assert moves("favourite", "FJ", NO_COOPERATION, seat=1) == "FFF"


def test_best_response_follows_the_others_last_action() -> None:
    assert moves("best_response:F", "JFJ", NO_COOPERATION) == "FJFJ"
    believer = strategies.build({"name": "best_response", "belief": [[0.5, 0.5]]})
    assert list(believer.odds(view_of(NO_COOPERATION, []))) == [1.0, 0.0]
    believer = strategies.build({"name": "best_response", "belief": [[0.4, 0.6]]})
    assert list(believer.odds(view_of(NO_COOPERATION, [(0, 0)]))) == [0.0, 1.0]


def test_best_response_cooperates_when_indifferent() -> None:
    flat = TensorGame("flat", (("d", "c"), ("d", "c")), np.zeros((2, 2, 2)), (1, 1))
    assert list(strategies.build("best_response").odds(view_of(flat, [(0, 0)]))) == [0.0, 1.0]


def test_random_without_chance_plays_every_action_alike() -> None:
    wide = TensorGame("wide", (("a", "b", "c", "d"),) * 2, np.zeros((4, 4, 2)))
    assert list(strategies.build("random").odds(view_of(wide, []))) == [0.25] * 4


@pytest.mark.parametrize(
    ("slip", "expected"),
    [
        # It slipped in round 2 against tit for tat: it takes the punishment and both are back in peace.
        (("CDCC", "CCDC"), "CCCCC"),
        # A slip that is repeated while making up for the first.
        (("CDDCC", "CCDDC"), "CCCCCC"),
        # The other defects for no reason: answered once, and once the other is good again, no more.
        (("CCDC", "CDCC"), "CCDCC"),
    ],
)
def test_contrite_tit_for_tat_accepts_punishment_for_its_slips(slip: tuple[str, str], expected: str) -> None:
    own, other = slip
    assert moves("contrite_tit_for_tat", other, own=own) == expected


@pytest.mark.parametrize(
    ("spec", "first", "after"),
    [
        ("random:0.25", 0.25, (0.25, 0.25, 0.25, 0.25)),
        ("generous_tit_for_tat:0.3", 1.0, (1.0, 0.3, 1.0, 0.3)),
        ("naive_prober:0.2", 1.0, (0.8, 0.0, 0.8, 0.0)),
        ("joss", 1.0, (0.9, 0.0, 0.9, 0.0)),
        ("firm_but_fair", 1.0, (1.0, 0.0, 1.0, 2 / 3)),
        ("zd_extortion", 1.0, (11 / 13, 1 / 2, 7 / 26, 0.0)),
    ],
)
def test_states_the_odds_of_its_definition(spec: str, first: float, after: tuple[float, ...]) -> None:
    """At first, and after CC, CD, DC and DD."""
    strategy = strategies.build(spec)
    assert strategy.odds(view_of(PRISONERS_DILEMMA, []))[0] == first
    found = [strategy.odds(view_of(PRISONERS_DILEMMA, [p]))[0] for p in PRISONERS_DILEMMA.profiles()]
    assert found == pytest.approx(after)


def test_generosity_follows_from_the_payoffs() -> None:
    pd = TensorGame("pd", (("C", "D"),) * 2, np.array([[[8, 8], [0, 10]], [[10, 0], [5, 5]]]), (0, 0))
    assert strategies.build("generous_tit_for_tat").odds(view_of(pd, [(0, 1)]))[0] == pytest.approx(0.6)
    assert strategies.build("generous_tit_for_tat:0.1").odds(view_of(pd, [(0, 1)]))[0] == 0.1


def test_the_most_tempting_defection_bounds_generosity_where_there_are_several() -> None:
    claims = games.build("travelers_dilemma")  # claims of 2 to 5: undercutting by 1 pays 6 against 5, by 3 only 4
    strategy = strategies.build("generous_tit_for_tat")
    assert strategy.odds(view_of(claims, [(3, 2)]))[3] == pytest.approx(0.8)  # 1 - (6 - 5) / (5 - 0)
    long = games.build("travelers_dilemma:low=2,high=5,bonus=3")  # 1 - (7 - 5) / (5 + 1)
    assert strategy.odds(view_of(long, [(3, 0)]))[3] == pytest.approx(2 / 3)


def test_generosity_is_refused_before_the_first_move_where_the_game_is_no_dilemma() -> None:
    stag_hunt = TensorGame("stag_hunt", (("C", "D"),) * 2, np.array([[[5, 5], [0, 3]], [[3, 0], [3, 3]]]), (0, 0))
    with pytest.raises(StudyError, match="game stag_hunt is no dilemma"):
        strategies.build("generous_tit_for_tat").odds(view_of(stag_hunt, []))


def test_extortion_gives_the_odds_of_press_and_dyson() -> None:
    odds = ZDExtortion(3, 1 / 26).memory_one(PRISONERS_DILEMMA, 0)
    assert odds == pytest.approx((11 / 13, 1 / 2, 7 / 26, 0))
    assert ZDExtortion(3).memory_one(PRISONERS_DILEMMA, 1) == pytest.approx(odds)


@pytest.mark.parametrize("chi", [1.5, 3.0, 10.0])
@pytest.mark.parametrize("other", [(0.9, 0.5, 0.3, 0.2), (1.0, 0.1, 0.9, 0.4), (0.6, 0.6, 0.6, 0.6)])
def test_extortion_holds_its_surplus_at_chi_times_the_others(chi: float, other: tuple[float, ...]) -> None:
    p = ZDExtortion(chi).memory_one(PRISONERS_DILEMMA, 0)
    q = (other[0], other[2], other[1], other[3])  # the other sees CD as DC
    chain = np.array([[a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)] for a, b in zip(p, q, strict=True)])
    share = np.linalg.matrix_power(chain, 5000)[0]
    mine, its = share @ [3, 0, 5, 1], share @ [3, 5, 0, 1]
    assert mine - 1 == pytest.approx(chi * (its - 1), abs=1e-9)


def test_extortion_refuses_what_would_leave_the_unit_interval() -> None:
    with pytest.raises(StudyError, match=r"phi must be at most 0\.0769231 with chi 3"):
        ZDExtortion(3, 0.08).memory_one(PRISONERS_DILEMMA, 0)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("random:1.5", "p must be a number from 0 to 1"),
        ("naive_prober:often", "p must be a number from 0 to 1"),
        ("zd_extortion:0.5", "chi must be a number of at least 1"),
        ("grim:tolerance=-1", "tolerance must be a whole number"),
        ("cooperator:tolerance=1", "tolerance"),
        ("constant", "action"),
    ],
)
def test_wrong_parameters_are_one_clear_line(spec: str, complaint: str) -> None:
    with pytest.raises(StudyError, match=complaint) as caught:
        strategies.build(spec)
    assert "\n" not in str(caught.value)


def test_unknown_actions_are_named() -> None:
    with pytest.raises(StudyError, match=r"has no such action.*'X'.*allowed: J, F"):
        strategies.build("constant:X").odds(view_of(NO_COOPERATION, []))


def test_tolerance_that_would_forgive_everything_is_refused() -> None:
    with pytest.raises(StudyError, match="tolerance must be below the number of co-players"):
        strategies.build("tit_for_tat:tolerance=1").odds(view_of(PRISONERS_DILEMMA, []))


def test_the_documentation_lists_every_strategy_with_its_source() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", reference.pages()["strategies"], re.MULTILINE)
    assert dict(rows) == {name: strategies.get(name).citation for name in strategies.names()}  # type: ignore[attr-defined]


REFUSED: dict[str, tuple[Any, Game, str]] = {
    "no cooperation": ("tit_for_tat", NO_COOPERATION, "needs a cooperative action for every seat"),
    "two seats": ("zd_extortion", THREE_PLAYERS, "plays games of two, .* has 3 seats"),
    "tolerance": ({"name": "tit_for_tat", "tolerance": 2}, THREE_PLAYERS, "which is 2 in game"),
    "no such action": ({"name": "constant", "action": "sing"}, PRISONERS_DILEMMA, "seat 1 of .* has no such action"),
    "action 2 of 2": ({"name": "constant", "action": 2}, PRISONERS_DILEMMA, "has no such action"),
    "half an action": ({"name": "constant", "action": 0.5}, PRISONERS_DILEMMA, "has named actions"),
    "no stages": ({"name": "constant", "action": {"offer": 1}}, PRISONERS_DILEMMA, "has named actions"),
    "moves by stage": (
        {"name": "script", "moves": {"offer": [1]}}, PRISONERS_DILEMMA, "has named actions and no stages",
    ),
    "no moves": ({"name": "script", "moves": []}, PRISONERS_DILEMMA, "moves must be a list of actions"),
    "no stage moves": ({"name": "script", "moves": {}}, PRISONERS_DILEMMA, "moves must be a list of actions"),
    "yes for a move": ({"name": "script", "moves": [True]}, PRISONERS_DILEMMA, "moves must be a list of actions"),
    "belief and first": (
        {"name": "best_response", "first": 0, "belief": [[1, 0]]}, PRISONERS_DILEMMA, "first and belief exclude",
    ),
    "odds below 0": ({"name": "best_response", "belief": [[1.5, -0.5]]}, PRISONERS_DILEMMA, "odds that sum to 1"),
    "odds above 1": ({"name": "best_response", "belief": [[1, 0.5]]}, PRISONERS_DILEMMA, "odds that sum to 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_strategy_cannot_play_is_refused(case: str) -> None:
    spec, game, message = REFUSED[case]
    with pytest.raises((OstromError, ValueError), match=message):
        strategies.build(spec).odds(view_of(game, []))


def test_memory_below_nought_is_refused_where_a_strategy_is_defined() -> None:
    for depth in (-1, "long"):
        with pytest.raises(TypeError, match=r"Bad: memory_depth must be 0 or more"):
            type("Bad", (Strategy,), {"memory_depth": depth})
    assert issubclass(type("Good", (Strategy,), {"memory_depth": 0}), Strategy)


def test_a_move_by_a_rule_is_the_cooperative_or_the_defective_amount() -> None:
    game = games.build("public_goods_amounts:3")
    past = Past(View(game, 0, "none", facts={"stage": "give"}), ())
    good, bad = game.cooperative[0], game.defective[0]
    assert good is not None and bad is not None
    chosen = strategies.build("cooperator").choose(past, Number(0, 100))
    assert isinstance(chosen, dict) and {v: p for v, p in chosen.items() if p} == {game.value(0, good): 1.0}


@pytest.mark.parametrize(
    ("advice", "trust", "chance"), [(None, 1.0, 0.0), (0, 1.0, 1.0), (0, 0.25, 0.25), (1, 1.0, 0.0)]
)
def test_advice_is_taken_as_far_as_it_is_trusted(advice: int | None, trust: float, chance: float) -> None:
    strategy = strategies.build({"name": "advised", "trust": trust})
    told = {} if advice is None else {"advice": advice}
    past = Past(View(PRISONERS_DILEMMA, 0, "none", facts=told), ())
    assert strategy.move(past) == chance and strategy.mix(past)[0] == chance
    assert strategy.stochastic == (0 < trust < 1)
    assert strategies.build({"name": "advised", "otherwise": "random"}).stochastic


@pytest.mark.parametrize(
    ("instruction", "chance"),
    [(None, 1.0), ("Play defector now.", 0.0), ("instructed, then defector", 0.0), ("Be nice.", 1.0)],
)
def test_an_instruction_is_followed_where_it_names_a_strategy(instruction: str | None, chance: float) -> None:
    told = {} if instruction is None else {"instruction": instruction}
    assert strategies.build("instructed").move(Past(View(PRISONERS_DILEMMA, 0, "none", facts=told), ())) == chance
    with pytest.raises(OstromError, match=r"^strategy instructed: strategy cooperator needs a cooperative action"):
        strategies.build("instructed").mix(Past(View(NO_COOPERATION, 0, "none"), ()))


@pytest.mark.parametrize(
    ("moves", "rounds"), [(["a"], 1), ([0, 1, 0], 3), ({"offer": [1, 2, 3], "reply": ["accept"]}, 3)]
)
def test_a_script_is_fixed_for_as_many_rounds_as_its_longest_list(moves: Any, rounds: int) -> None:
    assert strategies.build({"name": "script", "moves": moves}).fixed_rounds == rounds


@pytest.mark.parametrize(("params", "named"), [({"least": 5}, 5), ({"least": 5, "names": 0}, 0)])
def test_a_threshold_names_what_it_asks_for_unless_another_amount_is_given(params: dict[str, int], named: int) -> None:
    strategy = strategies.build({"name": "threshold", **params})
    past = Past(View(games.get("dictator")(), 0, "none", facts={"stage": "give", "moves": ()}))
    assert strategy.choose(past, Number(0, 10)) == named


def test_a_conditional_cooperator_names_the_mean_of_those_who_named_an_amount_at_the_stage() -> None:
    game = games.get("public_goods_amounts")(n=4)
    named = ((0, "give", 9), (1, "give", 4), (2, "give", 8), (1, "keep", 0), (3, "give", "no_move"))
    moves = [{"seat": seat, "stage": stage, "value": value} for seat, stage, value in named]
    past = [Round(1, (0, 0, 0, 0), (0.0,) * 4, facts={"moves": moves})]
    view = View(game, 0, "repetition", 2, History(past), {"stage": "give", "moves": ()})
    for slope, amount in ((1.0, 6), (0.5, 3)):
        strategy = strategies.build({"name": "conditional_cooperator", "slope": slope})
        assert strategy.choose(Past(view), Number(0, 20)) == amount


def test_a_chance_of_none_or_all_is_no_chance() -> None:
    made = [strategies.build(f"random:{p}") for p in (0, 0.5, 1)]
    assert [one.stochastic for one in made] == [False, True, False] and strategies.build("random").stochastic
