"""The whole built-in study with people, by keyboard alone: reloads and kills in every state, two tabs, offline."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import Page, Visit, apart
from tests.browser.keyboard import heading, pick, press, write
from tests.people.served import Served, served

from ostrom.people.records import Records
from ostrom.studies.run import open_run

CLOCKS = ("people.time.reveal=[1, 1.5]", "people.time.decision=120")
FULL = 600
"""Seconds for a choice with five times as long."""
QUIZ = {
    "rounds": "10",
    "same_time": "After both of us have chosen",
    "example": "1",
    "missed": "The round is void and pays neither of us",
}
CONSENT, INSTRUCTIONS, DEBRIEF = "Taking part in this study", "Instructions", "What this study was about"
TITLE = "A study of decisions in two games"


class Browsing:
    """Somebody in a browser whose every new kind of page is reloaded and survives a kill of the server."""

    def __init__(self, server: Served, page: Page) -> None:
        self.server, self.page = server, page
        self.rough: set[str] = set()
        """The states that were reloaded and survived a kill."""

    def at(self, title: str, state: str | None = None) -> None:
        heading(self.page, title)
        if state is None or state in self.rough:
            return
        self.rough.add(state)
        self.page.reload()
        heading(self.page, title)
        apart(self.server.kill)
        apart(self.server.start)
        heading(self.page, title)
        self.page.reload()
        heading(self.page, title)

    def quiz(self, **answers: str) -> None:
        for name, right in QUIZ.items():
            pick(self.page, name, answers.get(name, right))
        press(self.page, "Send")


def test_the_built_in_study_by_keyboard_through_reloads_and_kills(tmp_path: Path, visit: Visit) -> None:
    options = ("--preset", "script", *(part for clock in CLOCKS for part in ("--set", clock)))
    with served(tmp_path, "repeated-games-people", *options) as server:
        page = visit(server.link(1), width=320)
        person = Browsing(server, page)
        person.at(TITLE, "start")
        press(page, "Begin")
        person.at(CONSENT, "consent")
        press(page, "I agree and want to take part")
        person.at(INSTRUCTIONS, "instructions")
        press(page, "Continue")
        person.at(TITLE, "quiz")
        person.quiz(rounds="5")
        person.at(INSTRUCTIONS, "instructions again")
        assert page.get_by_text("Please read this once more").is_visible()
        press(page, "Continue")
        person.at(TITLE, "quiz again")
        assert page.get_by_text("Each game has 10 rounds.").is_visible()
        person.quiz()
        person.at("Time for your choices", "accommodation")
        press(page, "5 times as long")
        for game in (1, 2):
            for number in range(1, 11):
                person.at(f"Round {number} of 10", {1: "first round", 10: "last round"}.get(number))
                if game == 1 and number == 3:
                    second_tab(person)
                elif game == 1 and number == 4:
                    offline(person)
                elif game == 1 and number == 5:
                    more_time(person)
                else:
                    press(page, "JF"[number % 2])
                if game == 1 and number == 2:
                    # A slow machine may be past this page when it is looked for.
                    waiting = page.get_by_role("heading", name="Please wait", level=1)
                    waiting.or_(page.get_by_role("heading", name="Round 3 of 10", level=1)).wait_for()
                    page.reload()
                    apart(server.kill)
                    apart(server.start)
                    person.rough.add("waiting")
            person.at("Choose one", f"guess {game}")
            pick(page, "guess", ("person", "artificial")[game - 1])
            press(page, "Send")
        person.at(TITLE, "survey")
        write(page, "age", "40")
        pick(page, "models", "Every week")
        write(page, "comments", "Zebedee <b>was here</b>")
        press(page, "Send")
        person.at(DEBRIEF, "debriefing")
        press(page, "Continue")
        person.at("Thank you", "end")
        assert page.get_by_text("DONE", exact=True).is_visible()
        page.goto(server.link(1))
        person.at("Thank you")
        server.stop()
        check(server.run)
    assert len(person.rough) == 15


def second_tab(person: Browsing) -> None:
    """Answer in another tab; the first one follows by itself."""
    other = person.page.context.new_page()
    other.goto(person.server.base)
    heading(other, "Round 3 of 10")
    press(other, "J")
    heading(other, "Round 4 of 10")
    heading(person.page, "Round 4 of 10")
    other.close()


def more_time(person: Browsing) -> None:
    """The clock starts anew and the page says so."""
    page = person.page
    page.locator(f"[data-left]:not(:text-is('{FULL}'))").wait_for()  # it runs
    press(page, "I need more time")
    page.get_by_text("You have more time now.").wait_for()
    assert float(page.locator("[data-left]").get_attribute("data-left")) > FULL - 10  # as the server said it
    press(page, "F")


def offline(person: Browsing) -> None:
    """The answer is kept while there is no connection, and sent afterwards."""
    page = person.page
    page.context.set_offline(True)
    press(page, "J")
    page.get_by_text("No connection").wait_for()
    page.context.set_offline(False)
    heading(page, "Round 5 of 10")


def check(run: Path) -> None:
    """One visit, twenty rounds, nothing twice, nothing missed, everything served as assigned."""
    with open_run(run) as opened:
        rows = list(opened.rows.decisions())
        (visit,) = list(opened.rows.visits())
    acts = [row for row in rows if row["kind"] == "act" and row["agent"] == "you"]
    assert len(acts) == 20 and {row["reading"] for row in acts} == {"person"}
    assert all(row["served"] == row["assigned"] for row in acts)
    assert [visit[name] for name in ("end", "guess_1", "guess_2", "survey_age", "quiz_tries", "extended")] == [
        "done", "person", "artificial", 40, 2, 1,
    ]  # fmt: skip
    assert visit["missed_rounds"] == 0 and visit["accommodation"] == "5" and visit["interrupted"] > 5
    with Records(run) as records:
        assert all(not wrong for _, _, wrong in records.audit())
