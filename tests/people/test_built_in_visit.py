"""The built-in study over HTTP as a person from Prolific meets it: links, the clock, and games that begin anew."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.people.served import Served, Visitor, arrive, served

from ostrom.data.rundata import run_data
from ostrom.studies.run import open_run
from ostrom.testing.server import LoopbackServer

ROUNDS = 3
QUIZ = {"rounds": "2", "same_time": "1", "example": "0", "missed": "1"}
"""The right options of the shipped quiz, by place."""


def options(model: str, *changes: str) -> list[str]:
    every = (
        f"mechanism.rounds={ROUNDS}",
        f"types.other={{model: '{model}'}}",
        "people.time.reveal=null",
        "people.quota=5",
        "vary.prompting={base: {types.other.style: direct}}",
        "vary.order={pd_first: {people.matches: [pd, bos]}}",
        *changes,
    )
    return ["--preset", "prolific", *(part for change in every for part in ("--set", change))]


def left(visitor: Visitor) -> int:
    """Seconds that the page says are left."""
    found = re.search(r'data-left="(\d+)"', visitor.page)
    assert found is not None
    return int(found[1])


def rows_of(server: Served, table: str) -> list[dict[str, Any]]:
    with open_run(server.run) as run, run_data(run.rows, server.run, run.manifest) as data:
        return data.records(f"SELECT * FROM {table}")


@pytest.mark.slow
def test_a_visit_from_prolific_has_its_clock_two_fresh_games_and_a_completion_link(tmp_path: Path) -> None:
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return "[F]"

    with LoopbackServer(reply) as model, served(tmp_path, "repeated-games-people", *options(model.model)) as server:
        links = server.ostrom("people", "repeated-games-people", "links", "--public", "https://study.example.org")
        assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in links.stdout
        person, pages = server.visitor(), list[str]()
        person.request("GET", "/?PROLIFIC_PID=p-31&STUDY_ID=study&SESSION_ID=s")
        pages.append(person.page)
        person.request("POST", "/join", person.hidden())
        for given in ({"answer": "agree"}, {"answer": "continue"}, QUIZ, {"answer": "1"}):
            pages.append(person.page)
            person.answer(**given)
        for game in ("pd", "bos"):
            assert person.title == f"Round 1 of {ROUNDS}", game
            assert 0 < left(person) <= 20
            assert "<td>F</td>" not in person.page and "Total" not in person.page
            for _ in range(ROUNDS):
                pages.append(person.page)
                person.answer("J")
            pages.append(person.page)
            person.answer(guess="1")
        # Who the other player is stays open until the last guess, in headings and titles too.
        assert '<h1 tabindex="-1">A study of decisions in two games</h1>' in pages[0]
        assert not any("language model" in page for page in pages)
        person.answer(age="30")
        assert "artificial agent" in person.page
        person.answer("continue")
        assert "https://app.prolific.com/submissions/complete?cc=DONE" in person.page
        # J against F pays nothing in both games: whoever plays gets the base alone.
        assert "You are paid 3.00 GBP, and 0.00 GBP for your points" in person.page
        assert "cc=DONE" in arrive(server, "p-31").page
        stranger = server.visitor()
        stranger.request("POST", "/join", {"PROLIFIC_PID": "p-31", "SESSION_ID": "another"})
        assert stranger.status == 409
        server.stop()
        decisions, visits = rows_of(server, "decisions"), rows_of(server, "visits")
    # The model knows nothing of the first game in the second: every game begins without a past and grows by a line.
    past = [len(re.findall(r"^Round \d+: ", text, re.M)) for text in asked]
    assert past == [*range(ROUNDS)] * 2
    first, second = asked[0], asked[ROUNDS]
    assert "you win 8 points and the other player wins 8 points" in first and "8 points" not in second
    assert "you win 10 points and the other player wins 7 points" in second
    acts = [row for row in decisions if row["kind"] == "act"]
    assert {row["game"] for row in acts} == {"prisoners_dilemma", "battle_of_the_sexes"}
    assert [row["seat"] for row in acts if row["agent"] == "you"] == [2] * 2 * ROUNDS
    assert all(row["served"] == row["assigned"] for row in acts if row["agent"] == "you")
    (visit,) = visits
    assert (visit["end"], visit["order_of_games"], visit["guess_1"]) == ("done", "pd, bos", "artificial")
    assert not visit["excluded"] and "p-31" not in str(decisions) + str(visits)
