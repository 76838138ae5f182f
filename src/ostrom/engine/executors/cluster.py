"""Which Ray cluster a run is played on. Ray itself is imported only when a cluster is used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster to play on: that at ``address``, or one made on this machine for the run."""

    address: str | None = None
    workers: int | None = None
    """How many workers; None: one for each processor of the cluster."""
    matches: int = 256
    """The most matches that one worker has under way."""
