"""A person in a real browser: by keyboard alone, offline for a while, with reloads and kills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Axe, Page, Visit, apart, sideways
from tests.people.served import Served, served
from tests.people.studies import whole_study


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    study = whole_study(
        time={"decision": 60, "accommodation": [1, "none"]},
        languages=["en"],
    )
    with served(tmp_path, study) as made:
        yield made


def heading(page: Page, name: str) -> None:
    page.get_by_role("heading", name=name, level=1).wait_for()


def press(page: Page, name: str) -> None:
    """Reach a button by the Tab key alone and press it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.innerText || '').trim()") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"no button {name!r} within reach of the keyboard")


def pick(page: Page, name: str, nth: int) -> None:
    """Choose an option of a question by the keyboard."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == name:
            page.keyboard.press("Space")
            for _ in range(nth):
                page.keyboard.press("ArrowDown")
            return
    raise AssertionError(f"no question {name!r} within reach of the keyboard")


def quiz(page: Page) -> None:
    pick(page, "rounds", 1)
    pick(page, "same", 0)
    press(page, "Send")


def start(server: Served, visit: Visit, person: str, **more: object) -> Page:
    return visit(f"{server.base}/?PROLIFIC_PID={person}&SESSION_ID=s", **more)


def test_a_whole_visit_by_keyboard_with_axe_in_every_state(
    server: Served, visit: Visit, axe: Axe, screenshots: Path
) -> None:
    page = start(server, visit, "keys", width=320, scheme="dark")
    seen: list[str] = []
    states: list[str] = []

    def look(name: str) -> None:
        heading(page, name)
        states.append(name)
        seen.extend(f"{name}: {problem}" for problem in axe(page))
        assert sideways(page) == 0, name
        page.screenshot(
            path=str(screenshots / f"people-{len(states)}-{name.replace(' ', '-')}.png"), full_page=True
        )

    look("Two games")
    press(page, "Begin")
    look("Consent")
    press(page, "I agree and want to take part")
    look("Instructions")
    press(page, "Continue")
    look("Questions on the rules")
    quiz(page)
    look("Time for your choices")
    press(page, "The usual time")
    for _ in range(2):
        for number, move in enumerate("JFJ", 1):
            look(f"Round {number} of 3")
            press(page, move)
        look("Choose one")
        pick(page, "guess", 0)
        press(page, "Send")
    look("About you")
    page.get_by_label("How old are you?").fill("40")
    press(page, "Send")
    look("Thank you")
    press(page, "Continue")
    look("Thank you")
    assert page.get_by_text("CDONE").is_visible() and seen == []


def test_reloads_kills_and_a_lost_connection_lose_nothing(server: Served, visit: Visit) -> None:
    page = start(server, visit, "rough")
    press(page, "Begin")
    for name, button in (("Consent", "I agree and want to take part"), ("Instructions", "Continue")):
        heading(page, name)
        page.reload()
        heading(page, name)
        press(page, button)
    heading(page, "Questions on the rules")
    quiz(page)
    heading(page, "Time for your choices")
    press(page, "No time limit")
    heading(page, "Round 1 of 3")
    page.context.set_offline(True)
    page.get_by_role("button", name="J", exact=True).click()
    page.get_by_text("No connection").wait_for()
    page.context.set_offline(False)
    heading(page, "Round 2 of 3")
    apart(server.kill)
    page.get_by_role("button", name="F", exact=True).click()
    page.get_by_text("No connection").wait_for()
    apart(server.start)
    heading(page, "Round 3 of 3")
    other = page.context.new_page()
    other.goto(server.base)
    heading(other, "Round 3 of 3")
    other.get_by_role("button", name="J", exact=True).click()
    heading(other, "Choose one")
    heading(page, "Choose one")
    assert "Last round" in page.content()


@pytest.mark.parametrize(
    "reply", [{"status": 500}, {"status": 204}, {"body": "<p>", "content_type": "text/html"}]
)
def test_a_stream_that_a_proxy_breaks_is_made_up_for(
    server: Served, visit: Visit, reply: dict[str, Any]
) -> None:
    page = start(server, visit, "proxy")
    page.context.route("**/events", lambda route: route.fulfill(**reply))
    press(page, "Begin")
    heading(page, "Consent")
    other = page.context.new_page()
    other.goto(server.base)
    press(other, "I agree and want to take part")
    heading(other, "Instructions")
    heading(page, "Instructions")  # by the watch of the page, for no news come


def test_without_scripts_forms_do_the_same(server: Served, visit: Visit) -> None:
    page = start(server, visit, "plain")
    page.context.route("**/page.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    press(page, "Begin")
    for name, button in (("Consent", "I agree and want to take part"), ("Instructions", "Continue")):
        heading(page, name)
        press(page, button)
    heading(page, "Questions on the rules")
    quiz(page)
    heading(page, "Time for your choices")
    press(page, "No time limit")
    for number, move in enumerate("JFJ", 1):
        heading(page, f"Round {number} of 3")
        press(page, move)
    heading(page, "Choose one")
