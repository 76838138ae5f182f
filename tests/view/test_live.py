"""A run that is played while somebody watches: its row changes by itself, and nothing is written to its journal."""

import hashlib
import http.client
import json
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.view.runs import paused, talk
from tests.view.viewed import Viewed, viewed

from ostrom.engine.folder import Folder
from ostrom.view.shelf import RunsFolder
from ostrom.view.states import StatusPoller, Watching


def news(server: Viewed, path: str = "/events") -> Generator[dict[str, str], None, None]:
    """What the stream says, until the connection is closed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    connection.request("GET", path)
    reply = connection.getresponse()
    assert reply.status == 200 and reply.getheader("content-type", "").startswith("text/event-stream")
    kind = ""
    try:
        while line := reply.readline().decode():
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: ") and kind == "cells":
                yield json.loads(line[6:])
    finally:
        connection.close()


@pytest.mark.slow
def test_a_row_follows_its_run_from_running_to_finished(tmp_path: Path) -> None:
    talk(tmp_path, name="before")
    with paused(tmp_path) as go, viewed(tmp_path) as server:
        page = server.page("/")
        assert 'class="state running"' in page and 'class="state finished"' in page
        assert page.count("checked when it stops") == 1  # reading all of it would cost the player calls
        seen, stream = list[str](), news(server)
        for told in stream:
            if told["run"] != "talk":
                continue
            seen.append("running" if 'class="state running"' in told["html"] else "other")
            go.set()
            if 'class="state finished"' in told["html"]:
                break
        assert seen[-1] == "other"
    stream.close()  # the server ended although the stream was open


def test_looking_changes_no_byte_of_a_journal(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    kept = [folder / name for name in ("journal.db", "journal.db.tally", "run.json")]
    before = [hashlib.sha256(path.read_bytes()).hexdigest() for path in kept]
    there = {path.name for path in folder.iterdir()}
    with viewed(tmp_path) as server:
        for path in ("/", "/run/talk", "/run/talk/matches", "/run/talk/match/1?step=1&player=1"):
            server.page(path)
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in kept] == before
    assert {path.name for path in folder.iterdir()} == there


def test_a_run_that_was_cut_short_is_interrupted(tmp_path: Path) -> None:
    talk(tmp_path, budget={"calls": 3})
    with viewed(tmp_path / "talk") as server:  # a single run may be named as well
        page = server.page("/")
        assert 'class="state interrupted"' in page and "3 of 3 calls" in page
        assert 'aria-label="Calls against budget"' in page


def test_calls_are_counted_once_when_several_look_at_a_run(tmp_path: Path) -> None:
    talk(tmp_path)
    for _ in range(20):
        watching = Watching(RunsFolder(tmp_path))
        together = threading.Barrier(4)

        def look(watching: Watching = watching, together: threading.Barrier = together) -> None:
            together.wait()
            watching.poll(["talk"])

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert watching.status("talk").calls == 20
    assert not StatusPoller(Folder(tmp_path / "talk")).poll().counting, "all are counted at once"


def test_a_report_is_served_in_a_sandbox_and_nothing_else_of_the_folder(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    (folder / "report").mkdir()
    (folder / "report" / "index.html").write_text("<script>1</script>", encoding="utf-8")
    (folder / "report" / "linked.html").symlink_to(folder / "run.json")
    with viewed(tmp_path) as server:
        assert '"/run/talk/report/index.html"' in server.page("/")
        status, text, headers = server.ask("/run/talk/report/index.html")
        assert (status, text) == (200, "<script>1</script>")
        assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        for name in ("linked.html", "../run.json", "..%2frun.json", "figures/../../run.json", "none.svg"):
            assert server.ask(f"/run/talk/report/{name}")[0] == 404, name


def test_only_a_whole_list_loads_itself_anew(tmp_path: Path) -> None:
    talk(tmp_path)
    with viewed(tmp_path) as server:
        assert "data-all" in server.page("/") and "data-all" not in server.page("/?q=talk")
