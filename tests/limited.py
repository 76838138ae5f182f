"""Code run in a process of its own with bounds on memory and processor time, for input that wants to take both."""

import os
import resource
import subprocess
import sys
from pathlib import Path

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
"""The stack of every thread counts as memory, and some libraries start one for each processor."""
HANG = 300
"""Seconds after which a process is taken to wait for ever; no test depends on anything shorter."""


def limited(
    code: str, *arguments: object, memory: int = 1 << 30, seconds: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run Python code; more memory than allowed is a MemoryError in it, more processor time its end."""

    def bound() -> None:
        # The data of the process, not its addresses: libraries reserve many more than they use.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=HANG,
        preexec_fn=bound,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **ONE_THREAD},
        cwd=Path(__file__).parents[1],
    )
