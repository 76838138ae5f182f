"""Models behind a server of this machine that is started at the first call: ``vllm/MODEL``, ``transformers/FOLDER``,
``llama-server/FILE``. Where an address is set, the server that runs there is called instead.

A server is a child of this process, shared by the clients that use one model in the same way. The first user starts
it, the last one ends it. When it dies or hangs in the middle of a study, the next call
starts another one. A guard process kills what is left of it when this process is killed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import signal
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ostrom.ground.errors import (
    AccessRefused,
    ConnectionFailed,
    MalformedReply,
    ModelError,
    RequestRefused,
    ServerFailed,
    StudyError,
    TimedOut,
)
from ostrom.ground.files import cache_folder
from ostrom.ground.process_groups import GroupGuard, signal_group
from ostrom.ground.terminal import print_stderr
from ostrom.models.asking import at_least_one, positive, refuse_beyond
from ostrom.models.base import Abilities, Model, Reply, Request
from ostrom.models.failures import one_line
from ostrom.models.openai_wire import PARAMS
from ostrom.models.providers.openai import OpenAIModel, abilities_for, open_service
from ostrom.models.providers.openai import abilities as service_abilities
from ostrom.models.services import SERVICES, first_set, variant_of
from ostrom.models.serving.kinds import (
    HOST,
    KINDS,
    SAMPLING,
    ServerPlan,
    check_plan,
    make_view,
    short_hash,
    url_variable,
)

logger = logging.getLogger("ostrom.servers")
START = 900.0
"""Seconds for the first answer of a server: large weights are read from slow disks."""
LOSSES = 3
"""The number of consecutive servers that may fail without a reply."""
PORTS = 3
"""The number of ports that are tried."""
HEALTH = 20.0
"""Seconds within which a working server answers a health check."""
GRACE = 10.0
"""Seconds that a server has to end after being asked to."""
PAUSE = 0.1
NEWS = 5.0
"""Seconds until the user is told that a server is starting; then after each doubling."""
LARGEST_LOG = 16 << 20
_PORT_IN_USE = ("address already in use", "address in use", "couldn't bind", "errno 98", "errno 48")
_CAUSES = (*_PORT_IN_USE, "error", "failed")
_lock = threading.Lock()
"""Held while a server starts or ends: two servers of one model would not fit on one device."""
_running: dict[str, ServerProcess] = {}
_guard = GroupGuard()


class ServerProcess:
    """A running server in its own process group, and the number of its clients."""

    def __init__(self, plan: ServerPlan, log: Path, who: str) -> None:
        self.port, self.key, self.users = free_port(rests=plan.kind != "llama-server"), secrets.token_hex(24), 0
        if plan.kind == "transformers":
            make_view(Path(plan.model))
        command = plan.command(self.port)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb" if (log.exists() and log.stat().st_size > LARGEST_LOG) else "ab") as output:
            output.write(f"--- {datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(command)}\n".encode())
            output.flush()
            logger.info("%s: starting %s (log: %s)", who, command[0], log)
            self.process = subprocess.Popen(
                command,
                env=plan.variables(self.key),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )
        try:
            _guard.add(self.process.pid)
        except OSError:
            self.end()
            raise

    def outcome(self) -> str | None:
        """Return in words how the server process ended; None while it runs."""
        code = self.process.poll()
        return None if code is None else f"signal {-code}" if code < 0 else f"status {code}"

    def end(self) -> None:
        """Ask the server to end, then kill its process group."""
        signal_group(self.process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        signal_group(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _guard.remove(self.process.pid)


class LocalServer:
    """A client's view of the server of one plan: started at the first call, released on close."""

    def __init__(self, plan: ServerPlan, *, who: str, start: float = START) -> None:
        self.plan, self.who, self.start = plan, who, start
        words = json.dumps([plan.arguments(0), plan.settings.get("environment")])
        self._name = f"{plan.kind}-{short_hash(words)}"
        self.log = cache_folder("servers") / f"{self._name}.log"
        self._process: ServerProcess | None = None
        self._starting: asyncio.Task[str] | None = None
        self._refusal: ModelError | None = None
        self._losses = 0

    @property
    def key(self) -> str:
        """The key that calls to the running server need."""
        assert self._process is not None
        return self._process.key

    async def address(self) -> str:
        """Return the base URL of the server once it answers; starts it if needed."""
        if self._refusal is not None:
            raise self._refusal
        if self._starting is None:
            self._starting = asyncio.create_task(self._begin())
        try:
            return await asyncio.shield(self._starting)
        except ModelError as error:
            self._refusal = self._refusal or error
            raise

    def answered(self) -> None:
        """Note that a call got a reply."""
        self._losses = 0

    async def check_alive(self) -> None:
        """After a failed call, raise ServerFailed if the server is dead or hangs; the next call restarts it."""
        process, starting = self._process, self._starting
        if process is None or starting is None or not starting.done():
            return
        healthy = process.outcome() is None and await _healthy(process.port, HEALTH)
        if healthy or self._process is not process:  # another call noticed it first
            return
        how = "hangs" if (status := process.outcome()) is None else f"ended ({status})"
        await self._drop(end=True)
        self._losses += 1
        text = f"{self.who}: the server {how}; log: {self.log}"
        logger.warning("%s", text)
        if self._losses >= LOSSES:
            self._refusal = AccessRefused(f"{text}; {LOSSES} servers in a row gave no reply")
            raise self._refusal
        raise ServerFailed(text)

    async def close(self) -> None:
        """Release the server; the last client waits until it has ended."""
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._drop()

    async def _begin(self) -> str:
        again = self._losses > 0
        for attempt in range(PORTS):
            process, status = await self._try()
            if status is None:
                return f"http://{HOST}:{process.port}/v1"
            tail = await asyncio.to_thread(last_line, self.log)
            await self._drop()
            if attempt + 1 == PORTS or not (again or any(word in tail.lower() for word in _PORT_IN_USE)):
                break
        raise AccessRefused(f"{self.who}: the server {status}: {tail or 'it wrote nothing'}; log: {self.log}")

    async def _try(self) -> tuple[ServerProcess, str | None]:
        """Start or join a server and wait until it is healthy; return it and the failure, if any."""
        joining = asyncio.create_task(asyncio.to_thread(self._join))
        try:
            process = await asyncio.shield(joining)
        except asyncio.CancelledError:
            await asyncio.gather(joining, return_exceptions=True)  # a thread cannot be cancelled
            raise
        begun, reported = time.monotonic(), NEWS / 2
        while (passed := time.monotonic() - begun) < self.start:
            if passed >= 2 * reported:
                reported = passed
                print_stderr(f"{self.who}: its server has been starting for {passed:.0f} s; log: {self.log}")
            if (status := process.outcome()) is not None:
                return process, f"ended at its start ({status})"
            if await _healthy(process.port, PAUSE * 20) and process.outcome() is None:
                return process, None
            await asyncio.sleep(PAUSE)
        await self._drop(end=True)
        return process, f"gave no sign of life within {self.start:g} s"

    def _join(self) -> ServerProcess:
        """Use the server of this plan; start one if none runs."""
        with _lock:
            process = _running.get(self._name)
            if process is not None and process.outcome() is not None:
                process.end()  # its child processes may still run
            if process is None or process.outcome() is not None:
                try:
                    process = _running[self._name] = ServerProcess(self.plan, self.log, self.who)
                except OSError as error:
                    raise AccessRefused(
                        f"{self.who}: the server could not be started: {error.strerror}; log: {self.log}"
                    ) from None
            process.users += 1
            self._process = process
            return process

    async def _drop(self, *, end: bool = False) -> None:
        """Release the server; with ``end`` it hangs and is ended for all clients."""
        process, self._process, self._starting = self._process, None, None
        if process is not None:
            await asyncio.to_thread(self._leave, process, end)

    def _leave(self, process: ServerProcess, end: bool) -> None:
        with _lock:
            process.users -= 1
            if (end or not process.users) and _running.get(self._name) is process:
                _running.pop(self._name).end()


async def _healthy(port: int, seconds: float) -> bool:
    """Return whether the server at a port answers a health check."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(HOST, port)
            with closing(writer):
                writer.write(f"GET /health HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                return b" 200 " in await reader.readline()
    except (OSError, TimeoutError, ValueError):
        return False


def free_port(*, rests: bool = True) -> int:
    """Return a free loopback port; with ``rests`` the system gives the port to no other program for a minute.

    A port with a closed connection rests: a server that names it may listen there, but it is not drawn again.
    llama-server does not reuse addresses and cannot listen at a port that rests.
    """
    with socket.socket() as listener, socket.socket() as caller:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, 0))
        if not rests:
            return int(listener.getsockname()[1])
        listener.listen(1)
        caller.connect(listener.getsockname())
        accepted, _ = listener.accept()
        accepted.close()  # the side that closes first holds the port
        return int(listener.getsockname()[1])


def last_line(log: Path) -> str:
    """Return the last error line of a log, else its last line, shortened for a message."""
    with suppress(OSError):
        last = log.read_bytes()[-8192:].decode("utf-8", "replace").rpartition("\n---")[2].splitlines()[1:]
        start = list(filter(str.strip, last))
        causes = [line for line in start if any(word in line.lower() for word in _CAUSES)]
        return one_line((causes or start or [""])[-1])[:200]
    return ""


__all__ = ["PARAMS", "VARIANTS", "ServedModel", "abilities", "check", "is_started", "open_local"]

VARIANTS = ("adapter", "scale")
"""Settings in which clients of one model may differ within a study: they share its server."""
_SERVED: weakref.WeakSet[ServedModel] = weakref.WeakSet()
"""The open clients: a server is started with the adapters of all of them."""


class ServedModel:
    """A model whose server is started at the first call and ended with its last client."""

    def __init__(
        self,
        name: str,
        kind: str,
        model: str,
        settings: Mapping[str, Any],
        *,
        adapter: str | None = None,
        scale: float = 1.0,
        dialect: str | None = None,
        timeout: float = 600.0,
        connections: int = 16,
        abilities: Iterable[str] | None = None,
        start: float = START,
    ) -> None:
        self.name, self.connections = name, at_least_one(connections, "connections")
        self._kind, self._model = kind, model
        self._settings = {key: value for key, value in settings.items() if value is not None}
        self._adapter, self._scale = adapter, scale
        self._dialect = dialect or SERVICES[kind].dialect
        self.abilities: Abilities = abilities_for(model, self._dialect, abilities, who=name)
        self._timeout, self._start = positive(timeout, "timeout"), positive(start, "start")
        self._server: LocalServer | None = None
        self._client: OpenAIModel | None = None
        self._address: str | None = None
        self._sampling: tuple[Any, Any] | None = None
        _SERVED.add(self)

    def __repr__(self) -> str:
        return f"<ServedModel {self.name}>"

    async def complete(self, request: Request) -> Reply:
        """Make one call; the first one starts the server."""
        refuse_beyond(self.abilities, request, self.name)
        self._check_sampling(request)
        if self._server is None:
            self._server = LocalServer(self._plan(), who=self.name, start=self._start)
        server, address = self._server, await self._server.address()
        if self._client is None or address != self._address:
            self._client, self._address = self._connect(server, address), address
        try:
            reply = await self._client.complete(self._addressed(request, server))
        except (ConnectionFailed, MalformedReply, ServerFailed, TimedOut):
            await server.check_alive()
            raise
        server.answered()
        return reply

    async def close(self) -> None:
        """Close the connections and release the server."""
        _SERVED.discard(self)
        for part in (self._client, self._server):
            if part is not None:
                await part.close()

    def describe(self) -> Mapping[str, Any]:
        """Return what replies depend on: server, model and settings, without the port."""
        longest = {"max_tokens": 1024} if self._kind == "transformers" else {}
        return {
            "name": self.name,
            "wire": "openai",
            "server": self._kind,
            "model": self._model,
            "dialect": self._dialect,
            "settings": dict(self._settings),
            "sampling_if_unset": {**SAMPLING, **longest},
            "abilities": self.abilities.described(),
            "client": {"timeout": self._timeout, "connections": self.connections, "start": self._start},
            **({} if self._adapter is None else {"adapter": self._adapter, "scale": self._scale}),
        }

    def _plan(self) -> ServerPlan:
        mine = (self._kind, self._model, self._settings)
        alike = [client for client in _SERVED if (client._kind, client._model, client._settings) == mine]
        return ServerPlan(*mine, tuple(sorted({client._adapter for client in alike if client._adapter is not None})))

    def _connect(self, server: LocalServer, address: str) -> OpenAIModel:
        named = self._adapter if self._kind == "vllm" and self._adapter else server.plan.served_name
        return OpenAIModel(
            self.name, named, address, dialect=self._dialect, key=server.key, timeout=self._timeout,
            connections=self.connections, abilities=[n for n, has in asdict(self.abilities).items() if has],
        )  # fmt: skip

    def _addressed(self, request: Request, server: LocalServer) -> Request:
        """Return the request with the scale of every adapter, if the server accepts it per call."""
        adapters = server.plan.adapters
        if self._kind != "llama-server" or not adapters:
            return request
        scales = [
            {"id": number, "scale": self._scale if path == self._adapter else 0.0}
            for number, path in enumerate(adapters)
        ]
        return replace(request, params={**request.params, "extra": {**request.params.get("extra", {}), "lora": scales}})

    def _check_sampling(self, request: Request) -> None:
        """Refuse a second temperature if the server would apply the first one to all calls."""
        if not self._settings.get("continuous_batching"):
            return
        wanted = (request.params.get("temperature", 1.0), request.params.get("top_p", 1.0))
        self._sampling = self._sampling or wanted
        if wanted != self._sampling:
            raise RequestRefused(
                f"{self.name}: with continuous_batching the server samples all calls as the first one, at temperature "
                f"{self._sampling[0]} and top_p {self._sampling[1]} (found {wanted[0]} and {wanted[1]}): "
                "play them in two runs, or set continuous_batching: false"
            )


def is_started(name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether Ostrom starts a model's server: no address is set for it.

    >>> is_started("openai/gpt-4o", {}), is_started("llama-server/m.gguf", {"base_url": "http://localhost:1/v1"})
    (False, False)
    """
    kind = name.partition("/")[0]
    return (
        kind in KINDS
        and not (settings.get("base_url") or settings.get("replicas"))
        and first_set((url_variable(kind),)) is None
    )


def check(argument: str) -> None:
    """Accept any name: settings, which are read later, decide whether a model can be served."""


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse a missing model, and settings that its server does not accept; nothing is started."""
    if not is_started(name, settings):
        return
    kind, _, model = name.partition("/")
    check_plan(kind, model, {k: v for k, v in settings.items() if k not in _CLIENT})
    if settings.get("adapter") and not Path(settings["adapter"]).expanduser().exists():
        raise StudyError("there is no such adapter", key="settings.adapter", actual=settings["adapter"])


_CLIENT = frozenset({"base_url", "replicas", "key_variable", "dialect", "timeout", "connections", "abilities", "start"})
"""Settings of the client, not of the server."""


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:
    """Return a model's abilities before its server runs."""
    check_settings(name, settings)
    return service_abilities(name, settings)


def open_local(
    kind: str,
    model: str,
    *,
    base_url: str | None = None,
    replicas: Iterable[str] | None = None,
    key_variable: str | None = None,
    dialect: str | None = None,
    timeout: float | None = None,
    connections: int = 16,
    abilities: Iterable[str] | None = None,
    start: float = START,
    environment: str | None = None,
    adapter: str | None = None,
    scale: float | None = None,
    context: int | None = None,
    slots: int | None = None,
    threads: int | None = None,
    precision: str | None = None,
    device: str | None = None,
    continuous_batching: bool | None = None,
    gpu: str | int | None = None,
    gpus: int | None = None,
    gpu_memory: float | None = None,
) -> Model:
    """Open a model of a local server, or at the address that the user names."""
    own = {
        "environment": environment, "context": context, "slots": slots, "threads": threads, "precision": precision,
        "device": device, "continuous_batching": continuous_batching, "gpu": gpu, "gpus": gpus,
        "gpu_memory": gpu_memory, "adapter": adapter, "scale": scale,
    }  # fmt: skip
    name = f"{kind}/{model}"
    if not is_started(name, {"base_url": base_url, "replicas": replicas}):
        if stated := next((key for key, value in own.items() if value is not None), None):
            raise StudyError(
                f"is for a server that Ostrom starts; {name} runs at an address",
                key=f"settings.{stated}", actual=own[stated],
            )  # fmt: skip
        return open_service(
            kind, model, base_url=base_url, replicas=replicas, key_variable=key_variable, dialect=dialect,
            connections=connections, abilities=abilities, **({} if timeout is None else {"timeout": timeout}),
        )  # fmt: skip
    check_settings(name, own)
    if scale is not None and adapter is None:
        raise StudyError("is the scale of an adapter: set adapter too", key="settings.scale", actual=scale)
    settings = {key: value for key, value in own.items() if key not in VARIANTS}
    return ServedModel(
        name + variant_of(own, VARIANTS), kind, check_plan(kind, model, settings), settings,
        adapter=None if adapter is None else str(Path(adapter).expanduser().absolute()),
        scale=1.0 if scale is None else float(scale), dialect=dialect, timeout=600.0 if timeout is None else timeout,
        connections=connections, abilities=abilities, start=start,
    )  # fmt: skip
