"""The host of visits, asked directly: clocks, quotas, who was gone for too long, and who is owed money."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.people.served import small_study
from tests.people.studies import SURVEY, pair_study

from ostrom.answers import Answer, Choice
from ostrom.engine.folder import Folder
from ostrom.games import build_game
from ostrom.mechanisms.protocol import Decision, View
from ostrom.people import host as hosts
from ostrom.people.host import MOST_EXTENSIONS, Host
from ostrom.people.live_visit import GRACE, Inbox, LiveVisit, Lobby, PendingQuestion
from ostrom.people.pilot import host_plan
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of

DAY = 86400.0


def hosted(folder: Path, study: dict[str, Any], lead: Callable[[Host], Awaitable[None]]) -> None:
    """Host a study without a server, and lead people through it."""

    async def serve(host: Host, _: Folder) -> None:
        await asyncio.wait_for(lead(host), 300)

    host_plan(plan_of(load_study(study)), serve, name="run", runs=folder)


async def asked(host: Host, live: LiveVisit) -> PendingQuestion:
    """The question that waits for somebody, once there is one."""
    while True:
        since = live.version
        if (entry := host.now_at(live)) is not None and not entry.answer.done():
            return entry
        await live.news(since, 10)


async def ended(host: Host, live: LiveVisit) -> str:
    """How a visit ends, or what is asked in place of its end."""
    while live.end is None:
        since = live.version
        if (entry := host.now_at(live)) is not None and not entry.answer.done():
            return f"asked to {entry.decision.kind}"
        await live.news(since, 10)
    return live.end


async def joined(host: Host, name: str, *answers: str, test: bool = False) -> LiveVisit:
    """Somebody who has come and answered so much."""
    live = await host.join("link", name, "", "en", test=test)
    for value in answers:
        assert await host.settle(live, await asked(host, live), value)
    return live


def test_the_time_for_a_decision_can_be_lengthened_so_often_and_not_once_it_is_answered(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        slow = await joined(host, "slow", "agree", "2.5")
        entry = await asked(host, slow)
        assert entry.limit == 250 and not host.may_extend(entry), "its clock has not begun"
        host.shown(entry)
        assert [host.extend(entry) for _ in range(MOST_EXTENSIONS + 1)] == [True] * MOST_EXTENSIONS + [False]
        usual = await joined(host, "usual", "agree", "1")
        entry = await asked(host, usual)
        host.shown(entry)
        assert entry.limit == 100 and not await host.settle(slow, entry, "defect"), "it is not theirs"
        assert await host.settle(usual, entry, "cooperate") and not host.extend(entry)

    hosted(tmp_path, small_study(time={"decision": 100, "accommodation": [1, 2.5]}), lead)


def test_nobody_has_more_time_while_partners_wait(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        one, two = [await joined(host, name) for name in ("one", "two")]
        for live in (one, two):
            entry = await asked(host, live)
            host.shown(entry)
            assert host.people_at(entry) == 2 and entry.deadline is not None and not host.may_extend(entry)

    hosted(tmp_path, pair_study(time={"decision": 100}), lead)


def test_cells_are_filled_by_people_who_stay_and_by_no_test(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        tester = await joined(host, "t", "agree", test=True)
        await asked(host, tester)
        assert tester.cell is not None and host.occupied() == [0, 0]
        await asked(host, await joined(host, "one", "agree"))
        assert sorted(host.occupied()) == [0, 1] and not host.full(), "one cell alone is full"
        other = await joined(host, "other", "agree")
        await asked(host, other)
        assert host.occupied() == [1, 1] and host.full()
        await host.leave(other, "departed")
        assert await ended(host, other) == "departed"
        assert sorted(host.occupied()) == [0, 1] and not host.full()

    study = small_study(quota=1, assign={"coin": 0})
    others = {name: {"types.other": name} for name in ("tit_for_tat", "defector")}
    hosted(tmp_path, {**study, "vary": {"against": others}}, lead)


def test_a_person_who_is_excluded_leaves_the_place_in_the_quota_free(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        slow = await joined(host, "slow", "agree")
        entry = await asked(host, slow)
        assert host.inbox.settle(entry, host._missed(entry))
        for value in ("cooperate", "cooperate", "continue"):
            assert await host.settle(slow, await asked(host, slow), value)
        assert await ended(host, slow) == "done" and slow.excluded
        assert host.occupied() == [0] and not host.full()
        whole = await joined(host, "whole", "agree", "cooperate", "cooperate", "cooperate", "continue")
        assert await ended(host, whole) == "done" and not whole.excluded
        assert host.full()

    times = {"decision": 100, "missed": "mark"}
    hosted(tmp_path, small_study(quota=1, time=times, exclude={"missed": 1}), lead)


def test_a_visit_ends_when_its_person_was_silent_for_too_long(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        here, gone = [await joined(host, name, "agree") for name in ("here", "gone")]
        here.here -= 10_000  # it began long ago
        gone.seen -= host.people.time.resume_within + 1
        await host.end_expired_visits()
        assert (gone.leaving, here.leaving) == ("timed_out", None)
        assert await ended(host, gone) == "timed_out"

    hosted(tmp_path, small_study(), lead)


def test_who_misses_too_much_is_out_of_time(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        live = await joined(host, "slow", "agree")
        entry = await asked(host, live)
        assert host.inbox.settle(entry, host._missed(entry))
        assert await ended(host, live) == "timed_out"

    # Whoever is out of time waits for no result of the other.
    hosted(tmp_path, small_study(time={"decision": 100, "missed_at_most": 0, "reveal": [600, 900]}), lead)


def test_a_wait_for_the_other_comes_after_a_round_and_not_within_one(tmp_path: Path) -> None:
    async def lead(host: Host) -> None:
        live, loop = await joined(host, "one", "agree"), asyncio.get_running_loop()
        waits = []
        for _ in range(3):
            while live.table is None or (entry := host.inbox.question_for(live.table, live.player or 0)) is None:
                await asyncio.sleep(0.005)
            waits.append((entry.decision.kind, entry.due > loop.time()))
            assert host.inbox.settle(entry, Answer("cooperate", "person"))
            await entry.taken.wait()
        assert waits == [("predict", False), ("act", False), ("predict", True)]

    study = small_study(time={"reveal": [50, 60]})
    hosted(tmp_path, {**study, "mechanism": {**study["mechanism"], "predict": "players"}}, lead)


def test_data_is_forgotten_by_no_jump_of_the_clock_and_not_before_people_are_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lead(host: Host) -> None:
        whole = ("agree", "cooperate", "defect", "cooperate", "continue")
        person, tester = [await joined(host, name, *whole, test=name == "t") for name in ("p", "t")]
        assert [await ended(host, live) for live in (person, tester)] == ["done", "done"]
        host.register.request("withdraw", person.code)
        await host.register.flush()
        await host.end_expired_visits()
        assert (person.end, person.earned) == ("withdrawn", "done"), "what was earned is still paid"
        clock = SimpleNamespace(time=lambda: time.time() + 2 * DAY, monotonic=time.monotonic)
        monkeypatch.setattr(hosts, "time", clock)
        assert not len(host.forget())
        host._epoch += 2 * DAY  # two days have passed indeed
        found = host.forget()
        assert (found.erasable, found.unpaid) == ((tester.code,), (person.code,))

    hosted(tmp_path, small_study(keep={"people": "1d"}), lead)


def test_of_parallel_answers_the_first_is_in_journal_and_register(tmp_path: Path) -> None:
    """Two tabs send the same survey, also one that leaves out what is personal."""

    async def lead(host: Host) -> None:
        for name, later in (("texts", [("remarks", "second")]), ("none", [])):
            live = await joined(host, name, "agree", *["cooperate"] * 3)
            entry = await asked(host, live)
            assert entry.decision.kind == "survey"
            taken = await asyncio.gather(
                host.settle(live, entry, {"age": 30}, [("remarks", "first")]),
                host.settle(live, entry, {"age": 40}, later),
            )
            assert [*taken] == [True, False] and (await entry.answer).value == {"age": 30}
            texts = host.register._rows("SELECT text FROM contacts WHERE code=?", live.code)
            assert [row[0] for row in texts] == ["first"]

    visit = [{"consent": "consent.md"}, {"match": 1}, {"survey": "survey.yaml"}, {"debrief": "debrief.md"}]
    study = small_study(visit=visit)
    study["people"]["texts"] |= {"survey.yaml": SURVEY}
    hosted(tmp_path, study, lead)


def test_an_answer_that_is_on_its_way_at_the_deadline_still_counts() -> None:
    async def main() -> None:
        loop, inbox = asyncio.get_running_loop(), Inbox(lambda *_: None)
        view = View(build_game("prisoners_dilemma"), 0, "none")
        entry = PendingQuestion(0, 0, 0, Decision(0, "act", view, Choice(("J", "F"))), limit=50.0)
        for start in (
            lambda: inbox.show(entry, loop.time(), lambda _: Answer(None, "missed")),
            lambda: inbox.extend(entry, lambda _: Answer(None, "missed")),
        ):
            start()
            assert entry.timer is not None and entry.deadline is not None
            assert entry.timer.when() - entry.deadline == pytest.approx(GRACE, abs=0.5)
        before = entry.shown, entry.deadline, entry.timer
        inbox.show(entry, loop.time() + 7, lambda _: Answer(None, "missed"))  # a page that is loaded again
        assert (entry.shown, entry.deadline, entry.timer) == before
        assert entry.timer is not None
        entry.timer.cancel()

    asyncio.run(main())


def test_agents_take_the_seats_of_those_who_did_not_come() -> None:
    async def main() -> list[Any]:
        lobby = Lobby()
        return await asyncio.gather(*(lobby.seat(0, 0, index, (0, 2, 3), 0.05, "script") for index in (70, 80)))

    assert asyncio.run(main()) == [(70, 0, {3: "script"}), (70, 2, {3: "script"})]


def test_times_count_from_the_beginning_of_a_visit_in_an_earlier_process() -> None:
    live = LiveVisit(0, "c", False, "en", began=0.0, here=100.0, before=60.0)
    assert live.offset(101.5) == 61_500
