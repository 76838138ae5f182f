"""One loaded runtime for all clients of the same weights: clients that differ by their adapter share it.

Adapters are loaded with the weights, so they are gathered from the clients that exist when the first of them is called.
Every request says the scale of every adapter: llama.cpp takes a request without that field for scale 1.
"""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

from ostrom.models.embedded.runtime import Load, Runtime

_LOCK = threading.Lock()
_CLIENTS: dict[Load, weakref.WeakKeyDictionary[Any, Path | None]] = {}
_LOADED: dict[Load, list[SharedRuntime]] = {}


class SharedRuntime:
    """Weights with adapters, loaded at the first call and closed with the last client that called."""

    def __init__(self, load: Load, adapters: tuple[Path, ...]) -> None:
        self.load, self.adapters = load, adapters
        self.free = threading.Semaphore(load.slots)
        self.users: set[int] = set()
        self._loading = threading.Lock()
        self._runtime: Runtime | None = None

    def runtime(self) -> Runtime:
        """The runtime; the first caller loads it, others wait."""
        with self._loading:
            if self._runtime is None:
                self._runtime = Runtime(self.load, self.adapters)
            return self._runtime

    def scales(self, adapter: Path | None, scale: float) -> list[dict[str, Any]]:
        """What a request says about every adapter: its own scale, and zero for those of others."""
        return [{"id": n, "scale": scale if path == adapter else 0.0} for n, path in enumerate(self.adapters)]

    def close(self) -> None:
        """Stop running calls and free the memory. Weights that are being loaded right now are waited for."""
        with self._loading:
            runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.close()


def announce(client: Any, load: Load, adapter: Path | None) -> None:
    """Say that a client exists: its adapter is loaded with the weights."""
    with _LOCK:
        _CLIENTS.setdefault(load, weakref.WeakKeyDictionary())[client] = adapter


def enter(client: Any, load: Load, adapter: Path | None) -> SharedRuntime:
    """The runtime that a client calls; the same one for every call until it leaves."""
    with _LOCK:
        loaded = _LOADED.setdefault(load, [])
        for shared in loaded:
            if adapter is None or adapter in shared.adapters:
                break
        else:
            wanted = {path for path in _CLIENTS.get(load, {}).values() if path is not None}
            shared = SharedRuntime(load, tuple(sorted({*wanted, *([adapter] if adapter else [])})))
            loaded.append(shared)
        shared.users.add(id(client))
        return shared


def leave(client: Any, load: Load) -> None:
    """Say that a client makes no more calls; the last one closes the runtime."""
    with _LOCK:
        idle = []
        for shared in _LOADED.get(load, []):
            shared.users.discard(id(client))
            if not shared.users:
                idle.append(shared)
        _LOADED[load] = [shared for shared in _LOADED.get(load, []) if shared not in idle]
        if not _LOADED[load]:
            del _LOADED[load]
    for shared in idle:
        shared.close()
