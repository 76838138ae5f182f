"""llama.cpp inside this process: silent loading, calls that stop at any token, and clean shutdown.

Measured facts behind the settings: the same seed gives the same text only with one slot and no prompt
cache; the worker threads of OpenMP spin unless told not to; the runtime always opens an HTTP endpoint,
which stays on loopback and gets a random key; leaving the process while a call runs crashes it.

Slots share the prompt prefixes that they have read through a cache, but a slot's prefix enters the cache only when some
call starts while the slot is idle. So of several calls with a common prefix one goes first; when it has ended, an empty
call moves its prefix into the cache, and the others continue from there.

All clients of the same weights share one loaded runtime, also those that differ by their adapter. Adapters are loaded
with the weights, so they are gathered from the clients that exist when the first of them is called. Every request says
the scale of every adapter: llama.cpp applies scale 1 to a request without that field.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ModelError

# Small enough that a call can be stopped while a long prompt is being read.
BATCH = 256
CACHE_MIB = 512
SHARED = 400
"""The shortest common prefix, in characters, for which a call waits until another call has read it."""
ALIKE = 0.5
"""The share of a prompt that a slot must have read to be chosen for that prompt; otherwise the slot unused for longest
is chosen, and its prefix goes into the cache. With the runtime's default, 0.1, a call would take the slot of another
conversation although one is free.
"""
ALL_LAYERS = 999
"""More layers than any model has, which llama.cpp reads as all layers."""


@dataclass(frozen=True, slots=True)
class Load:
    """The settings for loading weights."""

    path: Path
    slots: int
    threads: int
    context: int
    """Tokens per slot, for prompt and reply together."""
    keep_prompts: bool
    """Whether computed prefixes of prompts are reused: faster, but not reproducible."""
    gpu_layers: int = 0
    """The number of layers on a GPU; ``ALL_LAYERS`` for all."""


class Runtime:
    """One loaded model. Calls block; make each in its own thread."""

    def __init__(self, load: Load, adapters: Sequence[Path] = ()) -> None:
        xllamacpp = _library()
        params = xllamacpp.CommonParams()
        params.model.path = str(load.path)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = load.threads
        settings = {
            "n_parallel": load.slots,
            "n_ctx": load.context * load.slots,
            "n_batch": BATCH,
            "n_gpu_layers": load.gpu_layers,
            "fit_params": False,
            "verbosity": -1,
            # The cache does not record which adapter computed an entry.
            "cache_ram_mib": CACHE_MIB if load.keep_prompts and not adapters else 0,
            "slot_prompt_similarity": ALIKE,
            "reasoning_format": xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE,
            "hostnames": ["127.0.0.1"],
            "api_keys": [secrets.token_hex(32)],
            "lora_adapters": [xllamacpp.CommonAdapterLoraInfo(str(path), 1.0) for path in adapters],
            **dict.fromkeys(("ui", "endpoint_slots", "endpoint_props"), False),
        }
        for name, value in settings.items():
            setattr(params, name, value)
        self._stopping, self._calls, self._idle = threading.Event(), 0, threading.Condition()
        with _LOADING:
            if _LEAVING.is_set():
                raise ModelError("the process is ending")
            try:
                self._server = xllamacpp.Server(params)
            except Exception as error:
                raise ModelError(f"{load.path}: the runtime cannot load this file ({error})") from None
            _RUNTIMES.add(self)
        self.address: str = self._server.listening_address

    def chat(self, body: dict[str, Any], stop: threading.Event, chunk: Callable[[dict[str, Any]], None]) -> None:
        """Run one call and pass on the pieces of the reply; stops early once ``stop`` is set."""

        def piece(document: Any) -> bool:
            if isinstance(document, dict):
                chunk(document)
            return stop.is_set() or self._stopping.is_set()

        with self._call():
            result = self._server.handle_chat_completions({**body, "stream": True, "return_progress": True}, piece)
            if isinstance(result, dict):
                chunk(result)

    def share_idle_slots(self) -> int | None:
        """Move the prefixes of idle slots into the cache that all slots share.

        Returns the slot that did this, if any: it is idle, and its prefix is in the cache now.
        """
        with suppress(ModelError), self._call():
            reply = self._server.handle_completions({"prompt": ".", "n_predict": 0, "cache_prompt": False})
            return reply.get("id_slot") if isinstance(reply, dict) else None
        return None

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Count a call, so that ``close`` waits for it."""
        with self._idle:
            if self._stopping.is_set():
                raise ModelError("the embedded model was closed before this call")
            self._calls += 1
        try:
            yield
        finally:
            with self._idle:
                self._calls -= 1
                self._idle.notify_all()

    def close(self) -> None:
        """Stop running calls, wait for them, free the memory."""
        self._stopping.set()
        with self._idle:
            self._idle.wait_for(lambda: self._calls == 0)
            self._server = None
        _RUNTIMES.discard(self)


def _library() -> Any:
    """Return the library, loaded at the first call."""
    # Spinning threads slow down all processes; must be set before the library loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(
            f"embedded models need the extra 'embedded': pip install 'ostrom[embedded]' ({error})"
        ) from None
    return xllamacpp


def has_gpu() -> bool:
    """Return whether the installed runtime supports a GPU, and finds one."""
    return any("GPU" in str(device["type"]) for device in _library().get_device_info())


_RUNTIMES: weakref.WeakSet[Runtime] = weakref.WeakSet()
_LOADING = threading.Lock()
_LEAVING = threading.Event()


@atexit.register
def _close_all() -> None:
    """Stop all calls, also those whose weights are still being loaded."""
    _LEAVING.set()
    with _LOADING:
        running = list(_RUNTIMES)
    for runtime in running:
        runtime.close()


def runtime_version() -> str | None:
    """The version of the installed runtime, without loading it."""
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        return None


_LOCK = threading.Lock()
_CLIENTS: dict[Load, weakref.WeakKeyDictionary[Any, Path | None]] = {}
_LOADED: dict[Load, list[SharedRuntime]] = {}


class Beginnings:
    """Lets one of several calls with a common prefix go first; the others wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: list[str] = []
        self._waiting: list[str] = []
        self._ended: deque[str] = deque(maxlen=32)
        self._slots: dict[int | None, str] = {}
        """Reserved slots for waiting calls, and the prompt that they wait for."""

    @contextmanager
    def turn(self, prompt: str, stop: threading.Event, share: Callable[[], int | None]) -> Iterator[int | None]:
        """Wait for a running call with a common prefix; ``share`` then moves this call's prefix into the cache.

        Yields the slot to use, if one is reserved: the slot of the call that went first stays with its conversation.
        """
        with self._changed:
            self._waiting.append(prompt)
            while not stop.is_set() and any(self._begins(prompt, other) for other in self._running):
                self._changed.wait(0.1)
            self._waiting.remove(prompt)
            self._running.append(prompt)
            slot = next((n for n, other in self._slots.items() if _common(prompt, other) >= SHARED), None)
            self._slots.pop(slot, None)
        try:
            yield slot
            with self._changed:
                awaited = any(self._begins(other, prompt) for other in self._waiting)
            if awaited and (free := share()) is not None:
                with self._changed:
                    self._slots[free] = prompt
        finally:
            with self._changed:
                self._running.remove(prompt)
                self._ended.append(prompt)
                self._changed.notify_all()

    def _begins(self, prompt: str, other: str) -> bool:
        """Return whether a prompt shares far more with another prompt than with any that was read before."""
        return _common(prompt, other) >= max((_common(prompt, ended) for ended in self._ended), default=0) + SHARED


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts.

    >>> _common("Round 1: A", "Round 12")
    7
    """
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        same, most = (middle, most) if one[:middle] == other[:middle] else (same, middle - 1)
    return same


class SharedRuntime:
    """Weights with adapters, loaded at the first call and closed with the last client."""

    def __init__(self, load: Load, adapters: tuple[Path, ...]) -> None:
        self.load, self.adapters = load, adapters
        self.free = threading.Semaphore(load.slots)
        self.beginnings = Beginnings()
        self.users: set[int] = set()
        self._loading = threading.Lock()
        self._runtime: Runtime | None = None

    def runtime(self) -> Runtime:
        """Return the runtime; the first caller loads it, others wait."""
        with self._loading:
            self._runtime = self._runtime or Runtime(self.load, self.adapters)
            return self._runtime

    def scales(self, adapter: Path | None, scale: float) -> list[dict[str, Any]]:
        """Return the scale of every adapter for a request: its own scale, and zero for others."""
        return [{"id": n, "scale": scale if path == adapter else 0.0} for n, path in enumerate(self.adapters)]

    def close(self) -> None:
        """Stop running calls and free the memory. Weights being loaded are waited for."""
        with self._loading:
            runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.close()


def announce(client: Any, load: Load, adapter: Path | None) -> None:
    """Register a client, so that its adapter is loaded with the weights."""
    with _LOCK:
        _CLIENTS.setdefault(load, weakref.WeakKeyDictionary())[client] = adapter


def enter(client: Any, load: Load, adapter: Path | None) -> SharedRuntime:
    """Return the runtime of a client: the same for every call until it is released."""
    with _LOCK:
        loaded = _LOADED.setdefault(load, [])
        fitting = [shared for shared in loaded if adapter is None or adapter in shared.adapters]
        if not fitting:
            wanted = {*_CLIENTS.get(load, {}).values(), adapter} - {None}
            fitting = [SharedRuntime(load, tuple(sorted(path for path in wanted if path is not None)))]
            loaded += fitting
        fitting[0].users.add(id(client))
        return fitting[0]


def release(client: Any, load: Load) -> None:
    """Unregister a client; the last one closes the runtime."""
    with _LOCK:
        loaded = _LOADED.pop(load, [])
        for shared in loaded:
            shared.users.discard(id(client))
        if in_use := [shared for shared in loaded if shared.users]:
            _LOADED[load] = in_use
        idle = [shared for shared in loaded if not shared.users]
    for shared in idle:
        shared.close()
