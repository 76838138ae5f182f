"""An answer is on the disk before the rules see it, and the tally never promises more than the disk holds."""

import asyncio
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from ostrom.agents.base import Agent, DecisionContext
from ostrom.answers import Answer, Choice
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.match import Calls, LiveMatch
from ostrom.engine.plan import Tally, Unit
from ostrom.games import build_game
from ostrom.ground.errors import RunError
from ostrom.mechanisms.catalog.none import NoMechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View


class Log:
    """A journal that notes the order of events; a flush takes several turns of the loop."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def answer(
        self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int, asked: str | None = None
    ) -> None:
        self.events.append(f"queued {step}.{player}{part}")

    async def flush(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        self.events.append("durable")


class Slow:
    """An agent that answers after a moment; with ``part``, it settles a question of its own first."""

    instant = False

    def __init__(self, log: list[str], part: str = "") -> None:
        self.log, self.part = log, part

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        raise AssertionError

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        await asyncio.sleep(0)
        if self.part:
            settled = await context.answer_once(self.part, self._work)
            self.log.append(f"used {settled.value}")
            again = await context.answer_once(self.part, self._never)
            assert (
                again == settled
                and context.earlier_answers(self.part)[-1] == settled
                and not context.earlier_answers("other")
            )
        return Answer("cooperate")

    async def _work(self) -> Answer:
        return Answer("thought")

    async def _never(self) -> Answer:
        raise AssertionError("a question that was settled was asked again")


def match(log: Log, agents: list[Slow]) -> LiveMatch:
    game = build_game("prisoners_dilemma")

    def play() -> Generator[list[Decision], list[Answer], Outcome]:
        for step in range(2):
            form = Choice(("cooperate", "defect"))
            decisions = [Decision(p, "act", View(game, p, "repetition", step + 1), form) for p in range(len(agents))]
            yield decisions
            log.events.append(f"rules saw {step}")
        return cast("Outcome", None)

    rules = NoMechanism()
    unit = cast(
        "Unit",
        type(
            "U",
            (),
            {"index": 0, "first": 0, "streams": None, "mechanism": rules, "game": build_game("chicken"), "earlier": ()},
        )(),
    )
    return LiveMatch(unit, cast("Play", play()), cast("list[Agent]", agents), log, cast("Calls", None), Tally())


def test_the_rules_see_an_answer_only_after_it_is_durable() -> None:
    log = Log()
    asyncio.run(match(log, [Slow(log.events), Slow(log.events)]).run())
    assert log.events == [
        "queued 0.0", "queued 0.1", "durable", "rules saw 0", "queued 1.0", "queued 1.1", "durable", "rules saw 1",
    ]  # fmt: skip


def test_an_agent_uses_what_it_settled_only_after_that_is_durable() -> None:
    log = Log()
    asyncio.run(match(log, [Slow(log.events, "plan")]).run())
    assert log.events[:4] == ["queued 0.0plan", "durable", "used thought", "queued 0.0"]


def test_flush_waits_for_the_disk(tmp_path: Path) -> None:
    async def main() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        await journal.flush()
        other = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # nobody else can write now
        journal.answer(0, 0, 0, "", Answer("a"), 0)
        flushed = asyncio.ensure_future(journal.flush())
        await asyncio.wait([flushed], timeout=0.05)
        assert not flushed.done() and other.execute("SELECT count(*) FROM answers").fetchone() == (0,)
        assert journal.tally_path.read_bytes() == b"%020d\n" % 0
        other.execute("ROLLBACK")
        await flushed
        assert other.execute("SELECT count(*) FROM answers").fetchone() == (1,)
        assert journal.tally_path.read_bytes() == b"%020d\n" % 1
        other.close()
        journal.close()

    asyncio.run(main())


def test_the_tally_counts_only_what_was_committed_and_a_failed_journal_takes_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.answer(0, 0, 0, "", Answer("a"), 0)
        await journal.flush()
        journal.answer(0, 1, 0, "", Answer("b"), 0)
        journal.answer(0, 0, 0, "", Answer("again"), 0)  # refused, and with it all that is written together
        with pytest.raises(RunError, match="UNIQUE"):
            await journal.flush()
        assert journal.entries == 1 and journal.tally_path.read_bytes() == b"%020d\n" % 1
        with pytest.raises(RunError, match="UNIQUE"):
            journal.answer(0, 2, 0, "", Answer("c"), 0)
        with pytest.raises(RunError, match="UNIQUE"):
            await journal.flush()
        journal.close()

    asyncio.run(main())


def test_a_commit_reaches_the_disk_and_not_only_the_cache_of_the_system(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", create=True)
    connection = journal._connect()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: sync at every commit
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    journal.close()


def test_a_journal_says_itself_whether_it_was_closed(tmp_path: Path) -> None:
    closed = "SELECT value FROM meta WHERE key='closed'"

    async def main() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.answer(0, 0, 0, "", Answer("a"), 0)
        await journal.flush()
        other = sqlite3.connect(tmp_path / "journal.db")
        assert other.execute(closed).fetchone() == (0,)
        journal.close()
        assert other.execute(closed).fetchone() == (1,)
        other.close()

    asyncio.run(main())


def test_files_that_a_journal_is_checked_against_are_synced_before_they_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bytes, bool]] = []

    def spy(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        synced.append((path.name, path.read_bytes(), (tmp_path / "run.json").exists()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to name a file descriptor")
    monkeypatch.setattr(os, "fsync", spy)
    folder = Folder(tmp_path)
    folder.write_manifest({"study": {}})
    name, data, replaced = synced.pop()
    assert name == ".run.json.tmp" and data == (tmp_path / "run.json").read_bytes() and not replaced

    async def main() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        await journal.flush()
        journal.close()

    asyncio.run(main())
    assert ("journal.db.tally", b"%020d\n" % 0, True) in synced


def test_queued_entries_are_written_when_the_journal_is_closed(tmp_path: Path) -> None:
    async def main() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        for step in range(700):
            journal.answer(0, step, 0, "", Answer("a"), 0)
        journal.close()
        assert journal.entries == 700

    asyncio.run(main())
    with closing(Journal(tmp_path / "journal.db")) as found:
        assert found.entries == 700 == len(found.answers(0))
