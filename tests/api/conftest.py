"""Objects that these tests name are known to their test alone, not to what runs in the same process afterwards."""

from collections.abc import Iterator

import pytest

from ostrom.agents.strategies import strategies
from ostrom.games import games
from ostrom.mechanisms import mechanisms


@pytest.fixture(autouse=True)
def _no_objects_left() -> Iterator[None]:
    before = [(registry, set(registry.names())) for registry in (strategies, mechanisms, games)]
    yield
    for registry, names in before:
        for name in set(registry.names()) - names:
            registry.remove(name)
