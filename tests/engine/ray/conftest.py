"""One cluster for all tests that need Ray; they are skipped where it is not installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.engine.ray.machines import Machines

from ostrom.engine.executors.cluster import Cluster
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.runner import Options


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
def on_ray(machines: Machines) -> Callable[..., Options]:
    """Options that play on the cluster."""

    def options(workers: int = 2, **changes: Any) -> Options:
        retry = RetryPolicy(tries=8, first=0.001, longest=0.02)
        return Options(cluster=Cluster(workers=workers), retry=retry, **changes)

    return options
