"""One batch at its service and the waves of a run, beside a service that keeps its batches in memory."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.batching import scheduler as scheduling
from ostrom.engine.batching import service as service_module
from ostrom.engine.batching.ledger import JournaledBatch, Ledger, read_batches, refuse_batches
from ostrom.engine.batching.scheduler import BatchScheduler, WaveCall
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
from ostrom.engine.gate import Spending
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Tally
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
from ostrom.models.base import Message, Reply, Request
from ostrom.models.batches import (
    BatchEndpoint,
    BatchLimits,
    BatchProblem,
    BatchRequest,
    BatchStatus,
    ResultLine,
    Wanted,
)
from ostrom.models.pending_call import CallSize

DONE = BatchStatus("b1", True, "completed", outputs=("out",))


class Desk(BatchEndpoint):
    """A service in memory. ``says`` has what each method answers next, errors are raised; else all is well."""

    who = "the desk"

    def __init__(self, requests: int = 100, size: int = 100_000) -> None:
        self.limits = BatchLimits(requests, size)
        self.encode = lambda request: str(request.messages[0].content).encode()
        self.says: dict[str, list[Any]] = {}
        self.asked: list[str] = []
        self.sent: list[list[BatchRequest]] = []
        self.shelf: list[BatchStatus] = []

    def _next(self, method: str, usual: Any) -> Any:
        self.asked.append(method)
        answers = self.says.get(method)
        answer = answers.pop(0) if answers else usual
        if isinstance(answer, Exception):
            raise answer
        return answer

    def read(self, line: ResultLine, request: Request) -> Reply:
        return Reply(str(line.document))

    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> str | None:
        found: str | None = self._next("upload", "file")
        return found

    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:
        found: BatchStatus = self._next(
            "create", BatchStatus(f"b{len(self.sent) + 1}", False, "in_progress", input=file, marker=marker)
        )
        self.sent.append(list(requests))
        return found

    def is_ours(self, found: BatchStatus, wanted: Wanted) -> bool:
        return found.input == wanted.file

    async def page(self, after: str | None = None, count: int = 100) -> tuple[list[BatchStatus], str | None]:
        answer = self._next("page", self.shelf)
        return answer if isinstance(answer, tuple) else (answer, None)

    async def retrieve(self, batch: str) -> BatchStatus:
        found: BatchStatus = self._next("retrieve", BatchStatus(batch, True, "completed", outputs=("out",)))
        return found

    async def results(self, found: BatchStatus, output: str) -> list[ResultLine]:
        sent = [r for requests in self.sent[int(found.id[1:]) - 1 :][:1] for r in requests]
        usual = [ResultLine(r.id, "reply", r.body.decode()) for r in sent]
        lines: list[ResultLine] = self._next("results", usual)
        return lines

    def _status(self, document: dict[str, Any]) -> BatchStatus:
        raise NotImplementedError


class Bench(Ledger):
    """A ledger with the event loop that its journal writes in."""

    def __init__(self, path: Path, loop: asyncio.Runner) -> None:
        self.loop = loop
        super().__init__(loop.run(_started(path)))

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What something gives, or the kind of its error."""
        try:
            return self.loop.run(asyncio.wait_for(work, 300))
        except (ModelError, Lost) as error:
            return type(error)


async def _started(path: Path) -> Journal:
    journal = Journal(path, create=True)
    journal.keep_batches()
    journal.start()
    return journal


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Bench]:
    with asyncio.Runner() as loop:
        found = Bench(tmp_path / "journal.db", loop)
        yield found
        found.journal.close()


def served(ledger: Ledger, desk: Desk, tries: int = 4, **polling: Any) -> BatchService:
    few = {"first": 0.0, "longest": 0.0, "lag": 0.0, "readings": 2, "patience": 0.0, "failures": 6}
    return BatchService(desk, ledger, RetryPolicy(tries, 0.0, 0.0, 9.0), PollingPolicy(**{**few, **polling}))


def key(number: int) -> bytes:
    return bytes([number]) * 16


REFUSED, BROKEN, FULL = RequestRefused("no", status=400), ServerFailed("x", status=500), RateLimited("slow")
LISTED = BatchStatus("b7", False, "in_progress", input="file")


@pytest.mark.parametrize(
    ("errors", "listed", "gives", "state", "asked"),
    [
        ([], [], None, "b1", "upload create"),
        ([REFUSED, REFUSED], [], None, "b1", "upload create page create page create"),
        ([REFUSED] * 3, [], RequestRefused, "void", "upload create page create page create"),
        ([AccessRefused("key")], [], AccessRefused, "void", "upload create"),
        ([BROKEN], [LISTED], None, "b7", "upload create page"),
        ([FULL, FULL], [LISTED], None, "b1", "upload create create create"),
        ([BROKEN] * 4, [], ServerFailed, "void", "upload" + " create page" * 4),
        ([RateLimited("x", retry_after=9.5)], [], RateLimited, "void", "upload create"),
    ],
)  # fmt: skip
def test_a_batch_is_made_once(
    ledger: Bench, monkeypatch: pytest.MonkeyPatch, errors: list[Any], listed: Any, gives: Any, state: str, asked: str
) -> None:
    async def at_once(_: float) -> None: ...

    monkeypatch.setattr(asyncio, "sleep", at_once)
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    desk.says["create"], desk.shelf = list(errors), listed
    service = served(ledger, desk)
    pauses: list[float] = []
    service.on_retry_after = pauses.append
    requests = [BatchRequest(batch.request_id(key(1)), b"{}")]
    flushed = count_flushes(ledger, monkeypatch)
    assert ledger.run(service.make(batch, requests)) == gives
    assert flushed == list(range(1, len(flushed) + 1)) and len(flushed) == (2 if gives else 3), "durable step by step"
    assert ("void" if batch.void else batch.id, " ".join(desk.asked)) == (state, asked)
    assert batch.found == (state == "b7") and pauses == [e.retry_after for e in errors if e.retry_after]


def count_flushes(ledger: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events of batches the ledger had at each flush."""
    events, flushes, tell, flush = [1], list[int](), ledger.tell, ledger.flush

    def counted(batch: JournaledBatch, event: str, **more: Any) -> None:
        events.append(1)
        tell(batch, event, **more)

    async def noted() -> None:
        flushes.append(len(events))
        await flush()

    monkeypatch.setattr(ledger, "tell", counted)
    monkeypatch.setattr(ledger, "flush", noted)
    return flushes


@pytest.mark.parametrize(
    ("answers", "gives", "asked"),
    [
        ([REFUSED], RequestRefused, ["upload"]),
        ([BROKEN] * 4, ServerFailed, ["upload"] * 4),
        ([BROKEN, "file"], None, ["upload", "upload", "create"]),
    ],
)
def test_a_batch_whose_file_is_not_taken_is_void(
    ledger: Bench, answers: list[Any], gives: Any, asked: list[str]
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    desk.says["upload"] = list(answers)
    assert ledger.run(served(ledger, desk).make(batch, [])) == gives
    assert batch.void == (gives is not None) and desk.asked == asked


def test_without_a_file_the_newest_batch_that_was_there_before_is_noted(ledger: Bench) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    desk.says["upload"] = [None]
    desk.shelf = [BatchStatus("x", True, "ended", created=at) for at in (3.0, 5.0, None, 4.0)]
    ledger.run(served(ledger, desk).make(batch, []))
    assert (batch.since, batch.file) == (5.0, None)


@pytest.mark.parametrize(("others", "refuted", "id"), [([], [], "b7"), (["b7"], [], None), ([], ["b7"], None)])
def test_a_listed_batch_is_taken_unless_it_is_another_of_the_run_or_refuted(
    ledger: Bench, others: list[str], refuted: list[str], id: str | None
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    ledger.tell(batch, "uploaded", file="file", since=None)
    for name in others:
        ledger.tell(ledger.plan("m", [key(2)]), "created", id=name)
    batch.refuted.update(refuted)
    desk.shelf = [BatchStatus("b6", False, "in_progress", input="other"), LISTED]
    assert ledger.run(served(ledger, desk).find(batch)) is (id is not None)
    assert batch.id == id and batch.found is (id is not None)


def test_listings_are_read_to_their_end_and_as_long_as_they_may_lag(
    ledger: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    ledger.tell(batch, "uploaded", file="file", since=None)
    desk.says["page"] = [[], [], ([BatchStatus("b6", False, "in_progress")], "more"), [LISTED]]
    assert ledger.run(served(ledger, desk, lag=1e9).find(batch)) and batch.id == "b7"
    monkeypatch.setattr(service_module, "PAGES", 3)
    desk.says["page"] = [([LISTED], "more")] * 9
    assert len(ledger.run(served(ledger, desk).listing())) == 3


GONE = RequestRefused("no such batch", status=404)
AWAY = RequestRefused("gone", status=410)
GOING = BatchStatus("b1", False, "in_progress")


@pytest.mark.parametrize(
    ("answers", "gives", "asked"),
    [
        ([GOING, GOING, DONE], DONE, 3),
        ([GONE, GONE, GONE, DONE], DONE, 4),
        ([GONE, AWAY, GONE, AWAY], Lost, 4),
        ([BROKEN, GONE, BROKEN, GONE, BROKEN, BROKEN], ServerFailed, 6),
        ([AccessRefused("key")], AccessRefused, 1),
        ([RateLimited("slow", retry_after=0.0), DONE], DONE, 2),
        ([GONE, GONE, GONE, GOING, GONE, GONE, GONE, DONE], DONE, 8),
        ([BROKEN] * 5 + [DONE], DONE, 6),
        ([BROKEN] * 6, ServerFailed, 6),
        ([BROKEN] * 3 + [GOING] + [BROKEN] * 3 + [DONE], DONE, 8),
        ([REFUSED], RequestRefused, 1),
    ],
)
def test_a_batch_is_polled_until_it_has_ended_or_is_lost(
    ledger: Bench, answers: list[Any], gives: Any, asked: int
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    ledger.tell(batch, "created", id="b1")
    desk.says["retrieve"] = list(answers)
    service, pauses = served(ledger, desk), list[float]()
    service.on_retry_after = pauses.append
    assert ledger.run(service.wait(batch)) == gives
    assert len(desk.asked) == asked and len(pauses) == sum(isinstance(a, RateLimited) for a in answers)


def lines(batch: JournaledBatch, *kinds: str) -> list[ResultLine]:
    """Lines of results such as ``1 reply``."""
    found = []
    for text in kinds:
        number, kind = text.split()
        name = "strange" if number == "x" else batch.request_id(key(int(number)))
        found.append(ResultLine(name, kind, text))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("readings", "how", "counts", "gives"),
    [
        ([["1 reply", "2 error"]], "completed", (2, 1), {1: "reply", 2: "error"}),
        ([["1 reply", "1 error", "2 unrun", "2 error"]], "completed", (2, 1), {1: "reply", 2: "error"}),
        ([["1 bad", "2 reply"], ["1 reply"]], "completed", (2, 2), {1: "reply", 2: "reply"}),
        ([["1 bad", "2 reply"]] * 2, "completed", (2, 2), {1: "bad", 2: "reply"}),
        ([["1 reply"], []], "expired", (1, 1), {1: "reply"}),
        ([["1 reply"], []], "completed", (2, 1), {1: "reply"}),
        ([["1 reply"], [], ["2 reply"]], "completed", (2, 2), {1: "reply", 2: "reply"}),
        ([["x reply"]] * 2, "completed", (2, 2), ForeignResults),
        ([["1 reply", "x reply"], ["2 reply"]], "completed", (2, 2), {1: "reply", 2: "reply"}),
        ([[]], "failed", (0, 0), {}),
        ([["x reply", "1 reply"]] * 2, "cancelled", (2, 2), {1: "reply"}),
        ([[], []], "expired", (2, 2), Lost),
        ([[], []], "expired", (2, None), Lost),
        ([[], []], "expired", (0, 0), {}),
        ([GONE, ["1 reply", "2 reply"]], "completed", (2, 2), {1: "reply", 2: "reply"}),
        ([REFUSED], "completed", (2, 2), RequestRefused),
    ],
)
def test_results_are_read_until_they_are_whole_or_can_bring_no_more(
    ledger: Bench, readings: list[Any], how: str, counts: tuple[int, int | None], gives: Any
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1), key(2)])
    outputs = () if how == "failed" else ("out",)
    ended = BatchStatus("b1", True, how, ended_requests=counts[0], replied=counts[1], outputs=outputs)
    desk.says["results"] = [r if isinstance(r, Exception) else lines(batch, *r) for r in readings]
    desk.says["retrieve"] = [ended] * len(readings)
    parts: list[int] = []
    found = ledger.run(served(ledger, desk).read(batch, ended, lambda part: parts.append(len(part))))
    assert gives == (found if not isinstance(found, dict) else {k[0]: line.kind for k, line in found.items()})
    assert parts == ([1] if len(readings) == 3 else []) and len(desk.says["results"]) == (how == "failed")


def test_results_that_lag_are_announced_once_and_then_seldom(ledger: Bench, caplog: pytest.LogCaptureFixture) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1), key(2)])
    desk.says["results"] = [lines(batch, "1 reply")] * 5 + [lines(batch, "1 reply", "2 reply")]
    assert len(ledger.run(served(ledger, desk).read(batch, DONE, lambda _: None))) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "the desk, batch b1: the service says completed, but 1 of 2 results are missing; they are waited for"
    ]


def test_a_batch_that_is_too_old_brings_no_more(ledger: Bench) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    desk.says["results"] = [[], []]
    assert ledger.run(served(ledger, desk, lifetime=0.0).read(batch, DONE, lambda _: None)) == {}


def test_only_batches_that_may_still_bring_replies_forbid_direct_calls(ledger: Bench) -> None:
    def told() -> str:
        ledger.run(ledger.flush())
        with pytest.raises(RunError) as error:
            refuse_batches(ledger.journal)
        return str(error.value)

    first, second = (ledger.plan("m", [key(n)]) for n in (1, 2))
    assert "2 batches under way (first not named yet): go on with --batch" in told()
    ledger.tell(first, "void")
    ledger.tell(second, "created", id="b2")
    assert "1 batch under way (first b2)" in told()
    ledger.tell(second, "settled")
    ledger.run(ledger.flush())
    refuse_batches(ledger.journal)


@pytest.mark.parametrize(
    ("outcomes", "gives", "tries"),
    [
        ([BROKEN, BROKEN, 7], 7, 3),
        ([BROKEN, BROKEN, BROKEN, 7], ServerFailed, 3),
        ([REFUSED, 7], RequestRefused, 1),
        ([RateLimited("x", retry_after=1e9), 7], RateLimited, 1),
    ],
)
def test_work_that_may_be_done_twice_is_tried_so_often(
    ledger: Bench, outcomes: list[Any], gives: Any, tries: int
) -> None:
    desk = Desk()
    desk.says["work"] = left = list(outcomes)

    async def work() -> Any:
        return desk._next("work", None)

    assert ledger.run(with_retries(work, RetryPolicy(tries=3, first=0.0))) == gives
    assert len(outcomes) - len(left) == tries


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (GONE, "has no batch endpoint (404)"), (RequestRefused("x", status=405), "lists no batches"),
        (ServerFailed("x", status=501), "lists no batches"), (REFUSED, "has no batch endpoint (400)"),
        (BROKEN, None), (AccessRefused("x", status=401), None), (MalformedReply("x"), None),
    ],
)  # fmt: skip
def test_a_server_without_a_batch_endpoint_is_refused(error: ModelError, message: str | None) -> None:
    desk = Desk()
    desk.says["page"] = [error]
    with pytest.raises(UsageError if message else type(error)) as refused:
        asyncio.run(check(desk, RetryPolicy(tries=1)))
    assert message is None or message in str(refused.value)
    asyncio.run(check(desk, RetryPolicy(tries=1)))


def test_the_ledger_reads_what_it_wrote(ledger: Bench) -> None:
    keys = [key(1), key(2), key(3)]
    first, second = ledger.plan("openai/a", keys), ledger.plan("openai/b", keys[:1])
    ledger.tell(first, "uploaded", file="f", since=2.0)
    ledger.tell(first, "created", id="x", found=True)
    ledger.tell(first, "refuted", id="x")
    ledger.tell(first, "created", id="y")
    ledger.tell(first, "ended", how="expired", why="late", silent=[0, 2])
    ledger.tell(second, "created", id="z")
    ledger.run(ledger.flush())
    for batches in (ledger.batches, read_batches(ledger.journal)):
        one, two = batches[1], batches[2]
        assert (one.keys, one.model, one.file, one.since, one.id, one.found) == (
            keys, "openai/a", "f", 2.0, "y", False,
        )  # fmt: skip
        assert (one.how, one.why, one.refuted, one.state) == ("expired", "late", {"x"}, "expired")
        assert one.silent == {keys[0], keys[2]} and (two.number, two.state) == (2, "in_progress")
        assert one.request_id(keys[1]) == f"{one.marker}-{'02' * 16}" and len(one.marker) == 16
    assert (ledger.times_silent(keys[0]), ledger.times_silent(keys[1])) == (1, 0)
    assert Ledger(ledger.journal).plan("openai/a", keys).number == 3


@pytest.mark.parametrize(
    ("event", "entry"),
    [
        ("planned", {}), ("created", {"id": "../../models"}), ("created", {"id": 3}), ("created", {}),
        ("created", {"id": "a?b"}), ("refuted", {}), ("ended", {}), ("ended", {"how": "x", "silent": [9]}),
    ],
)  # fmt: skip
def test_an_entry_of_a_batch_that_cannot_be_read_is_named(ledger: Bench, event: str, entry: dict[str, Any]) -> None:
    ledger.plan("m", [key(1)])
    ledger.journal.batch(1, 0.0, event, entry, b"")
    ledger.run(ledger.flush())
    with pytest.raises(RunError, match=rf"journal\.db: batch 1: its entry '{event}' cannot be read$"):
        read_batches(ledger.journal)


def test_errors_of_batches_say_what_became_of_a_request() -> None:
    batch = JournaledBatch(1, "openai/m", "k", [key(1)], 0.0, id="b", how="expired", why="late")
    assert str(unanswered(batch)) == "batch b ended (expired) without a reply to this request: late"
    assert not unanswered(batch).retryable and not sent_twice().retryable and ServerFailed("x").retryable
    assert "for this request, the last of them b (expired), and both" in str(sent_twice(batch))
    assert "for this request, and both" in str(sent_twice())
    message = str(lost(batch, Lost("gone"), Path("runs/r")))
    assert message.startswith("batch b of openai/m is not to be had (gone): ")
    assert "ostrom more batches runs/r --forget" in message
    assert says_full(BatchProblem("x", "ENQUEUED TOKEN limit")) and says_full(BatchProblem("token_limit", ""))
    assert not says_full(BatchProblem("other", "a token"))


class Wave:
    """A scheduler with one model, and calls of one match each."""

    def __init__(self, ledger: Ledger, desk: Desk, budget: Budget | None = None, **polling: Any) -> None:
        self.tally, self.service = Tally(), served(ledger, desk, **polling)
        self.spending = Spending(self.tally, budget or Budget())
        self.scheduler = BatchScheduler({"m": self.service}, ledger, self.tally, self.spending)

    async def ask(self, *texts: str, then: Callable[[], None] | None = None) -> list[Any]:
        """The replies to calls whose keys are 1, 2, ...; an error where one has none."""
        await self.scheduler.start()
        calls = []
        for number, text in enumerate(texts, 1):
            request = Request((Message("user", text),))
            calls.append(WaveCall(self.scheduler, number, "m", request, key(number), None))
            calls[-1].measure(CallSize(10, 5))
            self.scheduler.enter()
            calls[-1].start()
        if then is not None:
            then()
        found = []
        for call in calls:
            try:
                found.append((await call.reply()).text)
            except Exception as error:
                found.append(error)  # type: ignore[arg-type]
            self.scheduler.journaled(call.key)
            self.scheduler.leave()
        self.calls = calls
        await self.scheduler.close()
        return found


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "SETTLE", 0.002)


def portions(desk: Desk) -> list[int]:
    return [len(requests) for requests in desk.sent]


@pytest.mark.parametrize(
    ("requests", "size", "sent"),
    [(100, 100_000, [4]), (3, 100_000, [3, 1]), (100, 4 * 257, [4]), (100, 4 * 257 - 1, [3, 1]), (1, 1, [1] * 4)],
)
def test_a_wave_is_cut_where_a_batch_is_full(ledger: Bench, requests: int, size: int, sent: list[int]) -> None:
    desk = Desk(requests, size)
    assert ledger.run(Wave(ledger, desk).ask(*"abcd")) == ["a", "b", "c", "d"]
    assert portions(desk) == sent and all(batch.settled for batch in ledger.batches.values())


def test_a_wave_does_not_wait_for_ever_for_matches_that_ask_nothing(
    ledger: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait counts seconds by the clock, however many turns the event loop makes in them."""
    clock, turns, sleep = [1_000.0], [0], asyncio.sleep

    async def turn(_: float) -> None:
        turns[0] += 1
        clock[0] += 0.0 if turns[0] < 500 else scheduling.QUIET / 2
        assert (not desk.sent) or turns[0] > 500, "sent although no time has passed"
        await sleep(0)

    monkeypatch.setattr(scheduling, "loop_time", lambda: clock[0])
    monkeypatch.setattr(asyncio, "sleep", turn)
    wave = Wave(ledger, desk := Desk())
    wave.scheduler.enter()  # a match that plays and asks nothing
    assert ledger.run(wave.ask("a", "b")) == ["a", "b"] and portions(desk) == [2]
    assert 500 < turns[0] < 600, "turns of the loop count for nothing"


def failed(*problems: BatchProblem) -> BatchStatus:
    return BatchStatus("b1", True, "failed", problems=problems)


def test_a_line_that_the_service_rejects_fails_and_the_others_are_sent_again(ledger: Bench) -> None:
    desk = Desk()
    wrong = [BatchProblem("bad", f"line {n}", n) for n in (2, 0, 4)]
    desk.says["retrieve"] = [failed(*wrong)]
    first, second, third = ledger.run(Wave(ledger, desk).ask(*"abc"))
    assert (first, third, portions(desk)) == ("a", "c", [3, 2])
    assert isinstance(second, RequestRefused) and str(second) == "m refused the request: bad line 2"
    assert ledger.batches[1].why == "bad line 2" and ledger.batches[1].silent == frozenset()


def test_a_full_queue_halves_batches_and_counts_as_no_try(ledger: Bench) -> None:
    desk = Desk()
    full = failed(BatchProblem("token_limit_exceeded", "Enqueued token limit reached"))
    desk.says["retrieve"] = [full]
    wave = Wave(ledger, desk)
    assert ledger.run(wave.ask(*"abcde")) == [*"abcde"]
    assert portions(desk) == [5, 2, 2, 1] and [call.times for call in wave.calls] == [0] * 5


def test_what_a_batch_is_silent_about_is_sent_twice_and_counted_as_paid(ledger: Bench) -> None:
    desk = Desk()
    over = BatchStatus("b1", True, "expired", outputs=("out",))
    desk.says["retrieve"], desk.says["results"] = [over] * 8, [[]] * 8
    wave = Wave(ledger, desk, Budget(tokens=1000))
    (error,) = ledger.run(wave.ask("a"))
    assert "two batches ended without a result for this request" in str(error) and portions(desk) == [1, 1]
    assert (wave.tally.assumed, wave.tally.assumed_tokens) == (2, 30)
    assert wave.spending.reserved == 0
    (again,) = ledger.run(Wave(ledger, desk).ask("a"))
    assert "not sent a third time" in str(again) and len(desk.sent) == 2


@pytest.mark.parametrize(
    ("how", "listed", "sent", "states"),
    [
        ("planned", [LISTED], 1, ["void", "settled"]),
        ("uploaded", [], 1, ["void", "settled"]),
        ("uploaded", [BatchStatus("b1", True, "completed", input="file")], 0, ["settled"]),
    ],
)
def test_a_batch_of_an_earlier_session_is_looked_for_before_its_calls_are_sent_again(
    ledger: Bench, how: str, listed: list[BatchStatus], sent: int, states: list[str]
) -> None:
    desk, batch = Desk(), ledger.plan("m", [key(1)])
    if how == "uploaded":
        ledger.tell(batch, "uploaded", file="file", since=None)
    desk.shelf = listed
    desk.says["results"] = [[ResultLine(batch.request_id(key(1)), "reply", "earlier")]] if not sent else []
    assert ledger.run(Wave(ledger, desk).ask("new")) == ["new" if sent else "earlier"]
    assert len(desk.sent) == sent and [b.state for b in ledger.batches.values()] == states


@pytest.mark.parametrize(("answered", "state"), [((1, 2), "settled"), ((1,), "in_progress")])
def test_a_batch_whose_replies_are_all_in_the_journal_is_settled(
    ledger: Bench, monkeypatch: pytest.MonkeyPatch, answered: tuple[int, ...], state: str
) -> None:
    ledger.tell(ledger.plan("m", [key(1), key(2)]), "created", id="b1")
    monkeypatch.setattr(ledger.journal, "answered", lambda: {key(number) for number in answered})
    assert ledger.run(Wave(ledger, Desk()).ask()) == [] and ledger.batches[1].state == state


def test_a_key_that_was_asked_again_belongs_to_its_last_batch(ledger: Bench) -> None:
    desk, first, second = Desk(), ledger.plan("m", [key(1)]), ledger.plan("m", [key(1)])
    for batch, name in ((first, "b1"), (second, "b2")):
        ledger.tell(batch, "created", id=name)
    desk.says["results"] = [[ResultLine(second.request_id(key(1)), "reply", "last")]]
    assert ledger.run(Wave(ledger, desk).ask("a")) == ["last"]
    assert desk.sent == [] and [b.state for b in ledger.batches.values()] == ["settled", "settled"]


def test_a_batch_that_was_another_is_looked_for_anew_and_else_sent_again(ledger: Bench) -> None:
    desk = Desk()
    desk.says["create"], desk.shelf = [BROKEN], [LISTED]
    desk.says["results"] = [[ResultLine("strange", "reply", "no")] for _ in range(2)]
    assert ledger.run(Wave(ledger, desk).ask("a")) == ["a"]
    assert ledger.batches[1].refuted == {"b7"} and [b.state for b in ledger.batches.values()] == ["void", "settled"]


def test_a_budget_that_covers_one_call_sends_one(ledger: Bench) -> None:
    desk = Desk()
    wave = Wave(ledger, desk, Budget(calls=1))
    first, second = ledger.run(wave.ask("a", "b"))
    assert first == "a" and "does not cover another call" in str(second) and portions(desk) == [1]


def test_a_stop_refuses_what_was_not_sent(ledger: Bench) -> None:
    desk = Desk()
    wave = Wave(ledger, desk)
    found = ledger.run(wave.ask("a", "b", then=wave.scheduler.stop))
    assert [str(error) for error in found] == ["stopped", "stopped"] and desk.sent == []


def test_a_stop_leaves_a_batch_under_way_to_its_service(ledger: Bench) -> None:
    desk = Desk()
    ledger.tell(ledger.plan("m", [key(1)]), "created", id="b1")
    desk.says["retrieve"] = [GOING] * 1000
    wave = Wave(ledger, desk, first=0.001, longest=0.001)
    (error,) = ledger.run(wave.ask("a", then=wave.scheduler.stop))
    assert str(error) == "stopped" and wave.tally.batches_left == 1 and desk.sent == []
    assert ledger.batches[1].state == "in_progress"
