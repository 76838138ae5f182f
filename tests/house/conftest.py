"""The failure suite lies beside the package, not in it; syntax trees are dropped at the end."""

import sys
from pathlib import Path

from tests.house import source

sys.path.insert(0, str(Path(__file__).parents[2]))


def pytest_sessionfinish() -> None:
    """Drop the syntax trees before the last garbage collections, which would go through them several times."""
    source.nodes.cache_clear()
    source.trees.cache_clear()
