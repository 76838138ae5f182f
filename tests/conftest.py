"""What holds for all tests: no deadline on a shared machine, and no connection beyond this machine."""

import atexit
import functools
import gc
import os
import signal
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import HealthCheck, settings
from tests import cpu, sizes
from tests.pictures import Pictures

from ostrom.ground import registry
from ostrom.ground.registry import Registry

# The same inputs in every run, so that one commit passes or fails everywhere alike; `make fuzz` draws new ones.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("OSTROM_HYPOTHESIS", "same"))

LONGEST = (
    "test_embedded.py", "test_golden_tables.py", "test_compare.py", "test_package.py", "test_profile_command.py",
    "test_power_command.py", "test_conformance.py", "test_clocks_and_groups.py", "test_resume.py",
)  # fmt: skip
"""Files that take longest, by name; begun first, so that no worker is left with one of them at the end."""


# Typer builds the whole tree of commands anew for every call; tests call hundreds of commands in one process.
typer.main.get_command = functools.cache(typer.main.get_command)


def pytest_configure(config: pytest.Config) -> None:
    """Register what belongs to all tests, and hear signals even where the shell has them ignored (`nohup`, `&`)."""
    gc.disable()  # until the tests are collected: what is collected stays
    sizes.QUICK = "not slow" in config.option.markexpr
    cpu.register(config)
    config.pluginmanager.register(Doctests(), "doctests")
    config.pluginmanager.register(Pictures(), "pictures")
    stay_here()
    forget_keys()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Doctests:
    """Looks for examples in docstrings only where a file holds some: a module without any need not be searched."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        """Leave out what collects examples; test modules stay."""
        collectors = yield
        if file_path.suffix != ".py" or b">>> " in file_path.read_bytes():
            return collectors
        return [one for one in collectors if type(one) is pytest.Module]


def stay_here() -> None:
    """Tests talk to loopback only: a connection elsewhere is a mistake in the test or in the code."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign,assignment]


def forget_keys() -> None:
    """No key or endpoint of the developer's own reaches a test."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_TOKEN", "_BASE_URL", "HF_TOKEN")) or name == "OSTROM_RUNS":
            del os.environ[name]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow before that is left out, and begin with the longest files."""
    sizes.take_samples(items)
    sizes.draw_fewer(items)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@contextmanager
def known_parts() -> Iterator[None]:
    """Parts that are registered here, or found in packages that are installed here, are unknown afterwards."""
    before = {one: (dict(one._added), found_by(one)) for one in registry._registries}
    yield
    for one, (added, found) in before.items():
        one._added = added
        if found_by(one) != found:  # also when first looked for: the package may be gone by now
            registry._entry_points.cache_clear()
            registry._installed.cache_clear()
            one.forget()
            one.names()


def found_by(one: Registry[Any]) -> list[int]:
    """Which results of looking for parts a registry keeps."""
    return [id(one.__dict__.get(name)) for name in ("_files", "_foreign")]


@pytest.fixture(autouse=True, scope="module")
def _known_parts_of_module() -> Iterator[None]:
    with known_parts():
        yield


@pytest.fixture(autouse=True)
def _known_parts() -> Iterator[None]:
    """Set up before ``monkeypatch`` and so ended after it: paths to packages are gone by then."""
    with known_parts():
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Indexes of the viewer go into a folder of the tests; weights stay, so that none is fetched again."""
    from ostrom.ground.files import cache_folder

    cache, weights = tmp_path_factory.mktemp("cache"), cache_folder("weights")
    if weights.is_dir():
        (cache / "weights").symlink_to(weights.resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OSTROM_CACHE", str(cache))
        yield


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """Released raw data for validation, where it is at hand; skipped visibly where it is not."""
    root = Path(os.environ.get("OSTROM_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip("no released data at hand (set OSTROM_DATA)")
    yield root


def pytest_collection_finish() -> None:
    """Leave what was collected out of the garbage collections to come: it lives as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()
    atexit.register(gc.unfreeze)  # or DuckDB's bindings find every type and function of theirs leaked at exit
