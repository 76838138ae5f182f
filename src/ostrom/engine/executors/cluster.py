"""Which Ray cluster a run is played on. Ray itself is imported only when a cluster is used."""

from __future__ import annotations

import os
import signal
import socket
import threading
from dataclasses import dataclass
from typing import Any

from ostrom.ground.errors import RunError, UsageError

STORE = 128 * 1024 * 1024
"""Bytes of Ray's object store on this machine: hardly anything goes through it."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster to play on: that at ``address``, or one made on this machine for the run."""

    address: str | None = None
    workers: int | None = None
    """How many workers; None: one for each processor of the cluster."""
    matches: int = 256
    """The most matches that one worker has under way."""


def import_ray() -> Any:
    """Ray, or one line that says how to get it."""
    try:
        import ray
    except ImportError:
        raise UsageError("the Ray executor needs Ray: pip install 'ostrom[ray]'") from None
    return ray


def join(cluster: Cluster) -> bool:
    """Connect this process to the cluster. Returns whether it was not connected before."""
    ray = import_ray()
    address = cluster.address
    if address is not None and "://" in address:
        raise UsageError(
            f"--ray-address {address}: start the run on a machine of the cluster and name its head as host:port"
        )
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            raise UsageError(f"--ray-address {address}: this process is connected to the cluster at {here}")
        return False
    if address not in (None, "auto"):
        _check_reachable(str(address))
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        options |= {"num_cpus": cluster.workers or os.cpu_count() or 1, "include_dashboard": False}
        options |= {"object_store_memory": STORE}
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or "local", **options)
    except Exception as error:  # a node that does not start in time raises a plain Exception
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if address is None:
            raise RunError(f"Ray could not be started on this machine: {problem}") from None
        raise UsageError(f"--ray-address {address}: no cluster answers there ({problem})") from None
    finally:
        if main:
            # Ray's SIGTERM handler would end the process; the run's own handler stops it cleanly.
            signal.signal(signal.SIGTERM, before)
    _silence(ray)
    return True


def _silence(ray: Any) -> None:
    """Keep Ray's news of dying machines off standard output, which belongs to the results of a command."""
    inside: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(inside, "_worker_logs_enabled"):
        inside._worker_logs_enabled = False


def _check_reachable(address: str) -> None:
    """Check that the address accepts connections: Ray itself would retry for many minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--ray-address {address}: is not of the form host:port (or auto)")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"--ray-address {address}: no cluster answers there ({error})") from None


def processors() -> int:
    """How many processors the connected cluster has."""
    return max(1, int(import_ray().cluster_resources().get("CPU", 1)))
