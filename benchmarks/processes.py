"""Servers and measured children: benchmarks never share a process with what they measure against."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def server(latency: float = 0.0) -> Iterator[str]:
    """The loopback server as a process of its own; gives its model name."""
    command = [sys.executable, "-m", "ostrom.testing.server", "--port", "0", "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"{process.stdout.readline().strip()}#loopback"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def child(code: str, *arguments: str, timeout: float = 300) -> dict[str, Any]:
    """Run code in a fresh process; its last line is JSON, and its peak memory is added."""
    tail = (
        "\nimport json, resource, sys\n"
        "found['peak_mib'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + tail, *arguments], capture_output=True, text=True, timeout=timeout
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "a child failed")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
