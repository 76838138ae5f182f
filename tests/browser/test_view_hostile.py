"""What a model or a server wrote is text on every page: markup, Vega, escape sequences, long lines, broken bytes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.browser.conftest import Page, Visit, apart, sideways
from tests.view.runs import talk
from tests.view.test_search_and_beside import HOSTILE
from tests.view.viewed import Viewed, viewed

from ostrom.ground.errors import OstromError, ServerFailed
from ostrom.models.base import Reply, Request, Usage
from ostrom.view.index_writer import update

VEGA = '{"$schema": "https://vega.github.io/schema/vega/v5.json", "signals": [{"init": "alert(1)"}]}'
FRAME = "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>"
EVIL = f"{HOSTILE} {VEGA} {FRAME}</div></main><style>*{{display:none}}</style>"
LONG = 10_000_000
"""Characters of one line."""


def evil(request: Request) -> Reply:
    """Everything at once, and in the first round a line of ten megabytes."""
    first = "R1:" not in "".join(message.content for message in request.messages)
    return Reply("[A0]", f"{EVIL}{'z' * LONG if first else ''}", "raw", usage=Usage(1, 1))


def failing(_: Request) -> Reply:
    raise ServerFailed(EVIL)


def played(runs: Path) -> None:
    title = "</title><script>document.title = 'owned'</script>"
    types = {"anna": {"model": "scripted/anna", "style": "direct"}, "tft": "tit_for_tat"}
    update(talk(runs, evil, name="evil", title=title, about=EVIL, types=types, seating="seats", vary={}))
    update(talk(runs, evil, name="other", types=types, seating="seats", vary={}))
    with suppress(OstromError):
        talk(runs, failing, name="failing", rounds=2)
    update(runs / "failing")
    broken = talk(runs, name="broken")
    with closing(sqlite3.connect(broken / "journal.db")) as journal, journal:
        journal.execute("UPDATE calls SET reply = CAST(x'ff3c623e80c32822f09f' AS TEXT) WHERE step = 0")
    update(broken)


@pytest.fixture(scope="module")
def server(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    runs = tmp_path_factory.mktemp("hostile") / "runs"
    apart(played, runs)
    with viewed(runs) as made:
        yield made


def harmless(page: Page) -> str:
    """Nothing that was written became markup; gives the text of the page."""
    assert page.locator("main :is(script, img, iframe, style, object, embed, [onload], [onerror])").count() == 0
    assert page.locator("main b:text-is('bold')").count() == 0 and page.title() != "owned"
    text: str = page.inner_text("main")
    assert not any(sign in text for sign in "\x1b\x07\u202e\u202c") and sideways(page) <= 0
    return text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", "document.title = 'owned'"),
        ("/run/evil", "<script>"),
        ("/run/evil/matches", "Matches"),
        ("/run/failing/matches?errors=1", "Failed calls"),
        ("/run/failing/match/0", "<img src=x onerror=alert(1)>"),
        ("/run/evil/match/0?step=1&player=1", "{{ 7*7 }} treasure & <b>bold</b>"),
        ("/run/evil/search?q=treasure", "<b>bold</b>"),
        ("/run/evil/beside/other", "other"),
        ("/run/evil/beside/other/0/0", "<b>bold</b>"),
        ("/run/broken/match/0?step=0&player=1", "\ufffd<b>\ufffd"),
    ],
)
def test_what_was_written_is_text_on_every_page(server: Viewed, visit: Visit, path: str, shown: str) -> None:
    page = visit(server.base + path, width=390)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.locator("body:not(:has(.waiting))").wait_for()
    assert shown in harmless(page)


def test_a_line_of_ten_megabytes_is_shown_piece_by_piece(server: Viewed, visit: Visit) -> None:
    page = visit(server.base + "/run/evil/match/0?step=0&player=1", width=390)
    words = page.locator(".said.reasoning .words")
    assert 15_000 < len(words.inner_text()) < 30_000 and "MB left" in words.inner_text()
    words.locator("a.more").first.click()
    words.locator(".piece").first.wait_for()
    assert len(words.inner_text()) > 35_000
    harmless(page)
    whole = page.request.get(server.base + words.locator("a.more").last.get_attribute("href"))
    assert len(whole.text()) >= LONG
