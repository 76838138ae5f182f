"""Every state of a visit, in both languages, light and dark, narrow and wide: axe-core, and pictures to look at."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Axe, Page, Visit, sideways
from tests.people.served import Served, served
from tests.people.studies import QUIZ, SURVEY, pair_study, whole_study

GERMAN = {
    "consent.de.md": "# Einwilligung\n\nMöchten Sie *teilnehmen*?",
    "instructions.de.md": "# Anleitung\n\nEin Spiel hat **drei** Runden.\n\n- eins\n- zwei",
    "quiz.de.yaml": QUIZ,
    "survey.de.yaml": SURVEY,
    "debrief.de.md": "# Vielen Dank\n\nIhr Gegenüber war ein Programm.",
}
LOOKS = [("en", "light", 320), ("de", "dark", 320), ("de", "light", 1280), ("en", "dark", 1280)]
PAIR_LOOKS = [("en", "light", 320), ("de", "dark", 1280)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    study = whole_study(
        languages=["en", "de"], time={"decision": 600, "reveal": [0, 0], "accommodation": [1, 2, "none"]}
    )
    study["people"]["texts"] |= GERMAN
    with served(tmp_path_factory.mktemp("states"), study) as made:
        yield made


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    study = pair_study(languages=["en", "de"], lobby={"wait": 300})
    study["people"]["texts"] |= GERMAN
    study["mechanism"] = {"name": "cheap_talk", "rounds": 2}
    with served(tmp_path_factory.mktemp("pairs"), study) as made:
        yield made


class Looker:
    """Looks at one state after the other and keeps what is wrong with each."""

    def __init__(self, page: Page, axe: Axe, screenshots: Path, name: str) -> None:
        self.page, self.axe, self.screenshots, self.name = page, axe, screenshots, name
        self.wrong: list[str] = []
        self.seen: list[str] = []

    def look(self, state: str) -> None:
        self.page.locator("main h1").first.wait_for()
        self.seen.append(state)
        self.wrong += [f"{state}: {problem}" for problem in self.axe(self.page)]
        if wide := sideways(self.page):
            self.wrong.append(f"{state}: {wide} pixels too wide")
        small = self.page.evaluate(
            "[...document.querySelectorAll('button, footer a, summary, .choice')]"
            ".filter(one => one.getBoundingClientRect().height < 44).map(one => one.outerHTML.slice(0, 80))"
        )
        self.wrong += [f"{state}: lower than 44 pixels: {one}" for one in small]
        picture = self.screenshots / f"people-{self.name}-{len(self.seen):02d}-{state.replace(' ', '-')}.png"
        self.page.screenshot(path=str(picture), full_page=True)

    def send(self, button: str = "form[action='/answer'] button >> nth=0") -> None:
        place = self.page.locator("main").get_attribute("data-at")
        self.page.locator(button).click()
        self.page.locator(f"main:not([data-at='{place}']):not([data-at='wait'])").wait_for()

    def choose(self, **answers: int) -> None:
        for name, number in answers.items():
            self.page.locator(f"input[name='{name}'][value='{number}']").check()
        self.page.locator(".buttons button").last.click()


@pytest.mark.parametrize(("language", "scheme", "width"), LOOKS)
def test_every_state_of_a_visit(
    server: Served, visit: Visit, axe: Axe, screenshots: Path, language: str, scheme: str, width: int
) -> None:
    name = f"{language}-{scheme}-{width}"
    page = visit(f"{server.base}/?PROLIFIC_PID={name}&SESSION_ID=s&lang={language}", width=width, scheme=scheme)
    looker = Looker(page, axe, screenshots, name)
    looker.look("start")
    looker.send("form[action='/join'] button")
    looker.look("consent")
    looker.send()
    looker.look("instructions")
    looker.send()
    looker.look("quiz")
    looker.choose(rounds=0, same=0)
    page.locator("main > .note").wait_for()
    looker.look("instructions again")
    looker.send()
    looker.look("quiz again")
    place = page.locator("main").get_attribute("data-at")
    looker.choose(rounds=1, same=0)
    page.locator(f"main:not([data-at='{place}'])").wait_for()
    looker.look("accommodation")
    looker.send()
    looker.look("round 1")
    looker.send("button.option >> nth=0")
    looker.look("round 2")
    page.locator("form[action='/more'] button").click()
    page.locator("main > .note").wait_for()
    looker.look("more time")
    page.locator("summary").click()
    looker.look("rules in words")
    page.locator("footer a").click()
    page.wait_for_url("**/leave")
    looker.look("leaving")
    page.goto(server.base)
    for _ in range(2):
        looker.send("button.option >> nth=1")
    looker.look("guess")
    looker.choose(guess=0)
    page.locator("button.option").first.wait_for()
    for _ in range(3):
        looker.send("button.option >> nth=0")
    looker.choose(guess=1)
    page.locator("[name='age']").wait_for()
    looker.look("survey")
    page.locator("[name='age']").fill("7")
    page.locator("form").evaluate("form => form.noValidate = true")
    page.locator("[name='remarks']").fill("I wrote this before the mistake")
    page.locator(".buttons button").click()
    page.locator(".problem strong").wait_for()
    assert page.locator("[name='remarks']").input_value() == "I wrote this before the mistake"
    looker.look("mistake")
    page.locator("[name='age']").fill("37")
    looker.send(".buttons button")
    looker.look("debriefing")
    looker.send()
    looker.look("end")
    page.context.clear_cookies()
    page.goto(server.base)
    looker.look("no link")
    assert looker.wrong == [] and len(looker.seen) == 18


@pytest.mark.parametrize(("language", "scheme", "width"), PAIR_LOOKS)
def test_the_lobby_messages_and_leaving(
    pairs: Served, visit: Visit, axe: Axe, screenshots: Path, language: str, scheme: str, width: int
) -> None:
    name = f"pair-{language}-{scheme}-{width}"
    pages = []
    for who in ("one", "two"):
        link = f"{pairs.base}/?PROLIFIC_PID={name}{who}&SESSION_ID=s&lang={language}"
        page = visit(link, width=width, scheme=scheme)
        page.locator("form[action='/join'] button").click()
        if who == "one":
            looker = Looker(page, axe, screenshots, name)
            page.locator("main[data-at='wait']").wait_for()
            looker.look("lobby")
        pages.append(page)
    for number, page in enumerate(pages):
        page.locator("textarea").wait_for()
        if number == 0:
            looker.look("message")
        page.locator("textarea").fill("Let us <b>both</b> choose the first one.\nAgreed?")
        page.locator(".buttons button").first.click()
    pages[0].locator("dl").wait_for()
    assert "Let us <b>both</b> choose" in pages[0].locator("dl").inner_text()
    looker.look("messages")
    pages[0].locator("button.option").first.click()
    pages[0].locator("main[data-at='wait']").wait_for()
    looker.look("waiting")
    pages[1].goto(f"{pairs.base}/leave")
    pages[1].locator("button >> nth=0").click()
    pages[1].locator("main[data-at^='end']").wait_for()
    looker.page = pages[1]
    looker.look("left")
    looker.page = pages[0]
    pages[0].locator("main:not([data-at='wait'])").wait_for()
    looker.look("partner left")
    assert looker.wrong == [] and len(looker.seen) == 6


def test_the_admin_page(server: Served, visit: Visit, axe: Axe, screenshots: Path) -> None:
    for scheme, width in (("light", 320), ("dark", 1280)):
        page = visit(f"http://127.0.0.1:{server.admin_port}/", width=width, scheme=scheme)
        page.get_by_label("Password").fill("".join(server.said).partition("(password ")[2].partition(",")[0])
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("people are wanted").wait_for()
        looker = Looker(page, axe, screenshots, f"admin-{scheme}-{width}")
        looker.look("admin")
        assert looker.wrong == []
