"""Anthropic's service, or any server that speaks its wire at ANTHROPIC_BASE_URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ostrom.ground.errors import AccessRefused, UsageError
from ostrom.models.anthropic_batches import AnthropicBatches
from ostrom.models.anthropic_wire import DEFAULT_MAX_TOKENS, PARAMS, abilities_of, decode, encode
from ostrom.models.asking import refuse_beyond
from ostrom.models.base import Abilities, Reply, Request
from ostrom.models.batches import BATCH_TIMEOUT
from ostrom.models.grants import ANTHROPIC_HOME as HOME
from ostrom.models.grants import key_for
from ostrom.models.keys import checked_url, first_set, origin
from ostrom.models.numbers import at_least_one, positive
from ostrom.models.pending_call import Release
from ostrom.models.transport import PendingPost, Transport

VERSION = "2023-06-01"
__all__ = ["PARAMS", "PROVIDER", "AnthropicModel"]


class AnthropicModel:
    """One model behind the Anthropic wire."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        timeout: float = 120.0,
        connections: int = 16,
    ) -> None:
        if not model:
            raise UsageError("anthropic/: no model is named")
        moved = first_set(("ANTHROPIC_BASE_URL",))
        source = "base_url" if base_url else "ANTHROPIC_BASE_URL"
        address = checked_url(base_url or moved or HOME, source=source)
        homes = [HOME, moved] if moved else [HOME]
        who = f"anthropic/{model}"
        key = key_for(address, homes, ("ANTHROPIC_API_KEY",), named=key_variable, who=who)
        if key is None and origin(address) == origin(HOME):
            raise AccessRefused(
                f"anthropic/{model}: set the environment variable ANTHROPIC_API_KEY to your key"
            )
        self.name = f"anthropic/{model}"
        self.connections = at_least_one(connections, "connections")
        self.abilities: Abilities = abilities_of(model)
        self._model, self._base_url = model, address
        self._key, self._timeout = key, positive(timeout, "timeout")
        self._transport = self._reach(self._timeout)

    def __repr__(self) -> str:
        return f"<AnthropicModel {self.name}>"

    def _reach(self, timeout: float) -> Transport:
        headers = {"anthropic-version": VERSION}
        if self._key:
            headers["x-api-key"] = self._key
        return Transport(
            # People write the address with and without the version; the wire wants it once.
            f"{self._base_url.removesuffix('/v1')}/v1/messages",
            headers,
            who=self.name,
            timeout=timeout,
            secrets=(self._key,) if self._key else (),
        )

    def prepare(self, request: Request, release: Release | None = None) -> PendingPost:
        """Make one call ready."""
        return PendingPost(self._transport, self._encode(request), decode, request, release)

    def _encode(self, request: Request) -> bytes:
        refuse_beyond(self.abilities, request, self.name)
        return encode(request, self._model)

    def batches(self) -> AnthropicBatches:
        """The batch endpoint of the service."""
        return AnthropicBatches(self._reach(min(self._timeout, BATCH_TIMEOUT)), self._encode)

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
            "wire": "anthropic",
            "wire_version": VERSION,
            "model": self._model,
            "base_url": self._base_url,
            "max_tokens_if_unset": DEFAULT_MAX_TOKENS,
            "ignores": ["seed"],
            "abilities": asdict(self.abilities),
            "client": {"timeout": self._timeout, "connections": self.connections},
        }


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:  # noqa: ARG001
    """What a model of that name can be asked for."""
    return abilities_of(name.partition("/")[2])


PROVIDER = AnthropicModel
