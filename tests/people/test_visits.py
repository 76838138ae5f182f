"""Whole visits over HTTP: every step, faults of browsers and people, and what strangers try."""

import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.people.served import Served, Visitor, arrive, play, served, wait_for
from tests.people.studies import whole_study

from ostrom.studies.run import open_run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("whole"), whole_study()) as made:
        yield made


def pass_quiz(visitor: Visitor) -> None:
    visitor.answer("agree")
    visitor.answer("continue")
    visitor.answer(rounds="1", same="0")


def finish(visitor: Visitor, remarks: str = "") -> None:
    pass_quiz(visitor)
    for _ in range(2):
        play(visitor)
        visitor.answer(guess="0")
    visitor.answer(age="33", remarks=remarks)
    visitor.answer("continue")


def test_a_whole_visit_ends_with_its_code_and_what_is_paid(server: Served) -> None:
    person = arrive(server, "whole1")
    assert person.title == "Consent" and "<em>agree</em>" in person.page
    person.answer("agree")
    assert "<strong>three</strong>" in person.page
    person.answer("continue")
    person.answer(rounds="0", same="0")
    assert person.title == "Instructions" and "once more" in person.page
    person.answer("continue")
    assert "This answer was not right. Read the second line." in person.page
    person.answer(rounds="1", same="0")
    assert person.title == "Round 1 of 3"
    play(person, "JF")
    assert person.title == "Round 3 of 3" and person.page.count("<tr>") >= 6
    play(person, "J")
    assert "The game is over. Last round: you chose J" in person.page
    person.answer(guess="1")
    play(person)
    person.answer(guess="0")
    assert person.title == "About you" and "&lt;b&gt;Anything&lt;/b&gt;" in person.page
    person.answer(age="12")
    assert person.status == 422 and "no valid answer" in person.page
    person.answer(age="33", remarks="my name is Zebedee")
    person.answer("continue")
    assert "https://app.prolific.com/submissions/complete?cc=CDONE" in person.page
    assert re.search(r"You are paid 3\.00 GBP, and 0\.\d\d GBP for your points", person.page)
    again = arrive(server, "whole1")
    assert "CDONE" in again.page
    shown = re.search(r'Your personal code</h2><p class="code">([^<]+)</p>', again.page)
    assert shown is not None and shown[1] in server.ostrom("people", "whole", "list", "--json").stdout


def test_no_page_holds_the_condition_the_agent_or_the_names_of_actions(server: Served) -> None:
    person = arrive(server, "blind1")
    pages = [person.page]
    for step in ("agree", "continue"):
        pages.append(person.answer(step))
    pages.append(person.answer(rounds="1", same="0"))
    pages += [person.answer(move) for move in "JFJ"]
    for word in ("alternator", "strategy", "cooperate", "defect", "pd_first", "bos_first", "against"):
        assert not any(word in page for page in pages), word


def test_double_clicks_second_tabs_and_old_pages_change_nothing(server: Served) -> None:
    person = arrive(server, "tabs1")
    pass_quiz(person)
    place, cookie = person.at, person.cookie
    other = server.visitor()
    other.cookie = cookie
    assert other.look() and other.at == place

    def click(who: Visitor, move: str) -> None:
        who.request("POST", "/answer", {"place": place, "answer": move})

    clicks = [threading.Thread(target=click, args=pair) for pair in ((person, "J"), (other, "F"))]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    person.settled()
    assert person.title == "Round 2 of 3"
    person.request("POST", "/answer", {"place": place, "answer": "F"}, X_Part="main")
    assert person.title == "Round 2 of 3" and "out of date" in person.page
    person.request("POST", "/answer", {"place": person.at, "answer": "cooperate"})
    assert person.status == 422


def test_one_id_has_one_visit_however_often_it_joins(server: Served) -> None:
    visitors = [server.visitor() for _ in range(6)]
    fields = {"PROLIFIC_PID": "twice1", "SESSION_ID": "s1"}
    joins = [threading.Thread(target=v.request, args=("POST", "/join", fields)) for v in visitors]
    for one in joins:
        one.start()
    for one in joins:
        one.join()
    assert len({visitor.cookie for visitor in visitors}) == 1
    stranger = server.visitor()
    stranger.request("POST", "/join", {"PROLIFIC_PID": "twice1", "SESSION_ID": "another"})
    assert stranger.status == 409 and not stranger.cookie
    bare = {"PROLIFIC_PID": "bare1", "SESSION_ID": ""}  # nothing but the cookie tells who comes back
    server.visitor().request("POST", "/join", bare)
    stranger.request("POST", "/join", bare)
    assert stranger.status == 409 and not stranger.cookie


def test_nobody_reads_or_answers_for_somebody_else(server: Served) -> None:
    victim, thief = arrive(server, "victim1"), arrive(server, "thief1")
    place = victim.at
    thief.request("POST", "/answer", {"place": place, "answer": "decline"})
    assert victim.look() and victim.at == place
    name, _, token = victim.cookie.partition("=")
    for forged in (token[:-2] + "aa", token.partition(".")[0], "", "x" * 5000, token + "é"):
        stranger = server.visitor()
        stranger.cookie = f"{name}={forged}".encode("latin-1", "ignore").decode("latin-1")
        stranger.look()
        assert place not in stranger.page and stranger.status in (400, 431)
        stranger.request("POST", "/answer", {"place": place, "answer": "decline"})
        assert stranger.status in (400, 403, 431)
    stranger = server.visitor()
    stranger.cookie = f"ostrom_000000000000={token}"  # the cookie of another study
    assert place not in stranger.look()


def test_other_sites_and_wrong_hosts_are_refused(server: Served) -> None:
    person = arrive(server, "sites1")
    fields = {"place": person.at, "answer": "decline"}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "null"},
    ):
        person.request("POST", "/answer", fields, **headers)
        assert person.status == 403, headers
    person.request("GET", "/", None, Host="evil.example")
    assert person.status == 421
    assert person.look() and person.title == "Consent"
    wanted = "default-src 'none'"
    assert wanted in person.headers["content-security-policy"] and person.headers["cache-control"] == "no-store"
    assert "script" not in re.sub(r'<script src="/static/page.js" defer></script>|noscript', "", person.page)
    for path in ("/static/../people.db", "/static/%2e%2e/security.py", "/static//etc/passwd", "/static/words/en.yaml"):
        person.request("GET", path)
        assert person.status == 404


def test_bodies_are_bounded_in_size_and_time(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    person = arrive(server, "large1")
    person.request("POST", "/answer", {"place": person.at, "answer": "x" * 20_000})
    assert person.status == 413
    person.request("POST", "/answer", {f"f{i}": "" for i in range(500)})
    assert person.status == 400
    head = (
        f"POST /answer HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: http://127.0.0.1:{server.port}\r\n"
        f"Cookie: {person.cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
        for _ in range(6):
            slow.sendall(b"fa0\r\n" + b"a" * 4000 + b"\r\n")
        assert b"413" in slow.recv(100)
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.settimeout(30)
        slow.sendall((head + "Content-Length: 100\r\n\r\nplace=").encode())
        assert b"408" in slow.recv(100)
    assert person.look() and person.title == "Consent"


def test_declining_and_leaving_are_ends_with_their_pages(server: Served) -> None:
    person = arrive(server, "decline1")
    person.answer("decline")
    assert "CDECL" in person.page and "no payment" in person.page and "personal code" not in person.page
    leaver = arrive(server, "leave1")
    pass_quiz(leaver)
    play(leaver, "J")
    leaver.request("GET", "/leave")
    assert "Do you want to leave?" in leaver.page
    leaver.request("POST", "/leave", {"how": "departed"})
    assert "CDEP" in leaver.page
    wait_for(lambda: "departed" in server.ostrom("people", "whole", "list").stdout)


@pytest.mark.slow
def test_news_reach_the_page_and_a_stranger_is_told_not_to_ask(server: Served) -> None:
    person = arrive(server, "news1")
    head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {person.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        stream.settimeout(30)
        stream.sendall(head.encode())
        assert b"text/event-stream" in stream.recv(4096)
        person.answer("agree")
        seen = b""
        while b"event: news" not in seen:
            seen += stream.recv(4096)
    stranger = server.visitor()
    stranger.request("GET", "/events")
    assert stranger.status == 204


@pytest.mark.slow
def test_an_idle_connection_stays_open_while_somebody_thinks(server: Served) -> None:
    person = arrive(server, "idle1")
    connection = person._connection
    time.sleep(6)  # longer than the 5 seconds after which the web server would close it by default
    person.answer("agree")
    assert person.title == "Instructions" and person._connection is connection


@pytest.mark.slow
def test_personal_words_stay_in_the_register_and_are_gone_after_erasing(server: Served) -> None:
    person = arrive(server, "erase1session")
    finish(person, "my name is Habakkuk")
    assert "CDONE" in person.page
    code = person.cookie.partition("=")[2].partition(".")[0]
    run = server.run
    wait_for(lambda: b"Habakkuk" in b"".join(f.read_bytes() for f in run.glob("people.db*")))
    journal = b"".join(file.read_bytes() for file in run.glob("journal.db*"))
    assert b"Habakkuk" not in journal and b"erase1session" not in journal
    assert (run / "people.db").stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        assert server.ostrom("people", "whole", "erase", code).returncode == 0
    disk = b"".join(file.read_bytes() for file in run.rglob("*") if file.is_file())
    assert b"Habakkuk" not in disk and b"erase1session" not in disk
    assert server.ostrom("export", "whole", "--format", "csv", "--out", "tables").returncode == 0
    assert code in (server.folder / "tables" / "decisions.csv").read_text()


@pytest.mark.slow
def test_the_end_of_it(server: Served) -> None:
    """Runs last: payments once, taking back, the audit, and what the tables hold."""
    leaver = arrive(server, "gone1")
    pass_quiz(leaver)
    play(leaver, "J")
    leaver.request("POST", "/leave", {"how": "departed"})
    finish(arrive(server, "stays1"))
    done = arrive(server, "paid1")
    finish(done)
    first = server.ostrom("people", "whole", "bonuses", "-o", "one.csv")
    second = server.ostrom("people", "whole", "bonuses", "-o", "two.csv")
    assert first.returncode == second.returncode == 0
    assert "bonus: the base is paid by the platform and not in it" in first.stderr + first.stdout
    columns, *paid = (server.folder / "one.csv").read_text().splitlines()
    assert columns == "id,amount,currency,pays"
    assert any(row.startswith("paid1,") and row.endswith(",GBP,bonus") for row in paid)
    assert (server.folder / "two.csv").read_text() == f"{columns}\n"
    code = done.cookie.partition("=")[2].partition(".")[0]
    assert server.ostrom("people", "whole", "withdraw", code).returncode == 0
    wait_for(lambda: bool(done.look()) and "You left the study" in done.page)
    audit = server.ostrom("people", "whole", "audit")
    assert audit.returncode == 0, audit.stdout
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        waiting = arrive(server, "streams1")
        head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {waiting.cookie}\r\n\r\n"
        stream.sendall(head.encode())
        assert b"text/event-stream" in stream.recv(4096)
        assert server.stop() == 0  # an open stream does not keep the server from ending
    with open_run(server.run) as run:
        rows = list(run.rows.decisions())
        ends = Counter(row["state"] for row in run.rows.matches())
    assert not any(code in str(row["answer"]) for row in rows)
    assert {row["kind"] for row in rows} >= {"arrive", "consent", "quiz", "assign", "seat", "match", "act", "survey"}
    assert ends["done"] and ends["skipped"] in (2, 4), "the match of whoever left, and of another test's"
    server.start()
    done = arrive(server, "after-restart")
    assert done.title == "Consent"


@pytest.mark.slow
def test_a_changed_text_is_refused_with_the_difference(tmp_path: Path) -> None:
    with served(tmp_path, whole_study()) as server:
        server.stop()
        study = server.folder / "study.yaml"
        study.write_text(study.read_text().replace("Do you *agree*", "Do you really *agree*"))
        refused = server.ostrom("serve", "study.yaml", "--port", "0")
        assert refused.returncode == 1 and "holds another study: people.texts.consent.md" in refused.stderr
        study.write_text(study.read_text().replace("Do you really *agree*", "Do you *agree*"))
        (server.run / "people.db").unlink()
        server.start()  # nobody has come yet: there is nothing to lose
