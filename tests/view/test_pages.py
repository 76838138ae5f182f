"""The pages of the viewer over real HTTP, from runs that were played."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.view.runs import talk
from tests.view.viewed import Viewed, viewed

from ostrom.data.rundata import recorded_answer, run_data
from ostrom.engine.folder import Folder
from ostrom.models.base import Reply, Request, Usage
from ostrom.people.pilot import Crowd, pilot, pilot_agent
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run
from ostrom.view.match import groups
from ostrom.view.render import THEMES
from ostrom.view.states import StatusPoller

HOSTILE = "<script>alert(1)</script><svg onload=alert(2)> \x1b[31m \u202eevil \x00"


def hostile(request: Request) -> Reply:
    """Markup, escape sequences and a direction override around an answer, and a long line."""
    return Reply(f"{HOSTILE}{'y' * 50_000}\n[A0]", "I fear they betray me.", "raw", usage=Usage(100, 10))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    runs = tmp_path_factory.mktemp("viewed") / "runs"
    talk(runs)
    talk(runs, hostile, name="hostile", title="<b>Bold</b>")
    broken = talk(runs, name="broken")
    with closing(sqlite3.connect(broken / "journal.db")) as journal, journal:
        journal.execute("UPDATE calls SET reply = reply || '!' WHERE id = 1")
    with viewed(runs) as made:
        yield made


def wait_for(what: Callable[[], bool], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_what_a_model_wrote_is_text(server: Viewed) -> None:
    page = server.page("/run/hostile/match/0?step=0&player=1")
    assert "<script>alert" not in page and "<svg onload" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\\u202eevil" in page and "\u202e" not in page and "\x1b" not in page and "\x00" not in page
    assert "Show more" in page and len(page) < 60_000
    (more,) = set(re.findall(r'hx-get="(/run/hostile/call/\d+/reply\?from=20000)"', page))
    rest = server.page(more)
    assert "y" * 19_000 in rest and "Show more" in rest
    assert "<b>Bold</b>" not in server.page("/") + server.page("/run/hostile")


def test_every_reply_carries_the_policy_and_no_page_has_inline_code(server: Viewed) -> None:
    for path in ("/", "/run/talk", "/run/talk/matches", "/run/talk/match/0", "/run/nobody"):
        _, text, headers = server.ask(path)
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=|javascript:", text)
        assert not re.search(r'(?:src|href|hx-get)="(?:https?:)?//', text)


@pytest.mark.parametrize(
    "path",
    ["/run/nobody", "/run/..", "/run/%2e%2e%2fetc", "/run/talk/match/99", "/run/talk/match/x",
     "/run/talk/match/0?step=9", "/run/talk/call/999/reply", "/run/talk/call/1/key", "/run/talk/match/0/decision.xml"],
)  # fmt: skip
def test_what_is_not_there_is_said_in_one_line(server: Viewed, path: str) -> None:
    status, text, _ = server.ask(path)
    assert status == 404 and "Traceback" not in text
    assert server.said == []


def test_another_host_and_another_site_are_refused(server: Viewed) -> None:
    assert server.ask("/", host="evil.example")[0] == 421
    assert server.ask("/login", "POST", {"password": "x"}, origin="http://evil.example")[0] == 403
    assert server.ask("/login", "POST", {"password": "x"})[0] == 403
    assert server.ask("/", "POST", {}, origin=server.base)[0] == 405


def test_a_password_keeps_everything_but_the_form_to_itself(tmp_path: Path) -> None:
    talk(tmp_path)
    with viewed(tmp_path, "a long password") as server:
        status, text, _ = server.ask("/")
        assert status == 403 and 'type="password"' in text and "talk" not in text
        assert server.ask("/run/talk")[0] == 403 and server.ask("/events")[0] == 403
        assert server.ask("/login", "POST", {"password": "wrong"}, origin=server.base)[0] == 403
        status, _, headers = server.ask("/login", "POST", {"password": "a long password"}, origin=server.base)
        assert status == 303 and "HttpOnly" in headers["set-cookie"]
        cookie = headers["set-cookie"].partition(";")[0]
        assert "talk" in server.page("/", cookie=cookie)
        assert server.ask("/", cookie="ostrom_view=99999999999.forged")[0] == 403


@pytest.mark.slow
def test_a_run_with_people_is_finished_when_everybody_is(tmp_path: Path) -> None:
    """Most numbers of its units belong to nobody."""
    plan = resolve("repeated-games-people", preset="smoke").plan
    pilot(plan, Crowd(3, pilot_agent(plan, None, None)), name="crowd", runs=tmp_path)
    status = StatusPoller(Folder(tmp_path / "crowd")).poll()
    assert (status.state, status.noun, status.done, status.planned) == ("finished", "people", 3, 3)


def test_the_list_of_runs_is_searched_and_sorted(server: Viewed) -> None:
    rows = re.compile(r'<tr data-run="([^"]+)"')
    every = rows.findall(server.page("/?sort=name"))
    assert every == sorted(every) and len(every) > 1
    assert rows.findall(server.page("/?q=HOSTILE+finished")) == ["hostile"]
    assert "No run fits" in server.page("/?q=%3Cscript%3E") and "<script>" not in server.page("/?q=%3Cscript%3E")


@pytest.mark.slow
def test_a_result_is_kept_only_with_the_tables_it_was_made_from(tmp_path: Path) -> None:
    folder = talk(tmp_path, seeds=2)
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest) as data:
        data.keep_result("YES")
        assert (recorded_answer(folder, data.entries), recorded_answer(folder, data.entries + 1)) == ("YES", "")
        data.entries -= 1
        data.keep_result("NO")
        assert recorded_answer(folder, data.entries + 1) == "YES"
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest):
        assert recorded_answer(folder, run.journal.entries) == "YES"  # and the tables are not made again for it
    (folder / "tables.json").write_text("[]")
    assert recorded_answer(folder, 1) == ""


@pytest.mark.slow
def test_every_group_of_words_that_pages_mark_is_named_in_plain_words() -> None:
    assert {group.name for group in groups()} == set(THEMES)
