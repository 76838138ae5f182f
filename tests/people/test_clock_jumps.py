"""A system clock that jumps while people take part: nothing expires early, and nothing never."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.clock import Clock, on_a_clock
from tests.people.served import Served, served, small_study, wait_for

from ostrom.answers import Answer, Choice
from ostrom.games import build_game
from ostrom.mechanisms.protocol import Decision, View
from ostrom.people import live_visit
from ostrom.people.live_visit import Inbox, PendingQuestion
from ostrom.studies.run import open_run

DAYS = 86400
JUMPING = f"""
import os, time
from pathlib import Path
import ostrom.people.server as server
from ostrom.people.host import Host
server.FORGET = server.SWEEP = 0.1
true, sweep = time.time, Host.end_expired_visits
time.time = lambda: true() + {DAYS} * (int(Path("days").read_text() or 0) if os.path.exists("days") else 0)

async def swept(self):
    for live in self.live_visits.values() if os.path.exists("gone") else ():
        live.seen -= 2000
    await sweep(self)
    Path("sweeps").open("a").write("x")

Host.end_expired_visits = swept
"""


def jump(server: Served, days: int) -> None:
    """Let the clock of a server jump, and wait until it has looked at everything twice."""
    (server.folder / "days").write_text(str(days))
    swept = server.folder / "sweeps"
    many = len(swept.read_text()) if swept.exists() else 0
    wait_for(lambda: swept.exists() and len(swept.read_text()) >= many + 2)


def names(server: Served) -> list[str | None]:
    with closing(sqlite3.connect(server.run / "people.db")) as register:
        return [name for (name,) in register.execute("SELECT external FROM participants ORDER BY visit")]


@pytest.mark.slow
def test_a_clock_that_jumps_ends_no_visit_and_erases_nobody(tmp_path: Path) -> None:
    study = small_study(time={"decision": 600, "resume_within": "20min"}, keep={"people": "1d"}, pay={"base": 0})
    with served(tmp_path, study, prelude=JUMPING) as server:
        paid, plays, silent = (server.visitor(join=True) for _ in range(3))
        for visitor in (paid, plays, silent):
            visitor.answer("agree")
        for move in "JFJ":
            paid.answer(move)
        paid.answer("continue")
        assert "C1" in paid.page
        before = names(server)
        plays.answer("J")
        for days in (400, -400):
            jump(server, days)
            assert names(server) == before and all(before)
            assert plays.look() and 590 < int(plays.page.partition('data-left="')[2].partition('"')[0]) <= 600
            plays.answer("J")
        plays.answer("continue")
        assert "C1" in plays.page
        (tmp_path / "gone").touch()
        jump(server, 0)
        assert "Round" not in silent.look()
        assert server.stop() == 0
        with open_run(server.run) as run:
            visits = list(run.rows.visits())
    assert [visit["end"] for visit in visits] == ["done", "done", "timed_out"]
    assert all(0 <= visit["seconds"] < 3600 for visit in visits)


def test_more_time_counts_from_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is sent twice does not start the clock of a decision twice; asking for more time does, once more."""
    monkeypatch.setattr(live_visit, "GRACE", 0.0)
    game, true, missed = build_game("prisoners_dilemma"), time.time, Answer(None, "missed")

    async def main(clock: Clock) -> None:
        inbox = Inbox(lambda *_: None)
        entry = PendingQuestion(0, 0, 0, Decision(0, "act", View(game, 0, "none"), Choice(("J", "F"))), limit=50.0)
        asked = asyncio.create_task(inbox.ask(entry))
        await asyncio.sleep(0)
        begun = clock.time()
        inbox.show(entry, begun - 20, lambda _: missed)
        inbox.show(entry, begun + 99, lambda _: missed)
        assert entry.deadline == begun + 30
        await clock.forward(10)
        monkeypatch.setattr(time, "time", lambda: true() + DAYS)
        await asyncio.sleep(0)
        assert not asked.done() and inbox.extend(entry, lambda _: missed)
        assert entry.deadline == clock.time() + 50
        await clock.forward(49)
        assert not asked.done()
        monkeypatch.setattr(time, "time", lambda: true() - DAYS)
        await clock.forward(2)
        assert asked.done() and await asked is missed

    on_a_clock(main)
