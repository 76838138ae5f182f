"""A system clock that jumps while a person decides; for what the server forgets, see `test_host.py`."""

import asyncio
import time

import pytest
from tests.clock import Clock, on_a_clock

from ostrom.answers import Answer, Choice
from ostrom.games import build_game
from ostrom.mechanisms.protocol import Decision, View
from ostrom.people import live_visit
from ostrom.people.live_visit import Inbox, PendingQuestion

DAYS = 86400


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
