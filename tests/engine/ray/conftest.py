"""One cluster for all tests that need Ray; they are skipped where it is not installed."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.engine.ray.machines import Machines

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    """A cluster with two workers' nodes."""
    pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (make ray)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Machines(2)
    yield made
    made.close()


@pytest.fixture
def on_ray(machines: Machines) -> Callable[..., PlayOptions]:
    """Options that play on the cluster."""

    def options(workers: int = 2, **changes: Any) -> PlayOptions:
        retry = RetryPolicy(tries=8, first=0.001, longest=0.02)
        return PlayOptions(executor="ray", workers=workers, retry=retry, **changes)

    return options
