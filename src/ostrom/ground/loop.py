"""The event loop that plays a run: uvloop where it is installed (``pip install 'ostrom[fast]'``), else asyncio's.

Both play the same run; uvloop takes less time per call. ``OSTROM_LOOP`` chooses: ``auto`` (the default), ``uvloop``
or ``asyncio``. The manifest of a run says which one began it.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, TypeVar

from ostrom.ground.errors import UsageError

VARIABLE = "OSTROM_LOOP"
T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, as ``asyncio.run``, on the chosen loop."""
    try:
        factory, _ = _chosen()
    except UsageError:
        main.close()
        raise
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def loop_name() -> str:
    """Return name and version of the loop, for the manifest."""
    return _chosen()[1]


def _chosen() -> tuple[Callable[[], asyncio.AbstractEventLoop] | None, str]:
    wanted = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if wanted not in ("auto", "uvloop", "asyncio"):
        raise UsageError(f"{VARIABLE}: unknown event loop {wanted!r} (allowed: auto, uvloop, asyncio)")
    if wanted != "asyncio":
        try:
            uvloop = import_module("uvloop")
        except ImportError:
            if wanted == "uvloop":
                raise UsageError(
                    f"{VARIABLE}: uvloop is not installed (pip install 'ostrom[fast]', or unset it)"
                ) from None
        else:
            return uvloop.new_event_loop, f"uvloop {uvloop.__version__}"
    return None, "asyncio"
