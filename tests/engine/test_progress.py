"""The numbers that a run shows while it goes on, and the bounds of shards and waits behind them."""

import asyncio
import io
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import ostrom
from ostrom.agents.config import AgentConfig
from ostrom.engine import progress
from ostrom.engine.plan import Budget, Counted, Plan, Seated, Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.progress import TROUBLE, _duration, _Pace, _units, decisions_per_match, describe
from ostrom.engine.shards import CALLS_APART, Shard, holder
from ostrom.models.base import Usage


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, []),
        ({"calls": 1, "tokens_in": 1500, "tokens_out": 700, "usd": 0.126}, ["2.2k tokens", "$0.13"]),
        ({"calls": 1, "unpriced": 1}, ["0.0k tokens", "price unknown"]),
        ({"batches": 1}, ["1 batch under way"]),
        ({"in_flight": 3, "invalid": 4, "retries": 5, "refused": 6},
         ["3 in flight", "4 unreadable", "5 retries", "6 refused"]),
        ({"failed": 1}, ["1 failed, 0 skipped"]),
        ({"skipped": 2}, ["0 failed, 2 skipped"]),
        ({"trouble": "x" * TROUBLE + "y"}, [f"last try: {'x' * TROUBLE}"]),
    ],
)  # fmt: skip
def test_a_line_shows_what_there_is_to_tell(given: dict[str, Any], shown: list[str]) -> None:
    assert describe(Tally(**given), 1.25, None) == " · ".join(["1.2 decisions/s", *shown])


def test_a_line_tells_the_time_left_and_long_waits_alone() -> None:
    now = time.monotonic()
    assert describe(Tally(), 0.0, 61.0) == "0.0 decisions/s · 1m01s left"
    assert "waiting" not in describe(Tally(wait_until=now + 4), 0.0, None)
    assert "s: server asked" in describe(Tally(wait_until=now + 500), 0.0, None)
    assert [_units(Tally(preparations=n)) for n in (0, 1)] == ["matches", "matches and designs"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (3600, "1h00m"), (90_061, "25h01m")],
)
def test_a_duration_is_short(seconds: float, text: str) -> None:
    assert _duration(seconds) == text


def test_the_time_left_follows_from_what_ended_in_this_session(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tally = Tally(matches=10, done=2, skipped=1, decisions=50)
    pace = _Pace(tally)
    assert pace.tick() == (0.0, None)
    clock[0], tally.done, tally.skipped, tally.decisions = 110.0, 4, 2, 150
    rate, left = pace.tick()
    assert rate == 10.0 and left == pytest.approx(10 / 3 * 4)
    clock[0], tally.decisions = 120.0, 450
    assert pace.tick()[0] == pytest.approx(0.7 * 10 + 0.3 * 30)
    clock[0], tally.decisions = 120.25, 900  # too soon for another rate
    assert pace.tick()[0] == pytest.approx(16.0)


def test_the_time_left_is_known_before_a_match_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty matches are played side by side: when the first one ends the others are nearly through."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tally = Tally(matches=60)
    pace = _Pace(tally, most=100)
    clock[0], tally.decisions = 60.0, 3000
    assert pace.tick()[1] == pytest.approx(60)  # half of 6000 decisions
    clock[0], tally.done, tally.decisions = 115.0, 1, 5750
    assert pace.tick()[1] == pytest.approx(5)  # by matches: 59 times as long as all that was played
    clock[0], tally.done, tally.decisions = 120.0, 60, 3000  # matches that end early take less
    assert pace.tick()[1] == 0


def test_what_a_resumed_match_takes_from_the_journal_is_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tally = Tally(matches=10, done=4)
    pace = _Pace(tally, most=100)
    clock[0], tally.decisions, tally.replayed = 1.0, 300, 300  # six matches at half of their decisions
    assert pace.tick() == (0.0, None)
    clock[0], tally.decisions = 11.0, 400
    speed, left = pace.tick()
    assert speed == 10.0 and left == pytest.approx(11 / 100 * 200)


def test_decisions_of_a_match_are_those_of_its_mechanism() -> None:
    study = {"name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 7},
             "agent": {"style": "direct"}, "types": {"a": "cooperator"}, "seeds": 3}  # fmt: skip
    assert decisions_per_match(ostrom.study(study).plan) == 14


def test_replies_are_added_up_and_preparations_are_no_matches() -> None:
    tally = Tally(matches=10, done=7, skipped=2, failed=1, preparations=4, prepared=Counter(done=2, skipped=1))
    tally.count_reply(Usage(10, 5, cached=4), 0.5)
    tally.count_reply(Usage(), None)
    tally.count_reply(Usage(1, 2), 0.0)
    assert (tally.tokens_in, tally.tokens_out, tally.tokens_cached) == (11, 7, 4)
    assert (tally.usd, tally.unpriced) == (0.5, 1)
    assert tally.of_preparations() == Counted(4, 2, 1, 0)
    assert tally.of_matches() == Counted(6, 5, 1, 1)


def test_shards_have_numbers_calls_and_parts_of_their_own() -> None:
    assert [Shard.parse(text) for text in ("1/1", "4/4", "4096/4096")] == [Shard(1, 1), Shard(4, 4), Shard(4096, 4096)]
    assert [Shard(n, 2).calls_before for n in (1, 2)] == [0, CALLS_APART]
    assert [holder(call, "ab") for call in (1, CALLS_APART, CALLS_APART + 1, 3 * CALLS_APART)] == list("aabb")
    assert Shard.of_manifest({"shard": {"number": 2, "of": 3}}) == Shard(2, 3) and Shard.of_manifest({}) is None
    assert Budget(7, 0, 1.5).for_shard(Shard(2, 3)) == Budget(2, 0, 0.5)
    assert Budget(None, 8).for_shard(Shard(2, 3)) == Budget(None, 3, None)


def test_options_are_told_by_their_names() -> None:
    options = PlayOptions(budget_usd=0.0, budget_tokens=9, executor="ray")
    assert options.bounds == {"usd": 0.0, "tokens": 9}
    assert options.budget == Budget(None, 9, 0.0)
    assert options.on_cluster and not PlayOptions().on_cluster
    assert options.stated() == {"budget_usd": 0.0, "budget_tokens": 9, "executor": "ray"}


@pytest.mark.parametrize(("batches", "lines"), [(0, 5), (1, 1)])
def test_a_line_is_written_again_unless_a_batch_is_waited_for(
    batches: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "print_stderr", told.append)

    async def main() -> None:
        runner: Any = SimpleNamespace(tally=Tally(matches=4, done=1, skipped=1, batches=batches), plan=None)
        writing = asyncio.create_task(progress._lines(runner, every=0))
        for _ in range(6):
            await asyncio.sleep(0)
        writing.cancel()

    asyncio.run(main())
    assert len(told) == lines and all(line.startswith("2/4 matches · ") for line in told)


@pytest.mark.parametrize(
    ("counts", "done", "playing", "said"),
    [
        ("match", 2, True, ""),
        ("match", 1, False, "so far: 1 of 2 matches"),
        ("match", 1, True, "so far: 1 of 2 matches, being played"),
        ("person", 2, False, ""),
        ("person", 2, True, "so far: 2 of 2 people, being played"),
    ],
)
def test_a_run_with_people_may_go_on_as_long_as_it_is_played(counts: str, done: int, playing: bool, said: str) -> None:
    plan: Any = SimpleNamespace(counts=counts, preparations=0, progress=lambda _: Counted(2, done, 0, 0))
    assert Plan.so_far(plan, {}, playing=playing) == said


def test_a_player_is_told_by_its_type_where_its_seat_gives_it_a_name() -> None:
    config = AgentConfig(strategy="grim")
    assert [Seated("a as 2", config, type="a").key, Seated("b", config).key] == ["a", "b"]


def test_the_bar_of_a_terminal_begins_before_the_first_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(progress, "console", lambda **_: screen)
    runner: Any = SimpleNamespace(plan=SimpleNamespace(name="mine"), tally=Tally(matches=4, done=1, skipped=2))

    async def shown() -> None:
        bar = asyncio.create_task(progress._bar(runner))
        while "starting" not in screen.file.getvalue():  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        bar.cancel()
        await asyncio.gather(bar, return_exceptions=True)

    asyncio.run(shown())
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "mine" in text and "matches · starting" in text and "3/4" in text
