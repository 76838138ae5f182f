"""People negotiate: offers with payments in rows, replies, and what was said so far, in the words of their pages."""

import html
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.people.crawling import crawl_together
from tests.people.served import Visitor, served
from tests.people.test_mechanisms import people_study

from ostrom.answers import Invalid
from ostrom.games import build_game
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.catalog.negotiation import Negotiation
from ostrom.people.forms import Field, Read, fields_of, read_decision
from ostrom.people.words import words
from ostrom.studies.run import open_run

PD = build_game("prisoners_dilemma")
LABELS = {"cooperate": "J", "defect": "F"}


def offer_form(game: Any = PD, **params: Any) -> Any:
    """The form of an offer of the first player."""
    rules = mechanisms.build({"name": "negotiation", "bound": 9, "most": 2, **params})
    assert isinstance(rules, Negotiation)
    return rules._offer_form(game, 0)


def by_label(fields: tuple[Field, ...]) -> dict[str, Field]:
    return {field.label: field for field in fields}


def test_an_offer_is_a_text_an_action_for_each_and_rows_of_payments() -> None:
    fields = by_label(fields_of(offer_form(), LABELS, {"none": "open", "when_now": "at once"}))
    assert list(fields) == ["message", "intend", "actions: player 1", "actions: player 2", "payments"]
    assert fields["actions: player 2"].options == (("", "open"), ("0", "J"), ("1", "F"))
    assert not any(field.required for field in fields.values())
    first, second = fields["payments"].rows
    assert [cell.label for cell in first] == ["from", "to", "amount", "when"] and len(second) == 4
    assert first[3].options[0] == ("0", "at once")
    assert "payments" not in by_label(fields_of(offer_form(most=0), LABELS))


def sent(**fields: str) -> Read | Invalid:
    return read_decision(offer_form(), LABELS, fields)


def test_what_is_sent_for_an_offer_is_read() -> None:
    read = sent(f0=" so? ", f1="1", f2_0="0", f2_1="", f3_1_0="0", f3_1_1="1", f3_1_2="3", f3_1_3="2")
    assert isinstance(read, Read)
    assert read.value == {
        "message": "so?",
        "intend": ["defect"],
        "actions": {"player_1": ["cooperate"], "player_2": []},
        "payments": [{"from": "player_1", "to": "player_2", "amount": 3, "when": "end"}],
    }
    nothing = sent()
    assert isinstance(nothing, Read) and not nothing.value["payments"] and nothing.value["message"] == ""


ROW = {"f3_0_0": "0", "f3_0_1": "1", "f3_0_2": "3", "f3_0_3": "0"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({**ROW, "f3_0_2": "-3"}, "at least 0"),
        ({**ROW, "f3_0_2": "10"}, "at most 9"),
        ({**ROW, "f3_0_2": "2.5"}, "amount: this is no valid answer"),
        ({**ROW, "f3_0_2": ""}, "amount: an answer is needed"),
        ({**ROW, "f3_0_1": ""}, "to: an answer is needed"),
        ({**ROW, "f3_0_0": "7"}, "from: this is no valid answer"),
        ({"f2_0": "2"}, "player 1: this is no valid answer"),
        ({"f1": "cooperate"}, "intend: this is no valid answer"),
        ({"f0": "x" * 281}, "at most 280 characters"),
    ],
)
def test_what_is_no_offer_is_refused_with_its_part(fields: dict[str, str], reason: str) -> None:
    read = sent(**fields)
    assert isinstance(read, Invalid) and reason in read.reason


def test_entries_beyond_the_list_are_not_read() -> None:
    read = sent(f3_2_0="0", f3_2_1="1", f3_2_2="3", f3_2_3="2")
    assert isinstance(read, Read) and read.value["payments"] == []


def test_amounts_are_numbers_with_any_step() -> None:
    form = offer_form(build_game("minimum_effort"))
    fields = by_label(fields_of(form, {}))
    assert fields["intend"].kind == "number" and fields["intend"].step == "any"
    read = read_decision(form, {}, {"f1": "2"})
    assert isinstance(read, Read) and read.value["intend"] == [2]


def test_both_languages_have_every_word_of_a_negotiation() -> None:
    english, german = words("en"), words("de")
    own = [key for key in english if key.startswith(("field_", "result"))] + ["offer", "accepted", "refused"]
    assert len(own) > 15 and not [key for key in own if english[key] == german[key]]


def negotiate(person: Visitor, pages: list[str]) -> None:
    """Offer 3 points for cooperation of both, or accept; then keep no word."""
    person.settled()
    while not person.at.startswith("end"):
        pages.append(html.unescape(person.page))
        form = person.page
        if 'name="f3_0_0"' in form:
            person.answer(f0="<b>deal?</b>", f1="0", f2_0="0", f2_1="0", **{**ROW, "f3_0_3": "2"})
        elif 'value="yes"' in form:
            person.answer(f0="yes", f1="", f2="")
        else:
            raise AssertionError(f"nobody acts by itself: {form}")
        person.settled()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de"])
def test_two_people_agree_and_are_paid(language: str, tmp_path: Path) -> None:
    games = {"deal": {"mechanism": {"name": "negotiation", "turns": 2, "endowment": 5}}}
    study = people_study(2, 2, games, languages=[language])
    study["agent"] = {"framing": {"labels": "JF"}}
    pages: list[list[str]] = [[], []]
    with served(tmp_path, study) as server:
        people = [server.visitor(join=True) for _ in pages]
        crawl_together(*(partial(negotiate, p, seen) for p, seen in zip(people, pages, strict=True)))
        assert all("CDONE" in person.page for person in people)
        server.stop()
        with open_run(server.run) as run:
            rows = [row for row in run.rows.decisions() if row["unit"] == "match"]
            scores = sorted(row["score"] for row in run.rows.matches() if row["unit"] == "match")
    # Both turns offer the same; the second payment is from player 1, too: 3 of 3 + 5, then 3 more.
    assert scores == [3 - 6, 3 + 6]
    assert [row["kind"] for row in rows] == ["offer", "reply", "offer", "reply"]
    assert json.loads(rows[0]["answer"])["message"] == "<b>deal?</b>"
    w, seen = words(language), "".join(page for of in pages for page in of)
    assert f"{w.offer}: {w.you}: J; {w.other}: J; {w.you} → {w.other}: 3 ({w.field_when_end})" in seen
    assert w.result_signed in seen and w.accepted in seen and w.field_payments in seen
    assert "<negotiation>" not in seen and "JSON" not in seen and '"turn"' not in seen
