"""Parts of the pages of people and of the researcher, by hand: whose points, whose words, what is wrong."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from ostrom.mechanisms.protocol import Round
from ostrom.people import admin
from ostrom.people.admin import AWAY, Admin
from ostrom.people.pages import NOTHING, _heard, _last, _line, _messages, _payoffs, _seats, _terms
from ostrom.people.participants import Participants
from ostrom.people.words import PageWords, words


def english() -> PageWords:
    return words("en")  # no name of the module: doctest asks every one for attributes


def entry(seat: int, seats: int = 2, **facts: Any) -> Any:
    game = SimpleNamespace(seats=seats, payoff=lambda profile: (10 * profile[0] + profile[1], profile[0]))
    view = SimpleNamespace(seat=seat, game=game, facts=facts)
    return SimpleNamespace(decision=SimpleNamespace(view=view), labels=(("J", "F"), ("a", "b", "c"))[:seats])


def test_points_are_told_from_the_own_side() -> None:
    first, second = _payoffs(entry(0)), _payoffs(entry(1))
    assert first["others"] == ("a", "b", "c") and first["rows"][1] == (
        "F",
        [("10", "1"), ("11", "1"), ("12", "1")],
    )
    assert second["others"] == ("J", "F") and second["rows"][2] == ("c", [("0", "2"), ("1", "12")])
    assert _seats(entry(1, 3)) == [1, 0, 2]


def test_a_round_is_told_with_ones_own_choice_first_and_a_missed_one_is_not_repeated() -> None:
    played = Round(3, (1, 2), (4.0, 1.5))
    assert _line(entry(1), played, english()) == {
        "number": 3,
        "labels": ["c", "F"],
        "own": "1.5",
        "other": "4",
    }
    void: Any = SimpleNamespace(number=4, actions=(), payoffs=(0.0, 0.0), missed=(0,))
    assert _line(entry(1), void, english())["labels"] == [NOTHING, english().missed]
    lines = [_line(entry(0), played, english())]
    assert (
        _last(lines, english()) == "Last round: you chose F, the other player chose c."
        and _last([], english()) == ""
    )
    assert _last([*lines, _line(entry(0), void, english())], english()) == ""


@pytest.mark.parametrize(
    ("message", "who", "text"),
    [
        ({"own": True, "from": 0, "text": " hi "}, "You", "hi"),
        ({"own": False, "from": 1, "text": ""}, "Player 2", "–"),
        ({"own": False, "from": 1, "to": 0, "to_you": True, "text": "x"}, "Player 2 → You", "x"),
        ({"own": True, "from": 0, "to": 2, "to_you": False, "text": "x"}, "You → Player 3", "x"),
        ({"own": False, "from": "mediator", "channel": "all", "text": "x"}, "mediator → all", "x"),
    ],
)
def test_a_message_says_who_spoke_to_whom(message: dict[str, Any], who: str, text: str) -> None:
    assert _heard(message, english()) == (who, text)


def test_messages_of_a_round_begin_with_ones_own() -> None:
    assert _messages(entry(1, messages=["one", " "]), english()) == [("You", "–"), ("Other player", "one")]
    assert _messages(entry(1, 3, messages=["a", "b", "c"]), english()) == [
        ("You", "b"),
        ("Player 1", "a"),
        ("Player 3", "c"),
    ]
    log = [
        {"from": 0, "text": "", "accepts": False},
        {"result": "agreed"},
        {"from": 1, "text": " so ", "offer": None},
    ]
    assert _messages(entry(1, log=log[:1]), english()) == [("Other player", english().refused)]
    assert _messages(entry(1, log=log[2:]), english()) == [("You", "so")]


def test_an_offer_is_one_line_of_what_binds_whom_and_who_pays() -> None:
    offer = {
        "actions": [{"seat": 1, "action": 2}, {"seat": 0, "amount": 5.0}],
        "payments": [{"from": 0, "to": 1, "amount": 2.5, "when": "end"}],
    }
    told = f"You: c; Other player: 5; Other player → You: 2.5 ({english()['field_when_end']})"
    assert _terms(entry(1), offer, english()) == told


@pytest.mark.parametrize(
    ("wanted", "query", "header", "language"),
    [
        ("de", "lang=fr", "fr", "de"), ("", "lang=fr", "de", "fr"), ("", "", "nl, de-AT;q=0.9, fr", "de"),
        ("xx", "", "", "en"), ("de-AT", "", "", "de"), ("", "", ", ".join(["nl"] * 20 + ["de"]), "en"),
        ("", "", ", ".join(["nl"] * 19 + ["de"]), "de"),
    ],
)  # fmt: skip
def test_a_page_speaks_the_language_that_is_asked_for(
    wanted: str, query: str, header: str, language: str
) -> None:
    own: Any = SimpleNamespace(host=SimpleNamespace(people=SimpleNamespace(languages=("en", "de", "fr"))))
    request: Any = SimpleNamespace(headers={"accept-language": header}, query_params=QueryParams(query))
    assert Participants._language(own, request, wanted) == language


def live(**more: Any) -> Any:
    fields = {
        "cell": 0,
        "end": None,
        "excluded": False,
        "points": 0.0,
        "seen": 1e12,
        "state": "playing",
        "earned": None,
        "code": "c",
    }
    return SimpleNamespace(**{**fields, **more})


def page(**more: Any) -> Any:
    people = SimpleNamespace(
        quota=2, source=SimpleNamespace(name="prolific"), codes={"done": "C"}, pay=SimpleNamespace(currency="GBP"),
        visit=[SimpleNamespace(kind="match")], time=SimpleNamespace(decision=None, accommodation=[1]),
    )  # fmt: skip
    host = {
        "people": people, "strangers": 0, "failed": 0, "failure": "", "closed": False,
        "plan": SimpleNamespace(cell_name=str, people_of=lambda cell: people),
        "register": SimpleNamespace(payments=lambda: {"paid": None}),
    }  # fmt: skip
    reader = SimpleNamespace(source=people.source)
    return SimpleNamespace(host=SimpleNamespace(**{**host, **more}), reader=reader)


def test_a_cell_counts_its_own_people_and_is_blind_until_told_otherwise() -> None:
    real = [
        live(end="done", points=3.0), live(end="done", points=4.0), live(end="departed"), live(end="timed_out"),
        live(end="departed"), live(), live(cell=1, end="done"), live(cell=None),
        live(end="done", points=9.0, excluded=True),
    ]  # fmt: skip
    found = Admin._cell(page(), 0, real, True)
    assert found == {
        "name": "0", "done": 2, "left": 4, "why": "2 left, 1 stayed away, 1 excluded", "points": "3.50", "under_way": 1,
    }  # fmt: skip
    assert (
        Admin._cell(page(), 0, real, False)["points"] == "–" == Admin._cell(page(), 2, real, True)["points"]
    )


@pytest.mark.parametrize(
    ("more", "done", "told"),
    [
        ({}, [2, 1], []),
        ({}, [2, 2], ["All cells are full: close recruiting."]),
        ({"closed": True}, [2, 3], []),
        ({"closed": True}, [2, 1], ["Recruiting is closed, and not all cells are full."]),
        ({"failed": 2, "failure": "x"}, [0, 0], ["2 matches broke off. The last one: x"]),
    ],
)
def test_what_the_researcher_should_see_to(more: dict[str, Any], done: list[int], told: list[str]) -> None:
    async def problems(*people: Any) -> list[str]:
        return Admin._problems(page(**more), [*people], [{"done": n} for n in done])

    async def quiet() -> list[str]:
        now = asyncio.get_running_loop().time()
        silent = now - AWAY - 1
        return await problems(live(seen=silent), live(seen=now - AWAY + 60), live(seen=silent, end="done"))

    assert asyncio.run(problems()) == told
    more_told = [one for one in asyncio.run(quiet()) if one not in told]
    assert more_told == ["1 person under way showed no sign of life for two minutes."]


def test_a_platform_needs_a_code_for_whoever_finishes() -> None:
    async def problems(codes: dict[str, str]) -> list[str]:
        made = page()
        made.host.people.codes = codes
        return Admin._problems(made, [], [{"done": 0}])

    assert asyncio.run(problems({"done": "C"})) == []
    assert "gets no code for prolific" in asyncio.run(problems({"full": "C"}))[0]


def test_what_is_owed_is_that_of_visits_that_are_over_and_not_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "due", lambda pay, earned, points: (Decimal(1), Decimal(str(points))))
    monkeypatch.setattr(admin, "owed", lambda source, base, bonus: bonus)
    people = [live(earned="done", points=1.5), live(earned="done", points=9.0, code="paid"), live(points=9.0),
              live(earned="departed", points=0.0, cell=None)]  # fmt: skip
    assert Admin._money(page(), people) == {"owed": "1.50", "owed_to": 1, "base_by": True}


def test_bars_are_those_of_the_study_and_of_ends_that_came_up() -> None:
    people = [live(state="waiting"), live(end="departed"), live(end="done")]
    places = Admin._places(page(), people)
    assert ("waiting for a game", 1, "here") in places and ("left", 1, "left") in places
    assert ("finished", 1, "done") in places and not any(what == "in the survey" for what, _, _ in places)
    assert not any(what == "choosing their time" for what, _, _ in places)
