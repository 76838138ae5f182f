"""A person in a real browser behind a proxy that breaks the stream of news, and one without scripts."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.conftest import Page, Visit
from tests.browser.keyboard import heading, pick, press
from tests.people.served import Served, served
from tests.people.studies import whole_study


@pytest.fixture(scope="module")
def server(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    study = whole_study(time={"decision": 600, "accommodation": [1, "none"]}, languages=["en"])
    with served(tmp_path_factory.mktemp("pages"), study) as made:
        yield made


def quiz(page: Page) -> None:
    pick(page, "rounds", "3")
    pick(page, "same", "yes")
    press(page, "Send")


def start(server: Served, visit: Visit, person: str, **more: object) -> Page:
    return visit(f"{server.base}/?PROLIFIC_PID={person}&SESSION_ID=s", **more)


@pytest.mark.parametrize("reply", [{"status": 500}, {"status": 204}, {"body": "<p>", "content_type": "text/html"}])
def test_a_stream_that_a_proxy_breaks_is_made_up_for(server: Served, visit: Visit, reply: dict[str, Any]) -> None:
    page = start(server, visit, f"proxy{sorted(reply)[-1]}{reply.get('status', 200)}")
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
