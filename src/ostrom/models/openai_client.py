"""A client for every server that speaks the OpenAI chat wire, and the rules for its address and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from ostrom.ground.errors import AccessRefused, StudyError, UsageError
from ostrom.models.asking import refuse_beyond
from ostrom.models.base import Abilities, Reply, Request
from ostrom.models.batches import BATCH_TIMEOUT
from ostrom.models.dialects import DIALECTS, Dialect, abilities_of
from ostrom.models.grants import key_for
from ostrom.models.keys import checked_url, first_set, origin
from ostrom.models.numbers import at_least_one, positive
from ostrom.models.openai_batches import OpenAIBatches
from ostrom.models.openai_wire import PARAMS, decode, encode, is_reasoning_model
from ostrom.models.pending_call import Release
from ostrom.models.services import SERVICES, home_of
from ostrom.models.transport import PendingPost, Transport

__all__ = ["PARAMS", "OpenAIModel", "abilities", "check", "open_service", "open_url"]


class OpenAIModel:
    """One model behind one OpenAI-compatible address."""

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str,
        *,
        dialect: str = "plain",
        key: str | None = None,
        timeout: float = 120.0,
        connections: int = 16,
        abilities: Iterable[str] | None = None,
    ) -> None:
        if not model:
            raise UsageError(f"{name}: no model is named")
        self.name, self.connections = name, at_least_one(connections, "connections")
        self._model, self._base_url, self._dialect_name = model, base_url, dialect
        self.abilities: Abilities = abilities_for(model, dialect, abilities, who=name)
        self._dialect: Dialect = DIALECTS[dialect]
        reasons = dialect == "openai" and is_reasoning_model(model)
        self._token_word = "max_completion_tokens" if reasons else "max_tokens"
        self._path = f"/{'chat/' if self._dialect.endpoint == 'chat' else ''}completions"
        self._timeout = positive(timeout, "timeout")
        self._key = key
        self._transport = self._reach(self._path, self._timeout)

    def __repr__(self) -> str:
        return f"<OpenAIModel {self.name}>"

    def _reach(self, path: str, timeout: float) -> Transport:
        key = self._key
        return Transport(
            f"{self._base_url}{path}",
            {"Authorization": f"Bearer {key}"} if key else {},
            who=self.name if "://" not in self.name else self._model,
            timeout=timeout,
            secrets=(key,) if key else (),
        )

    def prepare(self, request: Request, release: Release | None = None) -> PendingPost:
        """Make one call ready."""
        return PendingPost(self._transport, self._encode(request), decode, request, release)

    def _encode(self, request: Request) -> bytes:
        refuse_beyond(self.abilities, request, self.name)
        return encode(request, self._model, self._dialect, self._token_word)

    def batches(self) -> OpenAIBatches:
        """The batch endpoint of the same server; whether it has one, the server says."""
        transport = self._reach("", min(self._timeout, BATCH_TIMEOUT))
        return OpenAIBatches(transport, f"/v1{self._path}", self._encode)

    async def complete(self, request: Request) -> Reply:
        """Make one call."""
        return await self.prepare(request).send_now()

    async def close(self) -> None:
        """Shut the connections."""
        await self._transport.close()

    def describe(self) -> Mapping[str, Any]:
        """Address, model and settings, without the key."""
        return {
            "name": self.name,
            "wire": "openai",
            "model": self._model,
            "base_url": self._base_url,
            "dialect": self._dialect_name,
            "abilities": asdict(self.abilities),
            "client": {"timeout": self._timeout, "connections": self.connections},
        }


def check(argument: str) -> None:
    """Refuse a URL that is none or that names no model; the models of a service have any name."""
    if "://" in argument:
        address, _, model = argument.partition("#")
        checked_url(address, source="model name")
        if not model:
            raise UsageError(f"{argument}: name the model after a #, as in http://host:port/v1#model")


def abilities_for(model: str, dialect: str, wanted: Iterable[str] | None, *, who: str) -> Abilities:
    """What a model behind a dialect can be asked for."""
    if dialect not in DIALECTS:
        raise StudyError("unknown dialect", key="dialect", found=dialect, allowed=sorted(DIALECTS))
    found = abilities_of(DIALECTS[dialect], wanted, who=who)
    if dialect == "openai" and is_reasoning_model(model) and wanted is None:
        return replace(found, logprobs=False)
    return found


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:
    """What a model of a service or behind a URL can be asked for, known without its key."""
    service, _, model = name.partition("/")
    usual = SERVICES[service].dialect if service in SERVICES else "plain"
    if service not in SERVICES:
        model = name.partition("#")[2]
    return abilities_for(model, settings.get("dialect") or usual, settings.get("abilities"), who=name)


def open_service(
    service: str,
    model: str,
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    dialect: str | None = None,
    timeout: float = 120.0,
    connections: int = 16,
    abilities: Iterable[str] | None = None,
) -> OpenAIModel:
    """A model of a service in the table, at its own address or at one that the user names."""
    entry = SERVICES[service]
    moved = first_set((entry.url_variable,)) if entry.url_variable else None
    if base_url is not None:
        address = checked_url(base_url, source="base_url")
    elif moved is not None:
        address = checked_url(moved, source=str(entry.url_variable))
    else:
        address = home_of(service)
    homes = [entry.base_url, *([moved] if moved else [])]
    key = key_for(address, homes, entry.keys, named=key_variable, who=f"{service}/{model}")
    if key is None and entry.needs_key and origin(address) == origin(entry.base_url):
        raise AccessRefused(f"{service}/{model}: set the environment variable {entry.keys[0]} to your key")
    return OpenAIModel(
        f"{service}/{model}",
        model,
        address,
        dialect=dialect or entry.dialect,
        key=key,
        timeout=timeout,
        connections=connections,
        abilities=abilities,
    )


def open_url(
    name: str,
    *,
    key_variable: str | None = None,
    dialect: str = "plain",
    timeout: float = 120.0,
    connections: int = 16,
    abilities: Iterable[str] | None = None,
) -> OpenAIModel:
    """The model behind ``http://host:port/v1#model``."""
    check(name)
    address, _, model = name.partition("#")
    base_url = checked_url(address, source="model name")
    home = first_set(("OPENAI_BASE_URL",))
    homes = [checked_url(home, source="OPENAI_BASE_URL")] if home else []
    key = key_for(base_url, homes, ("OPENAI_API_KEY",), named=key_variable, who=f"{base_url}#{model}")
    return OpenAIModel(
        f"{base_url}#{model}",
        model,
        base_url,
        dialect=dialect,
        key=key,
        timeout=timeout,
        connections=connections,
        abilities=abilities,
    )
