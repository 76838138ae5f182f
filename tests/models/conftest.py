import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ostrom.models import Message, Model, Reply, Request, open_model
from ostrom.testing.server import LoopbackServer

Ask = Callable[..., Reply]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def ask() -> Ask:
    """Open a model, make one call, close it."""

    def call(model: str | Model, request: Request | str = "Valid answers: [A0] or [A1].", **settings: Any) -> Reply:
        async def main() -> Reply:
            client = open_model(model, **settings) if isinstance(model, str) else model
            sent = Request((Message("user", request),)) if isinstance(request, str) else request
            try:
                return await client.complete(sent)
            finally:
                await client.close()

        return asyncio.run(main())

    return call
