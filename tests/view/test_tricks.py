"""Addresses, names and files that somebody made up to break the viewer: one line each, nothing goes wrong inside."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.view.runs import said, talk
from tests.view.test_search_and_beside import strategies, until
from tests.view.viewed import Viewed, viewed

from ostrom.models.base import Reply, Request, Usage
from ostrom.view.index_writer import update

STRANGE = "a\"><b>'#?%2e%2e&x\r\nx-evil: 1"
"""A name that only a folder made by hand can have."""
HUGE = 2**63


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    runs = tmp_path_factory.mktemp("tricks") / "runs"
    update(talk(runs))
    update(strategies(runs, "other"))
    (runs / "talk").rename(runs / STRANGE)
    shutil.copytree(runs / STRANGE, runs / "talk")
    (runs / "linked").symlink_to(runs / "talk")
    with viewed(runs) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    [
        "/run/" + "a" * 6000,
        "/run/%2e%2e",
        "/run/%2e%2e%2f%2e%2e%2fetc",
        "/run/talk%2f..%2fother",
        "/run/talk%00",
        "/run/talk%0d%0ax-evil:%201",
        "/run/talk/match/%C2%B2",
        "/run/talk/match/0?step=%C2%B2",
        f"/run/talk/match/0?step={'9' * 5000}",
        f"/run/talk/match/{HUGE}",
        "/run/talk/call/1/reply?from=%C2%B2",
        "/run/talk/call/1/prompt.%C2%B2",
        "/run/talk/matches?after=5",
        "/run/talk/matches?after=[1,2,3]",
        f"/run/talk/matches?after=[1,{HUGE}]",
        f"/run/talk/matches?sort=score&after=[{HUGE},1]",
        "/run/talk/matches?sort=score&after=[[1],1]",
        "/run/talk/matches?min.score)=1",
        "/run/talk/search?q=x&after=-1",
        "/run/talk/beside/other/0/x",
        "/run/talk/beside/%2e%2e",
        "/run/talk/match/0/act?round=2&player=1",
        "/job/1",
        "/static/%2e%2e%2fview%2fviewer.py",
    ],
)
def test_an_address_that_somebody_made_up_is_one_line(server: Viewed, path: str) -> None:
    status, text, headers = server.ask(path)
    assert status == 404 and "x-evil" not in headers and server.said == []
    assert "there is no such run" in text or "ostrom: " in text or text == "There is no such page.\n"


def test_many_filters_and_long_searches_are_answered(server: Viewed) -> None:
    assert server.ask("/run/talk/matches?" + "&".join(f"level.f{i}=1" for i in range(900)))[0] == 404
    server.page("/run/talk/matches?" + "&".join(f"level.f{i}=1" for i in range(90)))
    typed = " ".join(['NEAR(a b, 5) OR {reply}:x ^y "* -z'] * 100)
    server.page("/run/talk/search?q=" + quote(typed))
    assert server.said == []


@pytest.mark.slow
def test_a_strange_name_is_one_part_of_an_address_and_no_header(server: Viewed) -> None:
    place = f"/run/{quote(STRANGE, safe='')}"
    assert f'href="{place}"' in server.page("/") and "<b>" not in server.page(place)
    status, _, headers = server.ask(f"{place}/heat?measure=score&rows=rounds", hx_trigger="heat-form")
    assert status == 200 and "x-evil" not in headers
    assert "Match 0" in server.page("/run/linked/match/0")  # a link to a run is a run


@pytest.mark.slow
def test_two_hosts_are_refused(server: Viewed) -> None:
    import http.client

    asked = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    asked.putrequest("GET", "/")
    asked.putheader("host", "evil.example")
    asked.endheaders()
    assert asked.getresponse().status in (400, 421)
    asked.close()


@pytest.mark.slow
def test_a_journal_that_is_swapped_is_indexed_anew(tmp_path: Path) -> None:
    def other(request: Request) -> Reply:
        return Reply("[A0]", "A zebra! " + said(request).text, "raw", usage=Usage(100, 10))

    update(talk(tmp_path / "runs"))
    talk(tmp_path / "elsewhere", other)
    with viewed(tmp_path / "runs") as view:
        assert "<mark>trust</mark>" in view.page("/run/talk/search?q=trust")
        for file in ("run.json", "journal.db"):
            (tmp_path / "elsewhere" / "talk" / file).replace(tmp_path / "runs" / "talk" / file)
        until(lambda: "<mark>zebra</mark>" in view.page("/run/talk/search?q=zebra"))
        assert "A zebra!" in view.page("/run/talk/match/0?step=0&player=1")
        assert "No call has these words" in view.page("/run/talk/search?q=trust")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_no_process_of_the_server_stays_defunct(tmp_path: Path) -> None:
    def defunct() -> set[int]:
        found = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state == "Z" and int(parent) == os.getpid():
                found.add(int(stat.parent.name))
        return found

    before = defunct()
    talk(tmp_path)
    with viewed(tmp_path) as view:
        until(lambda: "being made" not in view.page("/run/talk/matches"))
        until(lambda: "journal checked" in view.page("/run/talk"))
        until(lambda: not defunct() - before)  # a process that nobody asks about again
