"""One model behind several servers: every match stays with one of them, so that its prompts are in that one's cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

from ostrom.models.base import Model, Reply, Request
from ostrom.models.services import checked_url


class ReplicatedModel:
    """The clients of the servers, in the order in which they are named."""

    def __init__(self, replicas: Sequence[Model]) -> None:
        self.replicas = tuple(replicas)
        """The engine makes the calls of a match at one of them, and after a failure at the next."""
        first = self.replicas[0]
        self.name, self.abilities = first.name, first.abilities
        self.connections = sum(replica.connections for replica in self.replicas)
        self._turn = cycle(self.replicas)

    def __repr__(self) -> str:
        return f"<ReplicatedModel {self.name}, {len(self.replicas)} servers>"

    async def complete(self, request: Request) -> Reply:
        """Make one call that belongs to no match: the servers take turns."""
        return await next(self._turn).complete(request)

    async def close(self) -> None:
        """Close all clients."""
        for replica in self.replicas:
            await replica.close()

    def describe(self) -> Mapping[str, Any]:
        """As the first server; which other ones there are decides no reply."""
        facts = dict(self.replicas[0].describe())
        addresses = [replica.describe()["base_url"] for replica in self.replicas]
        return {**facts, "client": {**facts["client"], "replicas": addresses}}


def addresses_of(address: str, replicas: Iterable[str] | None) -> list[str]:
    """The addresses of all servers of a model, its own first, each once.

    >>> addresses_of("http://a:1/v1", ["http://a:1/v1/", "http://b:1/v1"])
    ['http://a:1/v1', 'http://b:1/v1']
    """
    return list(dict.fromkeys([address, *(checked_url(url, source="replicas") for url in replicas or ())]))
