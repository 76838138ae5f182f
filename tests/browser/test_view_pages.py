"""The viewer in a real browser: five clicks to the words, keys, live rows, hostile replies, everyone can read it."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Axe, Page, Visit, apart, looks, sideways, thin
from tests.view.runs import paused, talk
from tests.view.test_pages import hostile
from tests.view.viewed import Viewed, viewed

from ostrom.models.base import Reply, Request, Usage
from ostrom.view.index import index_path
from ostrom.view.index_writer import update

WORDS = ("We should be fair, trust pays in the long term.", "They betrayed me before; I fear the risk.")


def chatty(request: Request) -> Reply:
    """Two voices, one of which defects in the end."""
    text = "".join(message.content for message in request.messages)
    late = "R3:" in text
    return Reply(f"{WORDS[late]}\n[{'A1' if late else 'A0'}]", WORDS[not late], "raw", usage=Usage(420, 35))


def played(runs: Path) -> None:
    folder = talk(
        runs, chatty, name="memory", rounds=6, seeds=3, title="Memory and cooperation",
        vary={"game": ["prisoners_dilemma", "stag_hunt"], "agent.memory": ["window:1", "full"]},
        types={"anna": {"model": "scripted/anna", "style": "reasoned"}, "tft": "tit_for_tat"},
    )  # fmt: skip
    update(folder)
    talk(runs, hostile, name="hostile", title="<script>document.title = 'owned'</script>")
    talk(runs, name="cut", budget={"calls": 3})


@pytest.fixture(scope="module")
def server(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    runs = tmp_path_factory.mktemp("view") / "runs"
    apart(played, runs)
    with viewed(runs) as made:
        yield made


PAGES = {
    "runs": "/",
    "run": "/run/memory",
    "matches": "/run/memory/matches?sort=cooperation",
    "match": "/run/memory/match/1?step=3&player=1",
    "trouble": "/run/nobody",
}


def settled(page: Page) -> None:
    """Wait for what comes after the page: figures and the chart."""
    page.locator(
        "body:not(:has(.waiting, [hx-trigger=load]:not(#heat), .htmx-request)):not(:has-text('Computing.'))"
    ).wait_for()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_and_can_be_read_by_everyone(
    server: Viewed, visit: Visit, screenshots: Path, axe: Axe, name: str
) -> None:
    page = visit(server.base + PAGES[name])
    settled(page)
    for shown in looks(page, 390):
        page.screenshot(path=screenshots / f"view-{name}-{shown}.png", full_page=True)
        assert sideways(page) == 0, shown
    thin(page)
    for shown in looks(page, 390):
        assert axe(page) == [], shown


def test_from_the_list_to_the_words_behind_a_number_in_four_clicks(server: Viewed, visit: Visit) -> None:
    page = visit(server.base)
    page.get_by_role("link", name="memory", exact=True).click()
    page.locator("table.heat td a").first.click()
    page.locator("table.matches a.row").first.click()
    page.locator(".rounds a.move").nth(4).click()
    page.locator("#decision[data-place='2.1'] .reply").first.wait_for()
    assert page.url.endswith("step=2&player=1") and "Round" in page.locator("#decision h2").inner_text()
    page.reload()  # a permanent link shows the same
    assert page.locator(".rounds [aria-current]").count() == 1


def test_a_match_is_walked_by_keys(server: Viewed, visit: Visit) -> None:
    page = visit(server.base + "/run/memory/match/1?step=0&player=1")

    def at(place: str) -> None:
        page.locator(f"#decision[data-place='{place}']").wait_for()

    for key, place in (("j", "0.2"), ("j", "1.1"), ("k", "0.2"), ("ArrowDown", "1.2"), ("ArrowLeft", "1.1"),
                       ("ArrowRight", "1.2"), ("ArrowUp", "0.2")):  # fmt: skip
        page.keyboard.press(key)
        at(place)
    assert page.url.endswith("step=0&player=2")
    page.go_back()
    at("1.2")
    for key in ("ArrowLeft", "ArrowDown", "ArrowDown", "j", "k", "j"):  # faster than the answers: no key is lost
        page.keyboard.press(key)
    at("3.2")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    page.goto(server.base)
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") == "row"


def test_what_changed_is_marked_and_the_rest_is_folded(server: Viewed, visit: Visit) -> None:
    page = visit(server.base + "/run/memory/match/1?step=3&player=1")
    assert "round 4" in page.locator(".said.user .words").first.inner_text()
    assert page.locator("ins").count() >= 2
    fold = page.locator("details.fold").first
    hidden = fold.locator("span")
    assert not hidden.is_visible()
    fold.locator("summary").click()
    assert hidden.is_visible()
    assert page.locator("mark.g-paranoia").count() + page.locator("mark.g-normative").count() > 0


def test_a_row_follows_its_run_while_it_is_played(visit: Visit, tmp_path: Path) -> None:
    with paused(tmp_path) as go, viewed(tmp_path) as server:
        page = visit(server.base)
        page.locator(".state.running").wait_for()
        go.set()
        page.locator(".state.finished").wait_for()
        page.goto("about:blank")


def test_hits_come_by_themselves_when_the_index_is_there(visit: Visit, tmp_path: Path) -> None:
    apart(talk, tmp_path, name="plain")
    index = index_path(tmp_path / "plain")
    index.parent.mkdir(parents=True, exist_ok=True)
    with index.with_name(index.name + ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # as another indexer would hold it
        with viewed(tmp_path) as server:
            page = visit(server.base + "/run/plain/matches")
            page.locator("table.matches tbody tr").first.wait_for()  # the list does not wait for it
            page.goto(server.base + "/run/plain/search?q=trust")
            page.get_by_text("The index of this run is being made").wait_for()
            assert page.locator("li.hit").count() == 0
            fcntl.flock(other, fcntl.LOCK_UN)
            page.locator("li.hit").first.wait_for()
            page.goto("about:blank")


def test_hundreds_of_matches_make_no_long_page_on_a_phone(visit: Visit, tmp_path: Path) -> None:
    apart(talk, tmp_path, name="many", types={"tft": "tit_for_tat", "d": "defector"}, seeds=60)
    update(tmp_path / "many")
    with viewed(tmp_path) as server:
        page = visit(server.base + "/run/many/matches", width=390)
        page.locator("table.matches tbody tr").nth(100).wait_for()
        assert page.evaluate("document.documentElement.scrollHeight") < 8000 and sideways(page) <= 0
        page.goto("about:blank")
