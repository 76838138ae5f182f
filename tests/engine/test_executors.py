"""What makes a cluster safe, without a cluster: what travels, what is acknowledged, who holds a place."""

import asyncio
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.engine.test_budgets import Waiting

import ostrom.ground.errors
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.engine.executors.actors import ClusterGate, GateActor, Outbox, Worker
from ostrom.engine.executors.local import CallOutcome, Failure
from ostrom.engine.executors.ray import RayExecutor
from ostrom.engine.gate import RunGate, Stopped
from ostrom.engine.plan import Budget, Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import BudgetSpent, OstromError, RunError, StudyError, UnknownName, UsageError
from ostrom.models.base import Usage
from ostrom.models.pending_call import NO_SIZE, CallSize
from ostrom.studies.files import builtin_names
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play
from ostrom.testing.server import LoopbackServer

BUILTIN = builtin_names()


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", BUILTIN)
def test_units_of_every_study_travel_whole(name: str) -> None:
    preset = "script" if name == "repeated-games-people" else None  # its model has a seat of its own
    plan = StudyPlan(load_study(name, preset=preset, models=["openai/gpt-4o-mini"]))
    for index in range(0, len(plan), max(1, len(plan) // 20)):
        unit = plan.unit(index)
        arrived = pickle.loads(pickle.dumps(unit))
        assert (arrived.index, arrived.key, arrived.streams) == (unit.index, unit.key, unit.streams)
        assert arrived.players == unit.players and arrived.needs == unit.needs
        assert arrived.mechanism.name == unit.mechanism.name
        assert arrived.game.actions == unit.game.actions


def errors() -> list[OstromError]:
    """One of each error that a user can meet."""
    made: list[OstromError] = [SkipMatch("given up"), Stopped("stopped")]
    for kind in vars(ostrom.ground.errors).values():
        if not (isinstance(kind, type) and issubclass(kind, OstromError)):
            continue
        if kind is StudyError:
            made.append(StudyError("is wrong", file="a.yaml", key="b", actual=3))
        elif kind is UnknownName:
            made.append(UnknownName("game", "chess", ["go"]))
        else:
            made.append(kind("it went wrong"))
    return made


def test_a_worker_opens_the_models_and_counts_by_the_prices_that_the_driver_sends(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    with LoopbackServer() as server:
        prices.write_text(f'"{server.model}": {{input: 5, output: 10}}\n')
        plan = StudyPlan(load_study("memory", preset="smoke", models=[server.model]))
        options = PlayOptions(executor="ray", prices=prices, prompts=tmp_path, limit=1)

        async def begin() -> tuple[Any, Worker]:
            driver = RayExecutor(plan, None, plan.library, options)
            config = pickle.loads(pickle.dumps(driver._worker_config))
            prices.unlink()  # the worker is on another machine
            worker = Worker("w", config)
            opened = await worker.begin()
            await worker.close()
            return opened, worker

        opened, worker = asyncio.run(begin())
    assert isinstance(opened, dict) and set(opened) == set(plan.models)
    sent = worker.worker_config.options
    assert set(sent.stated()) == {"prices"} and sent.rates is not None
    assert sent.rates[server.model].output == 10


@pytest.mark.parametrize("error", errors(), ids=lambda e: type(e).__name__)
def test_errors_travel_with_their_class_and_words(error: OstromError) -> None:
    arrived = pickle.loads(pickle.dumps(Failure.from_error(error))).error()
    assert type(arrived) is type(error) and str(arrived) == str(error)
    assert arrived.exit_code == error.exit_code


def test_an_answer_takes_effect_only_after_the_driver_has_written_it() -> None:
    async def main() -> None:
        outbox = Outbox()
        await outbox.flush()  # nothing queued, nothing to wait for
        outbox.answer(7, 0, 1, "", Answer("C", "exact"), 2)
        waiting = asyncio.create_task(outbox.flush())
        await asyncio.sleep(0)
        number, entries = await outbox.exchange(0)
        outbox.answer(7, 1, 1, "", Answer("D", "exact"), 0)
        later = asyncio.create_task(outbox.flush())
        await asyncio.sleep(0)
        assert [entry[:4] for entry in entries if isinstance(entry, tuple)] == [(7, 0, 1, "")]
        assert not waiting.done(), "sent is not written"
        second = await outbox.exchange(number)
        await asyncio.sleep(0)
        assert waiting.done() and not later.done(), "what was queued later is not written yet"
        fetching = asyncio.create_task(outbox.exchange(second[0]))
        await asyncio.wait_for(later, 300)
        assert not fetching.done() and outbox.complaints[7] == 2
        fetching.cancel()

    asyncio.run(main())


def test_places_of_a_lost_worker_are_free_again_and_its_late_words_change_nothing() -> None:
    async def main() -> None:
        actor = GateActor(Tally(), Budget(), {"m": (2, 2)}, None)
        assert await actor.acquire("one", "m", [NO_SIZE] * 3) == [0, 0]
        waits = asyncio.create_task(actor.acquire("two", "m"))
        also_lost = asyncio.create_task(actor.acquire("one", "m"))
        await asyncio.sleep(0)
        assert not waits.done()
        await actor.lost("one")
        assert await asyncio.wait_for(waits, 300) == [0]
        assert isinstance(await asyncio.wait_for(also_lost, 300), Failure)
        await actor.release("one", [CallOutcome("m", "succeeded", (Usage(), None))])
        assert await actor.in_flight() == 1
        await actor.release("two", [CallOutcome("m", "succeeded", (Usage(5, 1), 0.5))])
        assert await actor.in_flight() == 0

    asyncio.run(main())


def test_workers_together_never_enter_more_often_than_the_budget_allows() -> None:
    async def main() -> None:
        actor = GateActor(Tally(calls=3), Budget(calls=10), {"m": (4, 4)}, None)
        entered = 0

        async def work(name: str) -> None:
            nonlocal entered
            while not isinstance(found := await actor.acquire(name, "m", [NO_SIZE] * 2), Failure):
                entered += len(found)
                await asyncio.sleep(0.001)
                well, badly = (
                    CallOutcome("m", "succeeded", (Usage(), None)),
                    CallOutcome("m", "failed", (found[-1], None)),
                )
                await actor.release(name, [well] * (len(found) - 1) + [badly if entered % 3 else well])
            assert found.kind == "BudgetSpent"

        await asyncio.gather(*(work(name) for name in ("one", "two", "three")))
        assert entered == 7

    asyncio.run(main())


def test_one_budget_in_tokens_holds_for_all_workers_and_for_the_calls_of_lost_ones() -> None:
    async def main() -> None:
        size, small = CallSize(6, 4), CallSize(1, 1)
        actor = GateActor(Tally(), Budget(tokens=36), {"m": (9, 9)}, None)
        assert await actor.acquire("one", "m", [size, size]) == [0, 0]
        assert await actor.acquire("two", "m", [size, size]) == [0]  # 40 do not fit into 36
        assert await actor.acquire("two", "m", [small]) == [0]
        waits = asyncio.create_task(actor.acquire("two", "m", [size]))
        await asyncio.sleep(0)
        assert not waits.done()
        told = CallOutcome("m", "succeeded", (Usage(1, 1), None), size, {"written": 4, "cut": False})
        await actor.release("two", [told])
        assert await asyncio.wait_for(waits, 300) == [0]
        await actor.lost("one")  # both of its calls may be billed: a prompt of one token and a reply of four
        await actor.release("two", [CallOutcome("m", "abandoned", size=size)])
        found = await actor.acquire("two", "m", [CallSize(20, 6)])
        assert isinstance(found, Failure) and "12 spent, with an upper estimate for 2 calls" in found.text
        assert await actor.acquire("two", "m", [size]) == [0]

    asyncio.run(main())


class Actors:
    """An actor of a cluster whose methods are called at once."""

    def __init__(self, actor: GateActor) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._actor, name)
        return SimpleNamespace(remote=lambda *given: asyncio.ensure_future(method(*given)))


async def turns() -> None:
    """Let everything that is due in the loop happen."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_worker_starts_the_calls_that_slots_were_reserved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def plain(_: ClusterGate, reference: Any) -> Any:
        return await reference

    monkeypatch.setattr(ClusterGate, "_answer", plain)

    async def main() -> None:
        actor = GateActor(Tally(), Budget(tokens=25), {"m": (9, 9)}, None)
        gate = ClusterGate("one", Actors(actor), {"m": None})
        requests = [Waiting(CallSize(size, size)) for size in (1, 5, 3, 9)]
        requests[1].dropped = True
        for request in requests:
            gate.request_slot("m", request)
        await turns()
        assert [request.outcome for request in requests] == ["started in era 0", "waits"] * 2
        gate.succeeded("m", Usage(1, 0), None, requests[2].size, 1)
        gate.failed("m", 0, None, size=requests[0].size, billed=True)
        await turns()
        assert requests[3].outcome == "started in era 0"
        assert await actor.in_flight() == 1 and actor._gate.tally.assumed_tokens == 2

    asyncio.run(main())


def test_a_wish_for_patience_holds_back_every_worker() -> None:
    async def main() -> None:
        actor = GateActor(Tally(), Budget(), {"m": (4, 4)}, None)
        assert await actor.acquire("one", "m") == [0]
        await actor.release("one", [CallOutcome("m", "failed", (0, 30.0))])
        other = asyncio.create_task(actor.acquire("two", "m"))
        await turns()
        assert not other.done()
        other.cancel()

    asyncio.run(main())


def test_a_stopped_gate_lets_nobody_in_and_a_spent_budget_neither() -> None:
    async def main() -> None:
        gate = RunGate(Tally(), Budget(calls=1), asyncio.Event())
        gate.open("m", 2, 2)
        assert gate.try_acquire("m") == 0
        with pytest.raises(BudgetSpent):
            gate.try_acquire("m")
        gate.succeeded("m", Usage(), 0.0)
        gate.release("m")
        gate.stopping.set()
        with pytest.raises(Stopped):
            gate.try_acquire("m")
        assert gate.tally.in_flight == gate.spending.reserved == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ray://head:10001", "on a machine of the cluster"),
        ("head", "not of the form host:port"),
        ("127.0.0.1:1", "no cluster answers there"),
    ],
)
def test_a_wrong_address_is_one_line_and_leaves_no_trace(
    address: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed (make ray)")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # another test's cluster may be up
    with pytest.raises(UsageError, match=words):
        play_scripted(tmp_path, address)
    assert not list(tmp_path.iterdir())


def test_without_ray_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'ostrom\[ray\]'"):
        play_scripted(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_does_not_start_in_time_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: Any) -> None:
        raise Exception("The current node timed out during startup.\nLogs: ...")  # as Ray raises it

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    with pytest.raises(RunError, match=r"could not be started on this machine: .* during startup\.$"):
        play_scripted(tmp_path)


def play_scripted(runs: Path, address: str | None = None) -> Any:
    """A study that needs no model, on a cluster."""
    study = load_study("memory", preset="smoke", changes=["types={tft: tit_for_tat}"])
    return play(study, runs=runs, options=PlayOptions(executor="ray", ray_address=address))
