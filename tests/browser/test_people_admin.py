"""The researcher in a browser: log in, watch people come, close recruiting, look at results, pay."""

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.browser.conftest import Axe, Page, Visit, sideways
from tests.browser.test_people_states import Looker
from tests.people.served import Served, served, small_study

from ostrom.people.server import PASSWORD

SECRET = "a long password"
WIDTHS = [(390, "light"), (1280, "dark")]


@pytest.fixture
def server(browser: object, tmp_path: Path) -> Iterator[Served]:
    study = small_study(quota=3, codes={"done": "C1", "declined": "C2"})
    with served(tmp_path, study, env={PASSWORD: SECRET}) as made:
        yield made


def log_in(server: Served, visit: Visit, width: int, scheme: str) -> Page:
    page = visit(f"http://127.0.0.1:{server.admin_port}/", width=width, scheme=scheme)
    page.get_by_label("Password").fill(SECRET)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Who is where now").wait_for()
    return page


def bar(page: Page, name: str, count: int) -> None:
    """Wait until the page counts so many people in a state."""
    row = page.locator(".bars tr", has=page.get_by_role("rowheader", name=name, exact=True))
    row.locator("td:last-child", has_text=str(count)).wait_for()


def play(page: Page) -> None:
    """Go through the whole small study with a mouse."""
    for button in ("Begin", "I agree and want to take part"):
        page.get_by_role("button", name=button).click()
    for number in (1, 2, 3):
        page.get_by_role("heading", name=f"Round {number} of 3").wait_for()
        page.locator("button.option").first.click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("C1", exact=True).wait_for()


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_a_wrong_password_says_so_and_the_right_one_opens_the_page(
    server: Served, visit: Visit, axe: Axe, screenshots: Path, width: int, scheme: str
) -> None:
    page = visit(f"http://127.0.0.1:{server.admin_port}/", width=width, scheme=scheme)
    looker = Looker(page, axe, screenshots, f"admin-{scheme}-{width}")
    looker.look("log in")
    page.get_by_label("Password").fill("a wrong password")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").get_by_text("This is not the password.").wait_for()
    assert page.get_by_label("Password").is_visible()
    looker.look("wrong password")
    page.get_by_label("Password").fill(SECRET)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Who is where now").wait_for()
    assert page.get_by_label("Password").count() == 0 and page.get_by_role("alert").count() == 0
    page.reload()
    page.get_by_role("heading", name="Who is where now").wait_for()
    page.context.clear_cookies()
    page.get_by_label("Password").wait_for()  # the page notices by itself that it is shut
    assert looker.wrong == []


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_a_study_goes_from_recruiting_to_payment(
    server: Served, visit: Visit, axe: Axe, screenshots: Path, width: int, scheme: str
) -> None:
    page = log_in(server, visit, width, scheme)
    looker = Looker(page, axe, screenshots, f"admin-{scheme}-{width}")
    looker.look("nobody yet")
    assert page.locator("#cells td").all_inner_texts() == ["0", "0", "0"]
    bar(page, "finished", 0)
    links = page.locator("#links").input_value().split()
    assert links[0] == server.link(1) and len(links) == 50
    guests = [visit(link, width=width, scheme=scheme) for link in links[:4]]
    play(guests[0])
    guests[1].get_by_role("button", name="Begin").click()
    guests[1].get_by_role("button", name="I do not agree").click()
    guests[2].get_by_role("button", name="Begin").click()
    guests[2].get_by_role("heading", name="Consent").wait_for()
    bar(page, "finished", 1)
    bar(page, "declined", 1)
    bar(page, "at the start", 1)
    order = page.locator(".bars th").all_inner_texts()
    assert order.index("at the start") < order.index("playing") < order.index("finished") < order.index("declined")
    looker.look("people")

    page.get_by_role("button", name="Close recruiting").click()
    said = page.get_by_role("status").filter(has_text="nobody new can begin")
    said.wait_for()
    assert said.evaluate("one => one === document.activeElement")
    assert page.get_by_role("button", name="Open recruiting").is_visible()
    page.get_by_text("Recruiting is closed, and not all cells are full.").wait_for()
    looker.look("closed")
    guests[3].get_by_role("button", name="Begin").click()
    guests[3].get_by_text("This study is closed").wait_for()
    page.get_by_role("button", name="Open recruiting").click()
    page.get_by_role("status").filter(has_text="people can begin").wait_for()
    late = visit(links[3], width=width)
    play(late)
    play_on(guests[2])
    bar(page, "finished", 3)
    page.get_by_text("All cells are full: close recruiting.").wait_for()

    assert page.get_by_text("mean points").count() == 0
    page.get_by_role("button", name="Show results").click()
    page.get_by_role("status").filter(has_text="on record").wait_for()
    assert page.get_by_role("button", name="Show results").count() == 0
    cells = page.locator("#cells")
    assert float(cells.locator("td").last.inner_text()) > 0
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy these links").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").split() == page.locator("#links").input_value().split()
    looker.look("results")
    owed = page.get_by_text("Owed:").inner_text()
    assert "to 3 people" in owed and sideways(page) == 0

    paid = server.ostrom("people", str(server.run), "bonuses", "-o", "pay.csv")
    assert paid.returncode == 0, paid.stderr
    with (server.folder / "pay.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 and f"{sum(float(row['amount']) for row in rows):.2f} GBP" in owed
    page.get_by_text("Owed: 0.00 GBP").wait_for()
    with closing(sqlite3.connect(server.run / "people.db")) as register:
        server.stop()
        kinds = [kind for (kind,) in register.execute("SELECT kind FROM events WHERE code = ''")]
    assert kinds == ["closed", "opened", "unblinded"]
    assert looker.wrong == []


def play_on(page: Page) -> None:
    """Go on from the consent page."""
    page.get_by_role("button", name="I agree and want to take part").click()
    for number in (1, 2, 3):
        page.get_by_role("heading", name=f"Round {number} of 3").wait_for()
        page.locator("button.option").last.click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("C1", exact=True).wait_for()


def test_the_figures_change_while_a_button_has_the_focus(server: Served, visit: Visit) -> None:
    page = log_in(server, visit, 1280, "light")
    page.get_by_role("button", name="Close recruiting").focus()
    guest = visit(server.link(1))
    guest.get_by_role("button", name="Begin").click()
    bar(page, "at the start", 1)
    assert page.evaluate("document.activeElement.innerText") == "Close recruiting"
    server.ostrom("people", str(server.run), "close")
    page.get_by_role("button", name="Open recruiting").wait_for()  # as another command says


def test_a_refusal_is_shown_where_the_answer_was_given(server: Served, visit: Visit) -> None:
    page = visit(server.link(1))
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("heading", name="Consent").wait_for()
    page.context.clear_cookies()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.get_by_role("alert").get_by_text("This link is not complete.").wait_for()
