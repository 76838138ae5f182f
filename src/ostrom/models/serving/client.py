"""Models behind a server of this machine that is started at the first call: ``vllm/MODEL``, ``transformers/FOLDER``,
``llama-server/FILE``. Where an address is set, the server that runs there is called instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ConnectionFailed, MalformedReply, RequestRefused, ServerFailed, StudyError, TimedOut
from ostrom.models.asking import at_least_one, positive, refuse_beyond
from ostrom.models.base import Abilities, Model, Reply, Request
from ostrom.models.dialects import DIALECTS
from ostrom.models.openai_wire import PARAMS
from ostrom.models.providers.openai import OpenAIModel, abilities_for, open_service
from ostrom.models.providers.openai import abilities as service_abilities
from ostrom.models.services import SERVICES, first_set, variant_of
from ostrom.models.serving.kinds import KINDS, SAMPLING, ServerPlan, check_plan, url_variable
from ostrom.models.serving.server import START, LocalServer

__all__ = ["PARAMS", "VARIANTS", "ServedModel", "abilities", "check", "is_started", "open_local"]

VARIANTS = ("adapter", "scale")
"""Settings by which clients of one model may differ within a study: they share its server."""
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
        server = self._server
        address = await server.address()
        if self._client is None or address != self._address:
            self._client, self._address = self._connect(server, address), address
        try:
            reply = await self._client.complete(self._addressed(request, server))
        except (ConnectionFailed, MalformedReply, ServerFailed, TimedOut):
            await server.look()
            raise
        server.answered()
        return reply

    async def close(self) -> None:
        """Shut the connections and leave the server."""
        _SERVED.discard(self)
        if self._client is not None:
            await self._client.close()
        if self._server is not None:
            await self._server.close()

    def describe(self) -> Mapping[str, Any]:
        """Server, model and settings: what decides the replies. The port does not."""
        longest = {"max_tokens": 1024} if self._kind == "transformers" else {}
        adapted = {} if self._adapter is None else {"adapter": self._adapter, "scale": self._scale}
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
            **adapted,
        }

    def _plan(self) -> ServerPlan:
        mine = (self._kind, self._model, self._settings)
        others = [c for c in _SERVED if (c._kind, c._model, c._settings) == mine]
        adapters = {c._adapter for c in others if c._adapter is not None}
        return ServerPlan(self._kind, self._model, self._settings, tuple(sorted(adapters)))

    def _connect(self, server: LocalServer, address: str) -> OpenAIModel:
        named = self._adapter if self._kind == "vllm" and self._adapter else server.plan.served_name
        return OpenAIModel(
            self.name, named, address, dialect=self._dialect, key=server.key, timeout=self._timeout,
            connections=self.connections, abilities=[n for n, has in asdict(self.abilities).items() if has],
        )  # fmt: skip

    def _addressed(self, request: Request, server: LocalServer) -> Request:
        """The request with the scale of every adapter, where the server takes it call by call."""
        adapters = server.plan.adapters
        if self._kind != "llama-server" or not adapters:
            return request
        scales = [
            {"id": number, "scale": self._scale if path == self._adapter else 0.0}
            for number, path in enumerate(adapters)
        ]
        extra = {**request.params.get("extra", {}), "lora": scales}
        return replace(request, params={**request.params, "extra": extra})

    def _check_sampling(self, request: Request) -> None:
        """Refuse a second temperature where the server would apply the first one to all calls."""
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
    """Whether a model's server is started by Ostrom: no address is set for it.

    >>> is_started("openai/gpt-4o", {}), is_started("llama-server/m.gguf", {"base_url": "http://localhost:1/v1"})
    (False, False)
    """
    kind = name.partition("/")[0]
    addressed = settings.get("base_url") or settings.get("replicas")
    return kind in KINDS and not addressed and first_set((url_variable(kind),)) is None


def check(argument: str) -> None:
    """Nothing can be said of a model before its settings are known."""


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse a model that is not there and settings that its server does not take; nothing is started."""
    if not is_started(name, settings):
        return
    kind, _, model = name.partition("/")
    check_plan(kind, model, {k: v for k, v in settings.items() if k not in _CLIENT})
    if settings.get("adapter") and not Path(settings["adapter"]).expanduser().exists():
        raise StudyError("there is no such adapter", key="settings.adapter", found=settings["adapter"])


_CLIENT = frozenset({"base_url", "replicas", "key_variable", "dialect", "timeout", "connections", "abilities", "start"})
"""Settings of the client, not of the server."""


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:
    """What a model can be asked for, known before its server runs."""
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
    """A model of a server of this machine, or at the address that the user names."""
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
                key=f"settings.{stated}", found=own[stated],
            )  # fmt: skip
        more = {} if timeout is None else {"timeout": timeout}
        return open_service(
            kind, model, base_url=base_url, replicas=replicas, key_variable=key_variable, dialect=dialect,
            connections=connections, abilities=abilities, **more,
        )  # fmt: skip
    check_settings(name, own)
    if scale is not None and adapter is None:
        raise StudyError("is the scale of an adapter: set adapter too", key="settings.scale", found=scale)
    if dialect is not None and dialect not in DIALECTS:
        raise StudyError("unknown dialect", key="dialect", found=dialect, allowed=sorted(DIALECTS))
    path = None if adapter is None else str(Path(adapter).expanduser().absolute())
    settings = {key: value for key, value in own.items() if key not in VARIANTS}
    return ServedModel(
        name + variant_of(own, VARIANTS), kind, check_plan(kind, model, settings), settings,
        adapter=path, scale=1.0 if scale is None else float(scale), dialect=dialect,
        timeout=600.0 if timeout is None else timeout, connections=connections, abilities=abilities, start=start,
    )  # fmt: skip
