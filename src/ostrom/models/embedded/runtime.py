"""llama.cpp inside this process: loaded without noise, stopped at any token, left without a crash.

Measured facts behind the settings: the same seed gives the same text only with one slot and no prompt
cache; the worker threads of OpenMP spin unless told not to; the runtime always opens an HTTP endpoint,
which stays on loopback and gets a random key; leaving the process while a call runs crashes it.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ModelError

# Small enough that a call can be stopped while a long prompt is still being read.
BATCH = 256
CACHE_MIB = 512


@dataclass(frozen=True, slots=True)
class Load:
    """How the weights are loaded."""

    path: Path
    slots: int
    threads: int
    context: int
    """Tokens per slot, prompt and reply together."""
    keep_prompts: bool
    """Reuse what was computed for the same beginning of a prompt: faster, but no longer reproducible."""


class Runtime:
    """One loaded model. Calls block; make each in a thread of its own."""

    def __init__(self, load: Load, adapters: Sequence[Path] = ()) -> None:
        # The spinning threads of one process slow down all others; must be set before the library loads.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        os.environ.setdefault("GOMP_SPINCOUNT", "0")
        try:
            import xllamacpp
        except ImportError as error:
            raise ModelError(
                f"embedded models need the extra 'embedded': pip install 'ostrom[embedded]' ({error})"
            ) from None
        params = xllamacpp.CommonParams()
        params.model.path = str(load.path)
        params.n_parallel = load.slots
        params.n_ctx = load.context * load.slots
        params.n_batch = BATCH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = load.threads
        params.n_gpu_layers = 0
        params.fit_params = False
        params.verbosity = -1
        params.cache_ram_mib = CACHE_MIB if load.keep_prompts else 0
        params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
        params.hostnames = ["127.0.0.1"]
        params.api_keys = [secrets.token_hex(32)]
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(path), 1.0) for path in adapters]
        params.ui = params.endpoint_slots = params.endpoint_props = False
        self._stopping = threading.Event()
        self._calls = 0
        self._idle = threading.Condition()
        with _LOADING:
            if _LEAVING.is_set():
                raise ModelError("the process is ending")
            try:
                self._server = xllamacpp.Server(params)
            except Exception as error:
                raise ModelError(f"{load.path}: the runtime cannot load this file ({error})") from None
            _RUNTIMES.add(self)
        self.address: str = self._server.listening_address

    def chat(
        self, body: dict[str, Any], stop: threading.Event, chunk: Callable[[dict[str, Any]], None]
    ) -> None:
        """Run one call, handing over the pieces of the reply; ends early once ``stop`` is set."""

        def piece(document: Any) -> bool:
            if isinstance(document, dict):
                chunk(document)
            return stop.is_set() or self._stopping.is_set()

        with self._idle:
            if self._stopping.is_set():
                raise ModelError("the embedded model was closed before this call")
            self._calls += 1
        try:
            result = self._server.handle_chat_completions(
                {**body, "stream": True, "return_progress": True}, piece
            )
            if isinstance(result, dict):
                chunk(result)
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


_RUNTIMES: weakref.WeakSet[Runtime] = weakref.WeakSet()
_LOADING = threading.Lock()
_LEAVING = threading.Event()


@atexit.register
def _close_all() -> None:
    """Leave no call running, not even one whose weights are still being loaded."""
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
