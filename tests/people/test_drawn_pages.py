"""Parts of the pages of people and of the researcher, by hand: whose points, whose words, what is wrong."""

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from ostrom.people.pages import _heard, _messages, _terms
from ostrom.people.participants import Participants
from ostrom.people.words import PageWords, words


def english() -> PageWords:
    return words("en")  # no name of the module: doctest asks every one for attributes


def entry(seat: int, seats: int = 2, **facts: Any) -> Any:
    game = SimpleNamespace(seats=seats, payoff=lambda profile: (10 * profile[0] + profile[1], profile[0]))
    view = SimpleNamespace(seat=seat, game=game, facts=facts)
    return SimpleNamespace(decision=SimpleNamespace(view=view), labels=(("J", "F"), ("a", "b", "c"))[:seats])


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
    log = [{"from": 0, "text": "", "accepts": False}, {"result": "agreed"}, {"from": 1, "text": " so ", "offer": None}]
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
def test_a_page_speaks_the_language_that_is_asked_for(wanted: str, query: str, header: str, language: str) -> None:
    own: Any = SimpleNamespace(host=SimpleNamespace(people=SimpleNamespace(languages=("en", "de", "fr"))))
    request: Any = SimpleNamespace(headers={"accept-language": header}, query_params=QueryParams(query))
    assert Participants._language(own, request, wanted) == language
