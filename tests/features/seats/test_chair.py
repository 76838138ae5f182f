"""One seat in several matches at a time: they are played one after another, and clocks of others stand still."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from tests.clock import Clock, on_a_clock

from ostrom.agents.base import Missed
from ostrom.answers import Answer
from ostrom.features.seats.chair import LONGEST_ANSWER, OpenDecision, SeatSession, ToolReply
from ostrom.features.seats.server import at_seats
from ostrom.models.base import Message, Reply, Request


def asking(chair: SeatSession, unit: int, text: str, part: str = "try0") -> asyncio.Task[Reply]:
    return asyncio.create_task(chair.ask(unit, part, Request((Message("user", text),))))


async def seated(seconds: float) -> tuple[SeatSession, asyncio.Task[Reply]]:
    """A chair whose agent has read the question of a decision."""
    chair = SeatSession(1)
    chair.begin(0, seconds, "")
    question = asking(chair, 0, "one")
    await chair.next_event()
    return chair, question


def test_an_agent_plays_one_match_at_a_time_and_others_wait_with_their_clocks() -> None:
    async def play(clock: Clock) -> None:
        chair = SeatSession(1)
        for unit in (7, 3):
            chair.begin(unit, 15, "")
        first, second = asking(chair, 7, "seven"), asking(chair, 3, "three")
        await clock.forward(100)  # nobody has come: an empty seat waits, and its clock with it
        assert (await chair.next_event()).text == "seven"
        acting = asyncio.create_task(chair.act("a"))
        assert (await first).text == "a"
        chair.decided(7, Answer("a"))
        assert (await acting).state == "taken"
        await clock.forward(30)  # twice the time of a decision: the other match has not begun here
        assert not second.done() and (await chair.next_event(0)).state == "wait"
        chair.end_match(7, 2.0)
        assert (await chair.next_event()).more == {"score": 2.0}
        assert (await chair.next_event()).text == "three"
        await clock.forward(14)
        assert not second.done()
        await clock.forward(2)
        with pytest.raises(Missed, match=r"no answer within 15 s"):
            await second

    on_a_clock(play)


def test_all_questions_of_a_decision_share_its_time() -> None:
    async def play(clock: Clock) -> None:
        chair, question = await seated(20)
        await clock.forward(15)
        acting = asyncio.create_task(chair.act("rubbish"))
        await question
        again = asking(chair, 0, "not that", "try1")
        assert (await acting).text == "not that"
        await clock.forward(6)
        with pytest.raises(Missed):
            await again
        with pytest.raises(Missed):  # and what the decision would ask later is missed, too
            await asking(chair, 0, "more", "social.try0")

    on_a_clock(play)


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_decision() -> None:
    async def play(clock: Clock) -> None:
        chair = SeatSession(1)
        chair.begin(0, 20, "")
        question = asking(chair, 0, "one")
        assert (await chair.next_event()).text == "one"
        await clock.forward(21)
        with pytest.raises(Missed):
            await question
        chair.decided(0, Answer(None, "missed"))
        chair.begin(0, 20, "")
        asked = asking(chair, 0, "two")
        await clock.forward(0)
        told = await chair.act("a")
        assert told == ToolReply("refused", "You have not read what there is to decide: call look first.")
        assert not asked.done()
        asked.cancel()

    on_a_clock(play)


def test_waits_are_bounded_whatever_is_asked_for() -> None:
    async def play() -> None:
        chair = SeatSession(1)
        assert (await chair.next_event(-5)).state == "wait"
        chair.close("The run is over.")
        assert (await chair.next_event(1e300)).state == "run_over"
        assert (await chair.act("a")).text == "The run is over."

    asyncio.run(play())


def test_an_answer_that_is_not_written_down_is_not_said_to_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.features.seats.chair.VERDICT", 0.05)
    monkeypatch.setenv("OPENAI_API_KEY", "open-sesame-open")

    async def play() -> None:
        chair, question = await seated(60)
        told = await chair.act("a open-sesame-open")
        assert told.state == "wait" and "not written down yet" in told.text
        assert (await question).text == "a [key]"  # and no key of the environment comes into a run

    asyncio.run(play())


def test_a_chair_may_be_closed_while_an_answer_is_on_its_way() -> None:
    async def play() -> None:
        chair, question = await seated(9)
        acting = asyncio.create_task(chair.act("a"))
        await asyncio.sleep(0)  # it has been given and not yet been read
        chair.close("stopped")
        assert (await question).text == "a"
        acting.cancel()

    asyncio.run(play())


def test_an_answer_has_so_many_characters_at_the_most() -> None:
    async def play() -> None:
        chair, question = await seated(60)
        refused = await chair.act("x" * (LONGEST_ANSWER + 1))
        assert refused.state == "refused" and f"(found {LONGEST_ANSWER + 1:,})" in refused.text
        acting = asyncio.create_task(chair.act("x" * LONGEST_ANSWER))
        assert len((await question).text) == LONGEST_ANSWER
        acting.cancel()

    asyncio.run(play())


@pytest.mark.parametrize("own_match", [True, False])
def test_who_leaves_or_misses_frees_a_seat_unless_its_process_has_one_match(own_match: bool) -> None:
    async def play() -> None:
        left, missed = SeatSession(1, own_match=own_match), SeatSession(1, own_match=own_match)
        for chair in (left, missed):
            chair.begin(0, 60, "")
            asked = asking(chair, 0, "one")
            await chair.next_event()
            asked.cancel()
        left.leave()
        missed.decided(0, Answer(None, "missed"))
        assert (left.heard, missed.heard) == (own_match, own_match)
        missed.begin(0, 60, "")  # the same match goes on, and its clock with it
        now, before = missed._turns[0], OpenDecision(9.0, "")
        assert now is not None and now.clock is not None
        now.clock.cancel()
        before.miss("first")
        before.miss("second")
        assert before.late == "first"

    asyncio.run(play())


@pytest.mark.parametrize(("closed", "states"), [(False, ["match_over", "wait"]), (True, ["run_over"])])
def test_a_match_that_is_broken_off_is_told_while_there_are_more(closed: bool, states: list[str]) -> None:
    async def play() -> None:
        chair, asked = await seated(60)
        asked.cancel()
        if closed:
            chair.close("over")
        chair.end_match(0, None, finished=False)
        told = [await chair.next_event(0) for _ in states]
        assert [one.state for one in told] == states
        assert closed or told[0].text == "The match is over. It was broken off."

    asyncio.run(play())


@pytest.mark.parametrize(
    ("seats", "arguments", "text"),
    [
        ((4,), {}, "look at 4"), ((1, 3), {"seat": 3}, "look at 3"), ((1, 3), {}, "seat must be one of 1, 3."),
        ((1, 3), {"seat": 2}, "(yours: 1, 3)"), ((1, 3), {"seat": True}, "(yours: 1, 3)"),
        ((1, 3), {"seat": "3"}, "(yours: 1, 3)"),
    ],
)  # fmt: skip
def test_a_call_names_one_of_ones_own_seats(seats: tuple[int, ...], arguments: Mapping[str, Any], text: str) -> None:
    async def at(seat: int, name: str) -> ToolReply:
        return ToolReply("taken", f"{name} at {seat}")

    call = at_seats({seat: lambda name, _, seat=seat: at(seat, name) for seat in seats})  # type: ignore[misc]
    assert text in asyncio.run(call("look", arguments)).text
