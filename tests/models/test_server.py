"""The loopback server: deterministic, countable, and wrong exactly when asked to be."""

import asyncio
import subprocess
import sys
import urllib.request
from collections import Counter
from typing import Any

import orjson
import pytest

from ostrom.ground.errors import ModelError, StudyError
from ostrom.models import Constraint, Message, Request, open_model
from ostrom.testing.faults import KINDS, Faults, Latency
from ostrom.testing.replies import answer, instance
from ostrom.testing.server import LoopbackServer


def said(prompt: str, **more: Any) -> str:
    return answer({"messages": [{"role": "user", "content": prompt}], **more})


def test_answers_come_in_the_form_that_is_asked_for() -> None:
    rules = "Rules with [brackets].\n\n"
    assert said(rules + "Valid answers: [A0] or [A1].") in ("[A0]", "[A1]")
    reasoned = said(rules + "First think it through. Valid last lines: [A0] or [A1].")
    assert reasoned.splitlines()[-1] in ("[A0]", "[A1]") and len(reasoned.splitlines()) == 2
    assert said(rules + "Answer with the name and nothing else: A0 or A1.") in ("A0", "A1")
    shares = 'Answer with a JSON object. Its keys are exactly "A0", "A1", "A2"; the values add up to 100.'
    mixed = orjson.loads(said(rules + shares))
    assert list(mixed) == ["A0", "A1", "A2"] and sum(mixed.values()) == 100


def test_the_prompt_decides_the_answer() -> None:
    prompts = [f"Round {n}. Valid answers: [A0] or [A1]." for n in range(200)]
    once, twice = [said(p) for p in prompts], [said(p) for p in prompts]
    assert once == twice
    assert 60 < Counter(once)["[A0]"] < 140


def test_constraints_are_kept() -> None:
    assert said("x", structured_outputs={"choice": ["u", "v"]}) in "uv"
    assert said("x", grammar='root ::= "a\\"b" | "a\\"b"') == 'a"b'
    schema = {"type": "object", "properties": {"s": {"enum": ["p", "q"]}, "n": {"type": "integer", "minimum": 2}}}
    found = orjson.loads(said("x", response_format={"type": "json_schema", "json_schema": {"schema": schema}}))
    assert found["s"] in "pq" and found["n"] >= 2
    assert instance({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, 0) == [True, False]


def outcomes(faults: Faults, width: int) -> list[str]:
    """What 60 different requests meet, each tried up to three times, ``width`` at once."""

    async def main(name: str) -> list[str]:
        model, gate = open_model(name), asyncio.Semaphore(width)

        async def one(n: int) -> str:
            met = []
            for _ in range(3):
                async with gate:
                    try:
                        met.append((await model.complete(Request((Message("user", f"{n} [A] or [B]"),)))).text)
                        break
                    except ModelError as error:
                        met.append(type(error).__name__)
            return " ".join(met)

        try:
            return list(await asyncio.gather(*map(one, range(60))))
        finally:
            await model.close()

    with LoopbackServer(faults=faults) as server:
        return asyncio.run(main(server.model))


def test_faults_depend_on_the_request_not_on_the_order() -> None:
    faults = Faults({"rate_limit": 0.2, "server_error": 0.2, "malformed": 0.1, "reset": 0.1}, seed=5)
    alone, crowded = outcomes(faults, 1), outcomes(faults, 60)
    assert alone == crowded
    assert any("RateLimited" in o for o in alone) and any(o.startswith("[") for o in alone)
    assert any(not o.startswith("[") and o.endswith("]") for o in alone)  # a retry has a new chance
    assert outcomes(Faults(faults.rates, seed=6), 60) != alone


def test_faults_come_as_often_as_asked() -> None:
    faults = Faults({"hang": 0.1, "empty": 0.3})
    drawn = Counter(faults.draw(b"%d" % n, 0) for n in range(5000))
    assert abs(drawn["hang"] / 5000 - 0.1) < 0.02 and abs(drawn["empty"] / 5000 - 0.3) < 0.03


@pytest.mark.parametrize("rates", [{"rate_limt": 0.1}, {"hang": 1.5}, {"hang": 0.7, "reset": 0.7}, {"hang": -0.1}])
def test_wrong_rates_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(StudyError):
        Faults(rates)


def test_log_normal_latency_has_its_median() -> None:
    latency = Latency(0.05, sigma=0.5)
    drawn = sorted(latency.draw(b"%d" % n, 0) for n in range(2001))
    assert 0.045 < drawn[1000] < 0.055 and drawn[-1] > 0.1


@pytest.mark.slow
def test_it_runs_as_a_process_and_tells_its_counts() -> None:
    command = [sys.executable, "-m", "ostrom.testing.server", "--fault", "empty=1.0", "--latency", "0.001"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            model = open_model(f"{url}#m")

            async def main() -> str:
                reply = await model.complete(Request((Message("user", "[A] or [B]"),)))
                await model.close()
                return reply.text

            assert asyncio.run(main()) == ""
            with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as page:
                stats = orjson.loads(page.read())
            # One call, so the time with a call in flight is the time of that call.
            busy = stats.pop("busy_seconds")
            assert stats.pop("call_seconds") == busy >= 0.001
            assert stats.pop("seconds_by_level") == {"1": busy}
            assert stats == {"count": 1, "in_flight": 0, "max_in_flight": 1, "faults": {"empty": 1}}
        finally:
            process.terminate()


def test_every_kind_of_fault_is_described() -> None:
    assert all(KINDS.values())


def test_a_client_that_gives_up_leaves_no_call_in_flight() -> None:
    async def main(name: str) -> None:
        model = open_model(name, timeout=0.05)
        with pytest.raises(ModelError):
            await model.complete(Request((Message("user", "x"),), constraint=None))
        await model.close()

    with LoopbackServer(faults=Faults({"hang": 1.0})) as server:
        asyncio.run(main(server.model))
        for _ in range(30_000):
            if server.in_flight == 0:
                break
            import time

            time.sleep(0.01)
        assert server.in_flight == 0


def test_choices_reach_the_server_through_the_client() -> None:
    async def main(name: str) -> str:
        model = open_model(name, dialect="llamacpp")
        request = Request((Message("user", "x"),), constraint=Constraint(choices=('say "no"', "back\\slash")))
        reply = await model.complete(request)
        await model.close()
        return reply.text

    with LoopbackServer() as server:
        assert asyncio.run(main(server.model)) in ('say "no"', "back\\slash")
