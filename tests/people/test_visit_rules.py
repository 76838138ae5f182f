"""The rules of a visit, led by hand: which questions come in which order, and how a visit ends."""

from typing import Any

import pytest
from tests.people.test_schema import study

from ostrom.answers import Answer
from ostrom.games import build_game
from ostrom.ground.streams import Streams
from ostrom.people.questions import Questionnaire
from ostrom.people.text_files import questionnaire
from ostrom.people.visit import Book, SeatTaken, Visit
from ostrom.studies.load import load_study

GAME = build_game("prisoners_dilemma")
SEATED = {"table": 7, "player": 1, "match": 0}
OVER = {"points": 2.5, "missed": 1, "ended": "done"}
USUAL: dict[str, Any] = {
    "arrive": {"code": "c", "test": False, "at": 0.0}, "assign": {"cell": 1}, "consent": "agree", "text": "continue",
    "quiz": {"q1": "10"}, "seat": SEATED, "match": OVER, "accommodation": "2",
}  # fmt: skip
HOSTED = ("arrive", "assign", "seat", "match")


def led(*given: tuple[str, Any], orders: Any = (("a",), ("b",)), **people: Any) -> tuple[list[str], dict[str, Any]]:
    """The questions of a visit and its facts; what is given replaces the usual answers, each once."""
    made = load_study(study(**people)).people
    assert made is not None
    sheets: dict[str, Questionnaire] = {"quiz.yaml": questionnaire(made.texts["quiz.yaml"], "quiz.yaml")}
    play, other = Visit(made, sheets, orders).play(GAME, Streams(0, 0)), list(given)
    kinds = list[str]()
    try:
        (decision,) = next(play)
        while True:
            kind = decision.kind
            again = decision.view.facts.get("again")
            left = decision.view.facts.get("tries_left")
            kinds.append(kind + (" again" if again else "") + (f" {left}" if left is not None else ""))
            value = USUAL[kind]
            if other and other[0][0] == kind:
                value = other.pop(0)[1]
            (decision,) = play.send([Answer(value, "assigned" if kind in HOSTED else "person")])
    except StopIteration as stop:
        return kinds, stop.value.facts


def test_a_visit_goes_through_its_steps_and_people_are_assigned_before_the_match() -> None:
    kinds, facts = led()
    assert kinds == ["arrive", "consent", "text", "quiz", "assign", "seat", "match"]
    assert (facts["end"], facts["cell"], facts["points"], facts["missed"]) == ("done", 1, 2.5, 1)
    assert (facts["code"], facts["quiz_tries"], facts["quiz_passed"]) == ("c", 1, True)
    assert facts["matches"] == [{"game": "b", **SEATED, **OVER}]


@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        ("consent", ["arrive", "consent", "assign", "text", "quiz", "seat", "match"]),
        ("instructions", ["arrive", "consent", "text", "assign", "quiz", "seat", "match"]),
        ("quiz", ["arrive", "consent", "text", "quiz", "assign", "seat", "match"]),
    ],
)
def test_people_are_assigned_after_the_step_that_is_named(after: str, kinds: list[str]) -> None:
    assert led(assign={"after": after})[0] == kinds


WRONG = ("quiz", {"q1": "5"})
BACK = [{"text": "instructions.md"}, {"quiz": {"file": "quiz.yaml", "wrong": "instructions", "tries": 2}}, {"match": 1}]
GO_ON = [{"text": "instructions.md"}, {"quiz": {"file": "quiz.yaml", "tries": 2, "failed": "go_on"}}, {"match": 1}]


def test_a_wrong_answer_leads_back_to_the_text_until_the_tries_are_used_up() -> None:
    kinds, facts = led(WRONG, visit=BACK)
    assert kinds == ["arrive", "text", "quiz 2", "text again", "quiz 1", "assign", "seat", "match"]
    assert (facts["quiz_tries"], facts["quiz_passed"]) == (2, True)
    kinds, facts = led(WRONG, WRONG, visit=BACK)
    assert kinds[-1] == "quiz 1" and (facts["end"], facts["quiz_passed"]) == ("screened_out", False)
    kinds, facts = led(WRONG, WRONG, visit=GO_ON)
    assert kinds[1:4] == ["text", "quiz 2", "quiz 1"] and (facts["end"], facts["quiz_passed"]) == ("done", False)


@pytest.mark.parametrize(
    ("given", "last", "end"),
    [
        (("consent", "decline"), "consent", "declined"),
        (("assign", {"end": "full"}), "assign", "full"),
        (("seat", {"end": "no_partner"}), "seat", "no_partner"),
        (("match", {**OVER, "ended": "departed"}), "match", "departed"),
        (("match", {**OVER, "ended": "timed_out"}), "match", "timed_out"),
        (("match", {**OVER, "ended": "failed"}), "match", "done"),
    ],
)
def test_a_visit_ends_where_the_person_or_the_host_says_so(given: Any, last: str, end: str) -> None:
    kinds, facts = led(given)
    assert kinds[-1] == last and facts["end"] == end
    assert facts["points"] == (2.5 if last == "match" else 0.0)


def test_more_time_is_offered_where_there_is_a_clock_and_a_choice() -> None:
    for time, asked in (
        ({"decision": 20, "accommodation": [1, 2]}, True), ({"decision": 20, "accommodation": [1]}, False),
        ({"accommodation": [1, 2]}, False),
    ):  # fmt: skip
        kinds, facts = led(time=time)
        assert ("accommodation" in kinds) is asked and facts.get("accommodation") == ("2" if asked else None)
        if asked:
            assert kinds.index("accommodation") == kinds.index("assign") + 1


def test_a_book_knows_who_sits_where() -> None:
    book = Book()
    book.record(3, {"cell": 0})  # nobody has come under this number
    book.record(5, USUAL["arrive"])
    book.record(5, SEATED)  # not assigned to a cell yet
    assert not book.tables and book.codes == {"c": 5} and (book.last, book.visits[5].cell) == (5, None)
    book.record(5, {"cell": 1})
    book.record(5, {**SEATED, "stand_ins": {"2": "grim"}})
    book.record(4, {**USUAL["arrive"], "code": "d"})
    book.record(4, "agree")
    assert book.visits[5].seats == {0: SeatTaken(7, 1)} and book.last == 5 and 3 not in book.visits
    assert (book.tables[7].cell, book.tables[7].people, book.tables[7].stand_ins) == (1, {1: 5}, {2: "grim"})
