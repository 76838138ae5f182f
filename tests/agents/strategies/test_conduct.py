"""What scripts do where more than a move is asked for, and how they read the past."""

from typing import Any

import pytest

from ostrom.agents.automaton import Automaton, explore, remember
from ostrom.agents.conduct import CONDUCT, kind, shared_past
from ostrom.agents.past import Past
from ostrom.agents.scripted import _drawn, whole_percentages
from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import clamped
from ostrom.answers import Choice, Number, Record, Text
from ostrom.games import games
from ostrom.ground.errors import OstromError, StudyError
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA, THREE_PLAYERS, view_of

PD = PRISONERS_DILEMMA


def blank(name: str, **parts: dict[str, Any]) -> Record:
    return Record(name, {"type": "object", "properties": parts, "required": list(parts)})


def said(spec: str, what: str, facts: dict[str, Any], form: Any = None, game: Any = PD, seat: int = 0) -> Any:
    return CONDUCT[what](strategies.build(spec), View(game, seat, "none", facts=facts), form or Text())


@pytest.mark.parametrize(
    ("spec", "friendly"), [("random:0.5", True), ("random:0.49", False), ("grim", True), ("defector", False)]
)
def test_a_script_is_kind_where_it_opens_with_cooperation_at_even_odds_or_better(spec: str, friendly: bool) -> None:
    assert kind(strategies.build(spec), view_of(PD, [(1, 1)])) == friendly
    assert not kind(strategies.build("favourite"), view_of(NO_COOPERATION, []))


@pytest.mark.parametrize(
    ("spec", "seat", "played", "units"),
    [
        ("grim", 0, (0, 1, 0), [1, 0]),
        ("grim", 1, (1, 0, 1), [1, 1]),
        ("grim", 2, (1, 0, 0), [1, 0]),
        ("grim", 0, (1, 1, 0), [0, 0]),  # it did not cooperate itself
        ("defector", 0, (0, 1, 0), [0, 0]),
    ],
)
def test_who_cooperated_punishes_who_did_not(spec: str, seat: int, played: tuple[int, ...], units: list[int]) -> None:
    form = blank("punish", a={"type": "integer"}, b={"type": "integer"})
    facts = {"played": {"actions": played}}
    assert said(spec, "punish", facts, form, THREE_PLAYERS, seat) == dict(zip("ab", units, strict=True))


@pytest.mark.parametrize(
    ("spec", "caps", "action", "least", "cap"),
    [
        ("grim", [[100, 100], [100, 100]], 1, 0, 75),
        ("grim", [[100, 60], [10, 100]], 1, 0, 60),  # never up again
        ("grim", [[100, 100], [100, 50]], 1, 0, 25),
        ("grim", [[100, 100], [100, 10]], 1, 5, 5),
        ("grim", [[90, 100], [100, 100]], 0, 0, 90),  # what cooperates is not capped
        ("defector", [[100, 100], [100, 50]], 1, 0, 100),
    ],
)
def test_a_kind_script_disarms_a_step_ahead(spec: str, caps: Any, action: int, least: int, cap: int) -> None:
    assert said(spec, "disarm", {"caps": caps, "action": action, "least": least}) == {"cap": cap}


def record(name: str, *actions: int | None, first: int = 1, seat: int = 1) -> dict[str, Any]:
    """A record, newest round first, as members see it."""
    rounds = [
        {"round": n, "players": [{"name": "X", "seat": 9, "action": 0, "payoff": 0.0},
         {"name": name, "seat": seat, "action": action, "payoff": float(n)}]}
        for n, action in enumerate(actions, first)
    ]  # fmt: skip
    return {"name": name, "matches": rounds[::-1]}


PEOPLE = [
    {"name": each["name"], "record": each}
    for each in (record("A", 0, 1), record("B", 1, 0), record("C"), record("D", 0, None))
]


@pytest.mark.parametrize(
    ("spec", "near", "far", "cut", "propose"),
    [
        ("grim", ["B", "A"], ["A", "B"], "A", "B"),
        ("grim", ["B", "C"], ["A", "C"], "nobody", "C"),
        ("grim", ["D"], ["A"], "nobody", "nobody"),
        ("grim", [], ["A", "D"], "nobody", "D"),
        ("defector", ["A"], ["A", "B"], "nobody", "B"),
    ],
)
def test_links_are_cut_and_proposed_by_the_last_action(
    spec: str, near: list[str], far: list[str], cut: str, propose: str
) -> None:
    cuts, proposals = ({"type": "string", "enum": ["nobody", *names]} for names in (near, far))
    form = blank("link", cut=cuts, propose=proposals)
    assert said(spec, "link", {"people": PEOPLE}, form) == {"cut": cut, "propose": propose}


@pytest.mark.parametrize(("spec", "taken"), [("grim", "BCD"), ("defector", "ABCD")])
def test_who_did_not_cooperate_last_is_turned_down(spec: str, taken: str) -> None:
    assert said(spec, "accept", {"people": PEOPLE}) == {name: name in taken for name in "ABCD"}


def test_in_a_society_the_past_is_that_of_those_at_the_table() -> None:
    def past(*records: dict[str, Any], **facts: Any) -> list[tuple[int, tuple[int, ...], tuple[float, ...]]]:
        read = shared_past(View(PD, 0, "society", 4, facts={"records": list(records), **facts}))
        assert read is not None
        return [(r.number, r.actions, tuple(r.payoffs)) for r in read]

    own = record("You", 0, 1, 1, seat=0)
    assert past(own, record("A", 1, None, 0)) == [(1, (0, 1), (1.0, 1.0)), (3, (1, 0), (3.0, 3.0))]
    assert past(own, record("A", 1, first=2)) == [(2, (1, 1), (2.0, 2.0))]
    one, two, three = (record(name, action) for name, action in (("A", 0), ("B", 1), ("C", 1)))
    assert past(own, one, two, neighbours=2) == [(1, (0, 0), (1.0, 1.0))]  # a tie is cooperation
    assert past(own, one, two, three, neighbours=3) == [(1, (0, 1), (1.0, 1.0))]
    assert past(own, neighbours=0) == [] and shared_past(view_of(PD, [(0, 1)])) is None
    kept = View(PD, 0, "society", 2, view_of(PD, [(1, 0)]).history, facts={"records": [record("A", 0)]})
    assert [r.actions for r in shared_past(kept) or ()] == [(1, 0)]
    assert [r.actions for r in shared_past(kept, ()) or ()] == []


def test_in_a_society_amounts_are_remembered_as_moves_of_their_seats() -> None:
    pool = games.get("common_pool")(n=2)
    records = [record("You", 0, 1, seat=0), record("A", 2, 1)]
    past = shared_past(View(pool, 0, "society", 3, facts={"records": records}))
    assert past is not None
    first, second = past
    assert first.facts["moves"] == [
        {"seat": 0, "stage": None, "value": pool.value(0, 0)}, {"seat": 1, "stage": None, "value": pool.value(1, 2)},
    ]  # fmt: skip
    assert [move["value"] for move in second.facts["moves"]] == [pool.value(seat, 1) for seat in (0, 1)]


@pytest.mark.parametrize(
    ("profiles", "last", "cooperated", "defected"),
    [
        ([], 1, True, False),
        ([(0, 0)], 2, True, False),
        ([(0, 1)], 2, False, False),
        ([(0, 1), (0, 0), (0, 0)], 2, True, False),
        ([(0, 0), (0, 1), (0, 1)], 2, False, True),
        ([(0, 1), (0, 1)], 2, False, True),
        ([(0, 1), (0, 0)], 2, False, False),
    ],
)
def test_rounds_in_a_row_are_read_alike_with_one_and_two_others(
    profiles: list[tuple[int, int]], last: int, cooperated: bool, defected: bool
) -> None:
    for past in (
        Past(view_of(PD, profiles)),
        Past(view_of(THREE_PLAYERS, [(a, b, b) for a, b in profiles])),
        Past(view_of(THREE_PLAYERS, [(1, a, b) for a, b in profiles])),
    ):
        assert (past.cooperated_throughout(last), past.defected_throughout(last)) == (cooperated, defected)


def test_defectors_are_counted_without_the_own_seat_and_up_to_the_tolerance() -> None:
    view = view_of(THREE_PLAYERS, [(1, 1, 0)], 1)
    assert [Past(view, tolerance=t).cooperated(0) for t in (0, 1)] == [False, True]
    assert (Past(view).defectors(0), Past(view).others(0), Past(view).own_action(0)) == (1, (1, 0), 1)
    with pytest.raises(StudyError, match="defines no cooperative action for seat 2"):
        Past(view_of(NO_COOPERATION, [(0, 0)])).defectors(0)


def test_an_automaton_is_found_where_its_states_are_few_enough() -> None:
    def count(state: int, own: bool, other: bool) -> int:
        return min(state + 1, 3)

    assert explore(0, count, lambda s: float(s == 3), most=3) is None
    assert explore(0, count, lambda s: float(s == 3), most=4) == Automaton(
        (0.0, 0.0, 0.0, 1.0), ((1,) * 4, (2,) * 4, (3,) * 4, (3,) * 4)
    )
    copies = remember(1, lambda pairs: float(not pairs or pairs[-1][1]))
    assert copies == Automaton((1.0, 0.0), ((0, 1, 0, 1), (0, 1, 0, 1)))
    assert copies is not None
    assert [copies.after([(True, a), (False, b)]) for a in (True, False) for b in (True, False)] == [1, 0, 1, 0]
    assert remember(0, lambda pairs: 0.5) == Automaton((0.5,), ((0,) * 4,))


@pytest.mark.parametrize(
    ("u", "option"), [(0.0, "b"), (0.29, "b"), (0.3, "c"), (0.59, "c"), (0.6, "d"), (0.9999, "d"), (1.0, "d")]
)
def test_an_option_is_drawn_by_the_odds_in_their_order(u: float, option: str) -> None:
    assert _drawn({"a": 0.0, "b": 0.3, "c": 0.3, "d": 0.4, "e": 0.0}, u) == option


@pytest.mark.parametrize(
    ("odds", "caps", "whole"),
    [
        ({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 20}, {"a": 20, "b": 48, "c": 32}),
        ({"a": 0.9, "b": 0.1, "c": 0.0}, {"a": 50, "b": 30}, {"a": 50, "b": 30, "c": 20}),
        ({"a": 1.0, "b": 0.0, "c": 0.0}, {"a": 0}, {"a": 0, "b": 50, "c": 50}),
        ({"a": 0.005, "b": 0.995}, None, {"a": 1, "b": 99}),
        ({"a": 0.5, "b": 0.5}, {"a": 50, "b": 50}, {"a": 50, "b": 50}),
    ],
)  # fmt: skip
def test_what_a_cap_cuts_off_goes_where_there_is_room(odds: Any, caps: Any, whole: dict[str, int]) -> None:
    assert whole_percentages(odds, caps) == whole


def test_caps_must_leave_room_for_all() -> None:
    with pytest.raises(StudyError, match="leave no room"):
        whole_percentages({"a": 0.5, "b": 0.5}, {"a": 50, "b": 49})


@pytest.mark.parametrize(("good", "offered"), [("grim", True), ("defector", False)])
def test_agreements_are_offered_and_accepted_by_kind_scripts_alone(good: str, offered: bool) -> None:
    players = {name: {"type": "array", "items": {"type": "string"}} for name in ("p1", "p2")}
    form = blank("offer", actions={"type": "object", "properties": players, "required": ["p1", "p2"]})
    made = said(good, "offer", {"agreements": []}, form)["actions"]
    assert made == {"p1": ["cooperate"] * offered, "p2": ["cooperate"] * offered}
    assert said(good, "offer", {"agreements": [1]}, form)["actions"] == {"p1": [], "p2": []}
    both = [{"seat": 0, "action": 0}, {"seat": 1, "action": 0}]
    for actions, payer, fair in ((both, 1, True), (both, 0, False), (both[:1], 1, False)):
        terms = {"offer": {"offer": {"actions": actions, "payments": [{"from": payer}]}}}
        assert said(good, "reply", terms)["accept"] == (offered and fair)


CANNOT: dict[str, tuple[str, Any, str]] = {
    "a message": ("message", Choice(("a", "b")), "can only answer a 'message' decision with"),
    "message without text": ("message", blank("m", to={"type": "string"}), "can only answer"),
    "a number": ("predict", Number(0, 9), "can only predict one player's choice"),
    "other options": ("predict", Choice(("x", "y")), "can only predict one player's choice"),
    "long memory": ("state", blank("memory_one"), "has no memory-one table to state"),
}


@pytest.mark.parametrize("case", CANNOT)
def test_a_question_that_a_script_has_no_answer_to_is_refused(case: str) -> None:
    what, form, message = CANNOT[case]
    with pytest.raises((OstromError, ValueError), match=message):
        said("grim", what, {}, form)


@pytest.mark.parametrize(
    ("seat", "played", "target", "expected"),
    [(0, [], 1, 0), (0, [(0, 1)], 1, 1), (1, [(1, 0), (0, 1)], 0, 0), (0, [(1, 0)], 0, 1)],
)
def test_a_player_is_expected_to_repeat_its_last_action(seat: int, played: Any, target: int, expected: int) -> None:
    view = view_of(PD, played, seat)
    told = View(PD, seat, "none", len(played) + 1, history=view.history, facts={"target": target})
    found = CONDUCT["predict"](strategies.build("grim"), told, Choice(PD.actions[0]))
    assert found == PD.actions[0][expected]


@pytest.mark.parametrize(
    ("form", "value", "given"),
    [(Number(0, 10, 2), 5.2, 6), (Number(0, 10), 99, 10), (Number(0, 10), "x", "x"), (Choice(("5",)), 5.2, 5.2)],
)
def test_an_amount_is_given_as_the_form_allows(form: Any, value: Any, given: Any) -> None:
    assert clamped(form, value) == given


MOVES = [{"seat": 0, "stage": "offer", "value": 30}, {"seat": 1, "stage": "reply", "value": "reject"}]


@pytest.mark.parametrize(
    ("played", "target", "stage", "form", "expected"),
    [
        ([MOVES], 1, "reply", Choice(("accept", "reject")), "reject"),
        ([MOVES], 1, "reply", Choice(("accept", "wait")), "accept"),
        ([MOVES], 0, "offer", Number(0, 100), 30),
        ([MOVES], 0, "offer", Number(0, 20), 20),
        ([MOVES, [{"seat": 0, "stage": "offer", "value": 50}]], 0, "offer", Number(0, 100), 50),
        ([], 1, "offer", Number(7, 100), 7),
    ],
)
def test_a_move_at_a_stage_is_expected_to_be_made_again(
    played: Any, target: int, stage: str, form: Any, expected: Any
) -> None:
    game = games.build("ultimatum")
    assert game.cooperative[1] is None
    history = History([Round(n, (), (0, 0), facts={"moves": moves}) for n, moves in enumerate(played, 1)])
    view = View(game, 1 - target, "none", 3, history, {"target": target, "target_stage": stage})
    assert CONDUCT["predict"](strategies.build("random"), view, form) == expected
