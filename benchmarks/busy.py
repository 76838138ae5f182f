"""Keeping connections busy: how long a study takes against how long it must take."""

from __future__ import annotations

import asyncio
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import orjson

from benchmarks.call_path import ours, study
from benchmarks.processes import server
from benchmarks.result import Result
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Runner
from ostrom.studies.run import play

LATENCY, SLOW = 0.05, 0.25
MATCHES, ROUNDS = 200, 20
CALLS = MATCHES * ROUNDS * 2
Sample = tuple[float, int, int]


def timed(model: str, connections: int, samples: list[Sample]) -> float:
    """Seconds from the first call in flight to the end, sampling calls in flight on the way."""

    async def watch(runner: Runner) -> None:
        begun = time.perf_counter()
        while True:
            samples.append((time.perf_counter() - begun, runner.tally.in_flight, runner.tally.done))
            await asyncio.sleep(0.002)

    with tempfile.TemporaryDirectory() as folder:
        options = PlayOptions(max_connections=connections, start_connections=connections)
        result = play(study(model, seeds=MATCHES), runs=folder, options=options, watch=watch)
        assert result.complete
    first = next(t for t, flying, _ in samples if flying)
    last = max(t for t, flying, _ in samples if flying)
    return last - first


def body_of(prompts: list[list[list[str]]]) -> bytes:
    """The longest request of the study."""
    messages = [{"role": role, "content": content} for role, content in max(prompts, key=_length)]
    return orjson.dumps({"model": "loopback", "messages": messages})


def _length(prompt: list[list[str]]) -> int:
    return sum(len(content) for _, content in prompt)


def bare(model: str, body: bytes) -> float:
    """Seconds that aiohttp and orjson alone need for as many calls, all of a round at once, nothing in between."""
    import aiohttp

    url = f"{model.partition('#')[0]}/chat/completions"

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=2 * MATCHES)) as session:

            async def player() -> None:
                for _ in range(ROUNDS):
                    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as reply:
                        orjson.loads(await reply.read())

            begun = time.perf_counter()
            await asyncio.gather(*(player() for _ in range(2 * MATCHES)))
            return time.perf_counter() - begun

    return asyncio.run(run())


class Echo(asyncio.Protocol):
    """Answers whatever comes with the same request, as often as is left: no client can do less."""

    def __init__(self, request: bytes, left: list[int], done: asyncio.Future[None]) -> None:
        self._request, self._left, self._done = request, left, done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """A reply of this server comes in one piece."""
        self._left[1] -= 1
        if not self._left[1]:
            self._done.set_result(None)
        self._send()

    def _send(self) -> None:
        if self._left[0]:
            self._left[0] -= 1
            self._transport.write(self._request)


def floor(model: str, body: bytes, connections: int) -> tuple[float, float]:
    """Seconds, and seconds of processor time, of a loop that reads nothing, makes nothing and keeps nothing.

    It is the least that asyncio takes here.
    """
    place = urlsplit(model)
    head = f"POST {place.path}/chat/completions HTTP/1.1\r\nHost: {place.netloc}\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    async def run() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        left, done = [CALLS, CALLS], loop.create_future()
        begun, worked = time.perf_counter(), time.process_time()
        made = (
            loop.create_connection(lambda: Echo(request, left, done), place.hostname or "", place.port or 80)
            for _ in range(connections)
        )
        opened = await asyncio.gather(*made)
        await done
        took = time.perf_counter() - begun, time.process_time() - worked
        for transport, _ in opened:
            transport.abort()
        return took

    return asyncio.run(run())


def seen_by(model: str) -> tuple[float, dict[int, float]]:
    """By a server's own count over its busy time: mean calls in flight, and the share of time at each level."""
    with urllib.request.urlopen(model.partition("/v1")[0] + "/stats") as page:
        stats = orjson.loads(page.read())
    busy = stats["busy_seconds"]
    shares = {int(level): seconds / busy for level, seconds in stats["seconds_by_level"].items()}
    return float(stats["call_seconds"] / busy), shares


def at_least(level: int, shares: dict[int, float]) -> float:
    """The share of time with so many calls in flight or more."""
    return sum(share for found, share in shares.items() if found >= level)


def measure(picture: Path | None = None) -> list[Result]:
    """With enough connections, and with 64."""
    with server() as model:
        body = body_of(ours(model, "asyncio")[1])
    return [*_wide(body), *_narrow(body, picture)]


def _wide(body: bytes) -> list[Result]:
    group = f"enough connections, {MATCHES} matches x {ROUNDS} rounds x 2 seats"
    critical, slow = ROUNDS * LATENCY, ROUNDS * SLOW
    with server(LATENCY) as model:
        makespan = median(timed(model, 2 * MATCHES, []) for _ in range(3))
        alone = median(bare(model, body) for _ in range(3))
        least, worked = floor(model, body, 2 * MATCHES)
    with server(SLOW) as model:
        patient = timed(model, 2 * MATCHES, [])
    at = f"{LATENCY * 1000:.0f} ms"
    return [
        Result(
            group, f"makespan at {at}", makespan, "s", "critical path", makespan / critical,
            note=f"no aim: 1.15 would allow {_each(1.15 * critical)} a call; this takes {_each(makespan)}, aiohttp "
            f"and orjson alone take {_each(alone)}, the wire alone {_each(worked)}",
        ),
        Result(
            group, f"makespan at {SLOW * 1000:.0f} ms", patient, "s", "critical path", patient / slow,
            note=f"here 1.15 would allow {_each(1.15 * slow)} a call",
        ),
        Result(
            group, f"bare aiohttp + orjson loop at {at}, as many calls", alone, "s", "critical path",
            alone / critical,
        ),
        Result(
            group, f"least of all loops at {at}, as many calls", least, "s", "critical path", least / critical,
            note="writes the next request when anything arrives; reads, makes and keeps nothing",
        ),
    ]  # fmt: skip


def _each(seconds: float) -> str:
    return f"{seconds / CALLS * 1e6:.0f} microseconds"


def _narrow(body: bytes, picture: Path | None) -> list[Result]:
    group = f"64 connections, {MATCHES} matches x {ROUNDS} rounds x 2 seats at {LATENCY * 1000:.0f} ms"
    ideal = CALLS * LATENCY / 64
    samples: list[Sample] = []
    with server(LATENCY) as model:
        limited = timed(model, 64, samples)
        seen, shares = seen_by(model)
    with server(LATENCY) as model:
        floor(model, body, 64)
        _, possible = seen_by(model)
    full, working = _fullness(samples, 64)
    if picture is not None:
        draw(samples, picture)
    share, bound = at_least(64, shares), at_least(64, possible)
    return [
        Result(group, "makespan", limited, "s", "work / 64", limited / ideal),
        Result(
            group, "time with 64 calls in flight, by the server's count", share, "share", "least of all loops",
            share / bound, note="start and tail included; no aim: no loop is without the way there and back",
        ),
        Result(
            group, "least of all loops: time with 64 calls in flight, by the server's count", bound, "share",
            note="what is missing is the way there and back",
        ),
        Result(group, "time with at least 60 in flight, by the server's count", at_least(60, shares), "share"),
        Result(group, "calls in flight by the server's count, mean", seen, "calls", "64", seen / 64),
        Result(
            group, "time with all 64 places taken while work remains", full, "share",
            note=f"{working:.2f} s of work remaining; a place is held until the reply is here",
        ),
    ]  # fmt: skip


def _fullness(samples: list[Sample], limit: int) -> tuple[float, float]:
    """The share of time at the limit, from the first call until fewer calls are left than the limit.

    A place is taken from when a call goes out until its reply is here, and then by the next call at once; what the
    server sees is a little less, for a reply and the next request are on their way.
    """
    busy = [s for s in samples if s[1]]
    start = busy[0][0]
    # A match has two calls per round: while 32 matches are unfinished, 64 calls can be in flight.
    remaining = [s for s in samples if s[0] >= start and MATCHES - s[2] >= limit // 2]
    return sum(s[1] >= limit for s in remaining) / len(remaining), remaining[-1][0] - start


def draw(samples: list[Sample], path: Path) -> None:
    """Calls in flight over time, as a picture."""
    try:
        import altair as alt
        import polars as pl
    except ImportError:
        return
    frame = pl.DataFrame({"seconds": [s[0] for s in samples], "calls in flight": [s[1] for s in samples]})
    chart = alt.Chart(frame).mark_area(interpolate="step-after", opacity=0.8)
    chart.encode(x="seconds:Q", y="calls in flight:Q").properties(width=600, height=180).save(str(path))
