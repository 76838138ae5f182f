"""What holds for all tests: no deadline on a shared machine, and no connection beyond this machine."""

from __future__ import annotations

import functools
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import HealthCheck, settings
from tests import sizes
from tests.cpu import CpuReport
from tests.pictures import Pictures

# The same inputs in every run, so that one commit passes or fails everywhere alike; `make fuzz` draws new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("OSTROM_HYPOTHESIS", "same"))

LONGEST = ("test_embedded.py", "test_matching.py", "test_resume.py", "test_arrays.py", "test_command.py")
"""Files that take longest, by name; begun first, so that no worker is left with one of them at the end."""


# Typer builds the whole tree of commands anew for every call; tests call hundreds of commands in one process.
typer.main.get_command = functools.cache(typer.main.get_command)


def pytest_configure(config: pytest.Config) -> None:
    """Register what belongs to all tests, and hear signals even where the shell has them ignored (`nohup`, `&`)."""
    sizes.QUICK = "not slow" in config.option.markexpr
    config.pluginmanager.register(CpuReport(), "cpu")
    config.pluginmanager.register(Pictures(), "pictures")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; the order is otherwise as collected. Draw fewer examples where that is asked for."""
    sizes.draw_fewer(items)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.fixture(autouse=True)
def _stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests talk to loopback only: a connection elsewhere is a mistake in the test or in the code."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key or endpoint of the developer's own reaches a test."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name == "OSTROM_RUNS":
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """Released raw data for validation, where it is at hand; skipped visibly where it is not."""
    root = Path(os.environ.get("OSTROM_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip("no released data at hand (set OSTROM_DATA)")
    yield root
