"""What goes wrong around people: disks, clocks, models, partners, erasing during play."""

import resource
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.people.served import Served, Visitor, play, served, small_study, wait_for
from tests.people.studies import whole_study

from ostrom.studies.run import open_run
from ostrom.testing.server import LoopbackServer

CLOCKS = ("shown", "answered", "interrupted", "run", "person", "facts")


def tables(run: Path) -> list[dict[str, Any]]:
    """All decisions, apart from what clocks and chance codes say."""
    with open_run(run) as opened:
        rows = [*opened.rows.decisions(), *opened.rows.matches()]
    return [{k: v for k, v in row.items() if k not in CLOCKS and row.get("kind") != "arrive"} for row in rows]


def code_of(visitor: Visitor) -> str:
    return visitor.cookie.partition("=")[2].partition(".")[0]


@contextmanager
def full_disk(server: Served, name: str) -> Iterator[None]:
    """No file of the server can grow beyond the size that one of them has now."""
    assert server.process is not None
    size = (server.run / name).stat().st_size
    unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    yield
    assert unlimited


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process are Linux's")
@pytest.mark.slow  # what cannot be written, in `make test`: test_register.py
@pytest.mark.parametrize("who", ["playing", "joining"])
def test_a_full_disk_ends_the_server_with_one_line_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    # Under `make cover` the server would write what it ran into one more file when it ends.
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    with served(tmp_path / "calm", small_study()) as server:
        calm = server.visitor(join=True)
        calm.answer("agree")
        play(calm)
        server.stop()
        wanted = tables(server.run)
    with served(tmp_path / "rough", small_study()) as server:
        person = server.visitor(join=True)
        person.answer("agree")
        person.answer("J")
        with full_disk(server, "journal.db-wal" if who == "playing" else "people.db-wal"):
            if who == "playing":
                person.request("POST", "/answer", {"place": person.at, "answer": "F"}, X_Part="main")
                assert person.status == 503 and "cannot keep answers" in person.page
            else:
                late = server.visitor()
                late.request("POST", "/join", {"link": server.link(9).partition("link=")[2]})
                assert late.status == 503 and not late.cookie
            code, said = server.ended()
        assert code == 1 and "Traceback" not in said
        assert ("journal.db" if who == "playing" else "people.db") in said.splitlines()[-1]
        server.start()
        person.look()
        assert person.title == "Round 2 of 3", "what was not kept is asked again"
        play(person, "FJ")
        server.stop()
        assert tables(server.run) == wanted


def model_study(model: str) -> dict[str, Any]:
    study = small_study(
        games={"one": {}, "two": {}},
        visit=[{"consent": "consent.md"}, {"match": 1}, {"match": 2}, {"debrief": "debrief.md"}],
    )
    study["types"]["other"] = {"model": model, "style": "direct"}
    return study


def until_thanked(person: Visitor) -> None:
    """Defect until there is nothing left to decide: a person who was asked before the model failed still answers."""
    for _ in range(6):
        if person.settled() and person.title == "Thank you":
            return
        person.answer("F")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fails", pytest.param("out of budget", marks=pytest.mark.slow)])
def test_a_model_that_is_lost_amid_a_match_ends_the_match_and_not_the_visit(tmp_path: Path, how: str) -> None:
    calls: list[int] = []

    def reply(body: dict[str, Any]) -> str | tuple[int, dict[str, Any]]:
        calls.append(1)
        wrong = how == "fails" and len(calls) > 2
        return (401, {"error": {"message": "no such key"}}) if wrong else "J"

    options = ["--budget-calls", "2"] if how == "out of budget" else []
    with LoopbackServer(reply) as model, served(tmp_path, model_study(model.model), *options) as server:
        person = server.visitor(join=True)
        person.answer("agree")
        until_thanked(person)
        assert "ended early" in person.page
        person.answer("continue")
        # Two rounds against J were played and count: 5 points each, and the whole base.
        assert "C1" in person.page and "1.00 GBP, and 0.10 GBP" in person.page
        other = server.visitor(join=True)
        other.answer("agree")
        until_thanked(other)
        server.kill()
        server.start()
        assert other.look() and other.title == "Thank you"
        other.answer("continue")
        assert "C1" in other.page
        assert server.ostrom("people", "small", "audit").returncode == 0
        server.stop()
        with open_run(server.run) as run:
            states = {row["state"] for row in run.rows.matches() if row["unit"] == "match"}
    assert states == {"failed"}


@pytest.mark.slow
def test_a_slow_model_lets_people_wait_reload_and_leave(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: "J", latency=3.0) as model, served(tmp_path, model_study(model.model)) as server:
        person, leaver = server.visitor(join=True), server.visitor(join=True)
        for who in (person, leaver):
            who.answer("agree")
            who.request("POST", "/answer", {"place": who.at, "answer": "F"}, X_Part="main")
            assert who.at == "wait" and "J" not in who.page.partition("<main")[2].replace("JavaScript", "")
        leaver.request("POST", "/leave", {"how": "departed"})
        assert leaver.title == "You left the study"
        person.look()
        assert person.at == "wait"
        person.settled()
        assert person.title == "Round 2 of 3" and "<td>J</td>" in person.page


@pytest.mark.slow
def test_erasing_during_play_leaves_nothing_and_the_visit_goes_on_by_its_code(tmp_path: Path) -> None:
    def on_disk() -> bytes:
        return b"".join(file.read_bytes() for file in server.folder.rglob("*") if file.is_file())

    with served(tmp_path, whole_study()) as server:
        person = server.visitor()
        person.request("POST", "/join", {"PROLIFIC_PID": "Zebedee", "SESSION_ID": "Malachi"})
        person.answer("agree")
        person.answer("continue")
        person.answer(rounds="1", same="0")
        person.answer("J")
        assert b"Zebedee" in on_disk()
        erased = server.ostrom("people", "whole", "erase", code_of(person))
        assert erased.returncode == 0, erased.stderr
        play(person, "FJ")
        person.answer(guess="0")
        play(person)
        person.answer(guess="0")
        person.answer(age="33", remarks="my name is Habakkuk")
        server.kill()
        server.start()
        person.answer("continue")
        assert "CDONE" in person.page
        assert server.ostrom("people", "whole", "erase", code_of(person)).returncode == 0
        assert server.ostrom("export", "whole", "--out", "tables").returncode == 0
        assert server.ostrom("report", "whole").returncode == 0
        server.stop()
        assert not [word for word in (b"Zebedee", b"Malachi", b"Habakkuk") if word in on_disk()]
        assert server.ostrom("people", "whole", "audit").returncode == 0
        assert "Zebedee" not in server.ostrom("people", "whole", "list", "--ids", "--json").stdout


@pytest.mark.slow
@pytest.mark.parametrize("place", ["consent", "match"])
def test_whoever_left_has_left_although_the_server_was_killed_at_that_moment(tmp_path: Path, place: str) -> None:
    """The wish is on the disk before anything else follows from it."""
    with served(tmp_path, small_study(codes={"withdrawn": "CWITH"})) as server:
        person = server.visitor(join=True)
        if place == "match":
            person.answer("agree")
            person.answer("J")
        server.kill()
        with closing(sqlite3.connect(server.run / "people.db")) as register, register:
            values = (code_of(person), time.time())
            register.execute("INSERT INTO events VALUES (NULL, ?, ?, 'withdrawn', NULL)", values)
        server.start()
        wait_for(lambda: bool(person.look()) and "CWITH" in person.page)
        wait_for(lambda: "withdrawn" in server.ostrom("people", "small", "list").stdout)
        server.stop()
        with open_run(server.run) as run:
            assert not list(run.rows.visits()) or {row["state"] for row in run.rows.visits()} == {"withdrawn"}


@pytest.mark.slow
def test_a_job_of_the_server_that_fails_ends_it_with_its_reason(tmp_path: Path) -> None:
    """The jobs beside the pages look into the register every two seconds."""
    with served(tmp_path, small_study()) as server:
        with closing(sqlite3.connect(server.run / "people.db")) as register, register:
            register.execute("DROP TABLE requests")
        code, said = server.ended()
        assert code == 1 and "no such table: requests" in said and "Traceback" not in said
