"""One batch at its service, step by step: made once, looked for, polled, read until it is whole."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.engine.batching import service as module
from ostrom.engine.batching.ledger import JournaledBatch, Ledger, read_batches, refuse_batches
from ostrom.engine.batching.scheduler import BatchScheduler
from ostrom.engine.batching.service import (
    BatchService,
    ForeignResults,
    Lost,
    check,
    lost,
    says_full,
    sent_twice,
    unanswered,
    with_retries,
)
from ostrom.engine.gate import Stopped
from ostrom.engine.plan import Tally
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.ground.errors import (
    AccessRefused,
    MalformedReply,
    ModelError,
    RateLimited,
    RequestRefused,
    RunError,
    ServerFailed,
    UsageError,
)
from ostrom.models.batches import BatchProblem, BatchStatus, ResultLine

KEYS = [bytes([number]) * 16 for number in range(3)]
RETRY = RetryPolicy(tries=3, first=0.0)
POLLING = PollingPolicy(first=0.0, longest=0.0, failures=5, lag=0.0, readings=2, patience=0.0, lifetime=1e9)


class Memory:
    """A journal that keeps events of batches in memory."""

    path = Path("runs/r/journal.db")

    def __init__(self) -> None:
        self.events: list[tuple[int, float, str, dict[str, Any], bytes]] = []
        self.flushed: list[int] = []

    def batch(self, number: int, at: float, event: str, told: Any, keys: bytes = b"") -> None:
        self.events.append((number, at, event, dict(told), keys))

    def batches(self) -> list[tuple[int, float, str, dict[str, Any], bytes]]:
        return self.events

    async def flush(self) -> None:
        self.flushed.append(len(self.events))

    @property
    def names(self) -> list[str]:
        return [event for _, _, event, _, _ in self.events]


class Endpoint:
    """A service that does what a list says, call by call; the last entry of a list is repeated."""

    who = "m"

    def __init__(self, **script: list[Any]) -> None:
        self.script, self.calls = {name: list(what) for name, what in script.items()}, list[str]()

    def _next(self, name: str) -> Any:
        self.calls.append(name)
        what = self.script[name]
        found = what.pop(0) if len(what) > 1 else what[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def upload(self, *_: Any) -> Any:
        return self._next("upload")

    async def create(self, *_: Any) -> Any:
        return self._next("create")

    async def page(self, after: str | None = None, count: int = 100) -> Any:
        return self._next("page")

    async def retrieve(self, batch: str) -> Any:
        return self._next("retrieve")

    async def results(self, found: BatchStatus, output: str) -> Any:
        return self._next("results")

    def is_ours(self, found: BatchStatus, wanted: Any) -> bool:
        assert wanted.requests == 3
        return found.id.startswith("ours")


def at(status: int, error: ModelError, retry_after: float | None = None) -> ModelError:
    error.status, error.retry_after = status, retry_after
    return error


def begun(
    endpoint: Endpoint, retry: RetryPolicy = RETRY, polling: PollingPolicy = POLLING
) -> tuple[BatchService, JournaledBatch, Memory]:
    journal: Any = Memory()
    ledger = Ledger(journal)
    scripted: Any = endpoint
    return BatchService(scripted, ledger, retry, polling), ledger.plan("openai/m", KEYS), journal


def status(name: str = "ours", ended: bool = False, how: str = "in_progress", **more: Any) -> BatchStatus:
    return BatchStatus(name, ended, how, **more)


FAILED, REFUSED, LIMITED = ServerFailed("down"), RequestRefused("no"), RateLimited("slow")
NOTHING: tuple[list[BatchStatus], None] = ([], None)


@pytest.mark.parametrize(
    ("script", "events", "calls"),
    [
        ({"upload": ["f"], "create": [status("b")]}, ["uploaded", "created"], ["upload", "create"]),
        ({"upload": [FAILED, "f"], "create": [status("b")]}, ["uploaded", "created"], ["upload", "upload", "create"]),
        ({"upload": ["f"], "create": [FAILED, status("b")], "page": [NOTHING]},
         ["uploaded", "created"], ["upload", "create", "page", "create"]),
        ({"upload": ["f"], "create": [FAILED], "page": [([status()], None)]},
         ["uploaded", "created"], ["upload", "create", "page"]),
        ({"upload": ["f"], "create": [REFUSED, REFUSED, status("b")], "page": [NOTHING]},
         ["uploaded", "created"], ["upload", "create", "page", "create", "page", "create"]),
        ({"upload": ["f"], "create": [LIMITED, status("b")]}, ["uploaded", "created"], ["upload", "create", "create"]),
        ({"upload": [None], "page": [([status("x", created=3.0), status("y", created=5.0), status("z")], None)],
          "create": [status("b")]}, ["uploaded", "created"], ["upload", "page", "create"]),
    ],
)  # fmt: skip
def test_a_batch_is_made_once(script: dict[str, list[Any]], events: list[str], calls: list[str]) -> None:
    service, batch, journal = begun(endpoint := Endpoint(**script))
    asyncio.run(service.make(batch, ()))
    assert (journal.names, endpoint.calls) == (["planned", *events], calls)
    assert batch.how == "in_progress" and batch.id in ("b", "ours") and batch.found is (batch.id == "ours")
    assert batch.since == (5.0 if script["upload"] == [None] else None)
    assert journal.flushed == [1, 2, 3], "each step is durable before the next"


@pytest.mark.parametrize(
    ("script", "error", "creations"),
    [
        ({"upload": [REFUSED]}, RequestRefused, 0),
        ({"upload": [FAILED]}, ServerFailed, 0),
        ({"upload": ["f"], "create": [AccessRefused("key")]}, AccessRefused, 1),
        ({"upload": ["f"], "create": [REFUSED], "page": [NOTHING]}, RequestRefused, 3),
        ({"upload": ["f"], "create": [FAILED], "page": [NOTHING]}, ServerFailed, 3),
        ({"upload": ["f"], "create": [LIMITED]}, RateLimited, 3),
        (
            {"upload": ["f"], "create": [at(503, ServerFailed("later"), 1e-3)], "page": [NOTHING]},
            ServerFailed,
            1,
        ),
    ],
)
def test_a_batch_that_is_not_made_is_void(
    script: dict[str, list[Any]], error: type[ModelError], creations: int
) -> None:
    retry = RetryPolicy(tries=3, first=0.0, most_asked=0.0)
    service, batch, journal = begun(endpoint := Endpoint(**script), retry)
    with pytest.raises(error):
        asyncio.run(service.make(batch, ()))
    assert endpoint.calls.count("create") == creations and journal.names[-1] == "void"
    assert batch.state == "void" and batch.id is None


def test_a_batch_of_another_or_one_that_was_refuted_is_not_found() -> None:
    endpoint = Endpoint(
        page=[([status("ours1"), status("other"), status("ours2")], "next"), ([status("ours3")], None)]
    )
    service, batch, _ = begun(endpoint)
    batch.refuted.add("ours1")
    other = service.ledger.plan("openai/m", KEYS)
    service.ledger.tell(other, "created", id="ours2")
    assert asyncio.run(service.find(batch)) and batch.id == "ours3" and batch.found
    assert service.ledger.claimed() == {"ours2", "ours3"} and endpoint.calls == ["page", "page"]
    again, left, _ = begun(Endpoint(page=[([status("x")], None)]))
    assert not asyncio.run(again.find(left)) and left.id is None


def test_listings_are_looked_at_as_long_as_they_may_lag() -> None:
    polling = PollingPolicy(first=0.001, longest=0.001, lag=30.0)
    service, batch, _ = begun(Endpoint(page=[NOTHING, NOTHING, ([status()], None)]), polling=polling)
    assert asyncio.run(service.find(batch)) and batch.id == "ours"


def test_a_listing_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES", 3)
    service, _, _ = begun(endpoint := Endpoint(page=[([status("x")], "more")]))
    assert len(asyncio.run(service.listing())) == 3 == len(endpoint.calls)


GONE = at(404, RequestRefused("gone"))


@pytest.mark.parametrize(
    ("polls", "count"),
    [
        ([status(), status(), status(ended=True)], 3),
        ([GONE, GONE, status(), GONE, GONE, status(ended=True)], 6),
        ([FAILED, FAILED, FAILED, FAILED, status(ended=True)], 5),
        ([at(500, ServerFailed("x"), 0.0), status(ended=True)], 2),
    ],
)
def test_a_batch_is_polled_until_it_ends(polls: list[Any], count: int) -> None:
    service, batch, _ = begun(endpoint := Endpoint(retrieve=polls))
    batch.id = "b"
    assert asyncio.run(service.wait(batch)).ended and len(endpoint.calls) == count


@pytest.mark.parametrize(
    ("polls", "error", "count"),
    [
        ([GONE], Lost, 3), ([at(410, RequestRefused("x"))], Lost, 3), ([FAILED], ServerFailed, 5),
        ([AccessRefused("key")], AccessRefused, 1), ([REFUSED], RequestRefused, 1),
        ([FAILED, GONE, FAILED, GONE, FAILED], ServerFailed, 5),
    ],
)  # fmt: skip
def test_a_batch_that_is_not_known_any_more_is_lost(
    polls: list[Any], error: type[Exception], count: int
) -> None:
    service, batch, _ = begun(endpoint := Endpoint(retrieve=polls))
    batch.id = "b"
    with pytest.raises(error):
        asyncio.run(service.wait(batch))
    assert len(endpoint.calls) == count


def test_what_a_service_asks_to_wait_is_told() -> None:
    told: list[float] = []
    service, batch, _ = begun(Endpoint(retrieve=[at(429, RateLimited("x"), 0.001), status(ended=True)]))
    service.on_retry_after, batch.id = told.append, "b"
    asyncio.run(service.wait(batch))
    assert told == [0.001]


def lines(batch: JournaledBatch, kinds: str) -> list[ResultLine]:
    """A line for each letter: r reply, e error, u unrun, b bad, x of another request, - none."""
    words: dict[str, Any] = {"r": "reply", "e": "error", "u": "unrun", "b": "bad", "x": "reply"}
    return [
        ResultLine("strange" if kind == "x" else batch.request_id(KEYS[place % 3]), words[kind], place)
        for place, kind in enumerate(kinds)
        if kind != "-"
    ]


def ended_batch(
    readings: list[str], ended: dict[str, Any]
) -> tuple[BatchService, JournaledBatch, BatchStatus]:
    """A batch that is over, whose result file has these lines each time that it is read."""
    endpoint = Endpoint(results=[], retrieve=[])
    service, batch, _ = begun(endpoint)
    endpoint.script["results"] = [lines(batch, kinds) for kinds in readings]
    over = status("b", True, **{"how": "completed", "outputs": ("o",), **ended})
    endpoint.script["retrieve"] = [over]
    return service, batch, over


@pytest.mark.parametrize(
    ("readings", "ended", "found", "parts"),
    [
        (["reu"], {}, "reu", 0),
        (["r--", "rr-", "rrr"], {}, "rrr", 1),
        (["rb-", "rru"], {}, "rru", 0),
        (["rer" + "erb"], {}, "rrr", 0),
        (["rrb"], {}, "rrb", 0),
        (["rr-"], {"how": "expired"}, "rr-", 0),
        (["rr-"], {"how": "cancelled"}, "rr-", 0),
        (["rr-"], {"ended_requests": 3, "replied": 2}, "rr-", 0),
        (["rrx", "rrr"], {"replied": 3}, "rrr", 0),
        (["r--", "r--", "rrr"], {"ended_requests": 3, "replied": 2}, "rrr", 1),
        (["r--", "r--", "rrr"], {"ended_requests": 2, "replied": 1}, "rrr", 1),
        (["---"], {"how": "failed", "outputs": ()}, "---", 0),
        (["---"], {"how": "failed", "replied": 0}, "---", 0),
    ],
)
def test_results_are_read_until_they_are_whole(
    readings: list[str], ended: dict[str, Any], found: str, parts: int
) -> None:
    service, batch, over = ended_batch(readings, ended)
    told: list[int] = []
    result = asyncio.run(service.read(batch, over, lambda some: told.append(len(some))))
    letters = {"reply": "r", "error": "e", "unrun": "u", "bad": "b"}
    assert "".join(letters[result[key].kind] if key in result else "-" for key in KEYS) == found
    assert len(told) == parts


def test_results_that_lag_are_told_once_and_then_seldom(caplog: pytest.LogCaptureFixture) -> None:
    service, batch, over = ended_batch(["r--"] * 5 + ["rrr"], {})
    asyncio.run(service.read(batch, over, lambda _: None))
    assert [record.getMessage() for record in caplog.records] == [
        "m, batch b: the service says completed, but 2 of 3 results are missing; they are waited for"
    ]


@pytest.mark.parametrize(
    ("readings", "ended", "error"),
    [
        (["xxx"], {}, ForeignResults),
        (["---"], {"how": "expired", "replied": 2}, Lost),
        (["---"], {"how": "expired", "ended_requests": 2}, Lost),
    ],
)
def test_results_that_cannot_be_its_own_are_lost(
    readings: list[str], ended: dict[str, Any], error: type[Exception]
) -> None:
    service, batch, over = ended_batch(readings, ended)
    with pytest.raises(error):
        asyncio.run(service.read(batch, over, lambda _: None))


def test_results_are_waited_for_no_longer_than_a_service_completes_them() -> None:
    polling = PollingPolicy(first=0.0, longest=0.0, readings=1, patience=0.0, lifetime=0.0)
    endpoint = Endpoint(results=[], retrieve=[ServerFailed("x")])
    service, batch, _ = begun(endpoint, polling=polling)
    endpoint.script["results"] = [lines(batch, "r--")]
    over = status("b", True, "completed", outputs=("o",))
    assert len(asyncio.run(service.read(batch, over, lambda _: None))) == 1


def test_a_file_that_is_gone_has_no_results_and_one_that_fails_is_an_error() -> None:
    for error, lines_read in ((GONE, 0), (at(500, AccessRefused("x")), None)):
        service, batch, _ = begun(Endpoint(results=[error]))
        over = status("b", True, "failed", outputs=("o",), replied=0)
        if lines_read is None:
            with pytest.raises(AccessRefused):
                asyncio.run(service.read(batch, over, lambda _: None))
        else:
            assert asyncio.run(service._lines(over)) == []


def test_what_may_be_done_twice_is_tried_so_often() -> None:
    async def tried(*outcomes: Any) -> tuple[Any, int]:
        left = list(outcomes)

        async def work() -> Any:
            found = left.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

        try:
            found = await with_retries(work, RETRY)
        except ModelError as error:
            found = type(error)
        return found, len(outcomes) - len(left)

    assert asyncio.run(tried(FAILED, FAILED, 7)) == (7, 3)
    assert asyncio.run(tried(FAILED, FAILED, FAILED, 7)) == (ServerFailed, 3)
    assert asyncio.run(tried(REFUSED, 7)) == (RequestRefused, 1)
    assert asyncio.run(tried(at(429, RateLimited("x"), 1e9), 7)) == (RateLimited, 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (at(404, RequestRefused("x")), "has no batch endpoint (404)"),
        (at(405, RequestRefused("x")), "lists no batches"),
        (at(501, ServerFailed("x")), "lists no batches"), (at(400, RequestRefused("x")), "has no batch endpoint (400)"),
        (at(500, ServerFailed("x")), None), (at(401, AccessRefused("x")), None), (MalformedReply("x"), None),
    ],
)  # fmt: skip
def test_a_server_without_a_batch_endpoint_is_refused(error: ModelError, said: str | None) -> None:
    endpoint: Any = Endpoint(page=[error])
    with pytest.raises(UsageError if said else type(error)) as refused:
        asyncio.run(check(endpoint, RetryPolicy(tries=1)))
    assert said is None or said in str(refused.value)
    asyncio.run(check(Endpoint(page=[NOTHING]), RETRY))  # type: ignore[arg-type]


def test_the_ledger_reads_what_it_wrote() -> None:
    journal: Any = Memory()
    ledger = Ledger(journal)
    first, second = ledger.plan("openai/a", KEYS), ledger.plan("openai/b", KEYS[:1])
    ledger.tell(first, "uploaded", file="f", since=2.0)
    ledger.tell(first, "created", id="x", found=True)
    ledger.tell(first, "refuted", id="x")
    ledger.tell(first, "created", id="y")
    ledger.tell(first, "ended", how="expired", why="late", silent=[0, 2])
    ledger.tell(second, "created", id="z")
    for batches in (ledger.batches, read_batches(journal)):
        one, two = batches[1], batches[2]
        assert (one.keys, one.model, one.file, one.since, one.id, one.found) == (
            KEYS,
            "openai/a",
            "f",
            2.0,
            "y",
            False,
        )
        assert (one.how, one.why, one.refuted, one.state) == ("expired", "late", {"x"}, "expired")
        assert one.silent == {KEYS[0], KEYS[2]} and (two.number, two.state) == (2, "in_progress")
        assert one.request_id(KEYS[1]) == f"{one.marker}-{'01' * 16}" and len(one.marker) == 16
    assert read_batches(journal)[1].ended is not None
    assert (ledger.times_silent(KEYS[0]), ledger.times_silent(KEYS[1])) == (1, 0)
    with pytest.raises(
        RunError, match=r"2 batches under way \(first y\): go on with --batch, or give them up with"
    ):
        refuse_batches(journal)
    ledger.tell(first, "settled")
    with pytest.raises(RunError, match=r"1 batch under way \(first z\)"):
        refuse_batches(journal)
    ledger.tell(second, "void")
    refuse_batches(journal)
    assert (ledger.batches[1].state, ledger.batches[2].state) == ("settled", "void")
    assert Ledger(journal).plan("openai/a", KEYS).number == 3


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("planned", {}), ("created", {"id": "../x"}), ("created", {"id": 3}), ("refuted", {}), ("ended", {}),
        ("ended", {"how": "x", "silent": [9]}),
    ],
)  # fmt: skip
def test_an_entry_of_a_batch_that_cannot_be_read_is_named(event: str, told: dict[str, Any]) -> None:
    journal: Any = Memory()
    journal.batch(1, time.time(), "planned", {"model": "m", "marker": "k"}, b"".join(KEYS))
    journal.batch(1, time.time(), event, told, b"")
    with pytest.raises(RunError, match=rf"journal\.db: batch 1: its entry '{event}' cannot be read$"):
        read_batches(journal)


def test_a_batch_that_was_planned_in_an_earlier_session_is_as_old_as_its_entry() -> None:
    old = JournaledBatch(1, "m", "k", KEYS, time.time() - 100)
    new = JournaledBatch(1, "m", "k", KEYS, time.time() + 100)
    assert 99 < time.monotonic() - old.begun < 200 and time.monotonic() - new.begun < 90


def test_errors_of_batches_say_what_became_of_a_request() -> None:
    batch = JournaledBatch(1, "openai/m", "k", KEYS, 0.0, id="b", how="expired", why="late")
    assert str(unanswered(batch)) == "batch b ended (expired) without a reply to this request: late"
    assert not unanswered(batch).retryable and not sent_twice().retryable and ServerFailed("x").retryable
    assert "for this request, the last of them b (expired), and both" in str(sent_twice(batch))
    assert "for this request, and both" in str(sent_twice())
    told = str(lost(batch, Lost("gone"), Path("runs/r")))
    assert (
        told.startswith("batch b of openai/m is not to be had (gone): ")
        and "ostrom more batches runs/r --forget" in told
    )
    assert says_full(BatchProblem("x", "ENQUEUED TOKEN limit")) and says_full(BatchProblem("token_limit", ""))
    assert not says_full(BatchProblem("other", "a token"))


class Call:
    """A call that waits for a wave, as far as the scheduler looks at it."""

    def __init__(self, key: bytes, unit: int = 1, model: str = "openai/m") -> None:
        self.key, self.unit, self.model = key, unit, model
        self.placed, self.size, self.full_size = False, None, "size"
        self.refused: list[Exception] = []

    @property
    def waits(self) -> bool:
        return not self.refused

    def refuse(self, error: Exception) -> None:
        self.refused.append(error)


def scheduled(
    *batches: tuple[str, list[bytes]], found: bool = True, answered: set[bytes] | None = None
) -> Any:
    """A scheduler of a run whose journal holds these batches, each as far as its last event."""
    journal: Any = Memory()
    journal.answered = lambda: answered or set()
    ledger = Ledger(journal)
    for how, keys in batches:
        batch = ledger.plan("openai/m", keys)
        if how != "planned":
            ledger.tell(batch, "uploaded", file="f")
        if how == "created":
            ledger.tell(batch, "created", id=f"b{batch.number}")

    async def find(batch: JournaledBatch) -> bool:
        if found:
            ledger.tell(batch, "created", id="found", found=True)
        return found

    held: list[Any] = []
    service: Any = SimpleNamespace(endpoint=SimpleNamespace(limits=SimpleNamespace(requests=10)), find=find)
    spending: Any = SimpleNamespace(hold=lambda model, size: held.append((model, size)))
    made: Any = BatchScheduler({"openai/m": service}, ledger, Tally(), spending)
    made._work, made.held = lambda opened: None, held
    return made


async def taken_up(made: Any) -> None:
    await made.start()
    await made.close()


@pytest.mark.parametrize(
    ("batches", "found", "answered", "states"),
    [
        ([("planned", KEYS)], True, set(), ["void"]),
        ([("uploaded", KEYS)], True, set(), ["in_progress"]),
        ([("uploaded", KEYS)], False, set(), ["void"]),
        ([("created", KEYS)], False, set(), ["in_progress"]),
        ([("created", KEYS)], False, set(KEYS), ["settled"]),
        ([("created", KEYS)], False, set(KEYS[:2]), ["in_progress"]),
        ([("created", KEYS), ("created", KEYS)], False, set(), ["settled", "in_progress"]),
        ([("created", KEYS), ("created", KEYS[:1])], False, set(), ["in_progress", "in_progress"]),
    ],
)
def test_batches_of_an_earlier_session_are_taken_up(
    batches: list[tuple[str, list[bytes]]], found: bool, answered: set[bytes], states: list[str]
) -> None:
    async def run() -> Any:
        made = scheduled(*batches, found=found, answered=answered)
        await taken_up(made)
        return made

    made = asyncio.run(run())
    assert [batch.state for batch in made.ledger.batches.values()] == states


def test_a_call_waits_for_the_batch_that_holds_it_or_for_the_next_wave() -> None:
    async def run() -> None:
        made = scheduled(("created", KEYS[:1]))
        await taken_up(made)
        inside, outside = Call(KEYS[0], unit=1), Call(KEYS[1], unit=2)
        for call in (inside, outside, again := Call(KEYS[2], unit=2)):
            made.put(call)
        assert made.held == [("openai/m", "size")] and inside.size == "size" and outside.size is None
        assert list(made._queue["openai/m"]) == [outside, again] and made._waiting == {1: 1, 2: 2}
        made.dropped(outside)
        made.dropped(outside)
        assert made._waiting == {1: 1, 2: 1}
        made.dropped(inside)
        assert made._waiting == {2: 1} and made._member[KEYS[0]].calls == {}
        made.put(kept := Call(KEYS[0]))
        made.stop()
        assert made.tally.batches_left == 1
        made.put(late := Call(KEYS[0]))
        assert [type(one.refused[0]) for one in (again, kept, late)] == [Stopped] * 3

    asyncio.run(run())


def test_a_request_of_which_two_batches_said_nothing_is_not_sent_again() -> None:
    async def run() -> None:
        made = scheduled(("created", KEYS), ("created", KEYS))
        first, second = made.ledger.batches.values()
        for batch, silent in ((first, [0, 1]), (second, [0])):
            made.ledger.tell(batch, "ended", how="expired", silent=silent)
            made.ledger.tell(batch, "settled")
        await taken_up(made)
        twice, once = Call(KEYS[0]), Call(KEYS[1])
        made.put(twice)
        made.put(once)
        assert "two batches ended without a result" in str(twice.refused[0]) and once.waits
        assert list(made._queue["openai/m"]) == [once] and made._waiting == {1: 1}

    asyncio.run(run())
