"""The whole path of a population through the simplex."""

from __future__ import annotations

from dataclasses import dataclass

from ostrom.features.evolution.simplex import Floats


@dataclass(frozen=True, eq=False)
class Trajectory:
    """``states[t]`` is the population at ``times[t]``; ``settled`` says whether it came to rest."""

    times: Floats
    states: Floats
    settled: bool

    @property
    def final(self) -> Floats:
        """The last population."""
        last: Floats = self.states[-1]
        return last

    @property
    def steps(self) -> int:
        """Number of moves made."""
        return len(self.states) - 1
