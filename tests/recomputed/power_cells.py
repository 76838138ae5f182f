"""Contrasts whose power is computed twice: by `ostrom power`, and here from the assumptions that it prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.recomputed import draws
from tests.recomputed.limits import Bounds

PAIRED = """\
name: paired
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
types: {a: "random:0.5"}
vary:
  p: {low: {types.a: "random:0.5"}, high: {types.a: "random:0.7"}}
seeds: 40
"""
CONDITIONS = PAIRED.replace("paired", "conditions") + "  game: [prisoners_dilemma, stag_hunt]\n"
CONDITIONS = CONDITIONS.replace("seeds: 40\n  game", "  game").rstrip() + "\nseeds: 40\n"
APART = """\
name: apart
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
types: {a: "random:0.5"}
vary:
  p: {low: {types.a: "random:0.5"}, high: {types.a: "random:0.7"}}
  game: [prisoners_dilemma, stag_hunt, chicken, trust_symmetric]
only:
  - {p: low, game: prisoners_dilemma}
  - {p: low, game: stag_hunt}
  - {p: high, game: chicken}
  - {p: high, game: trust_symmetric}
seeds: 40
"""
STUDIES: Mapping[str, str] = {"paired": PAIRED, "conditions": CONDITIONS, "apart": APART}
SHARE: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class Cell:
    """One contrast with its assumptions."""

    study: str
    measure: str
    baseline: float
    sd: float
    effect: float
    seeds: int
    correlation: float = 0.0
    within: float | None = None
    bounds: Bounds = SHARE

    @property
    def options(self) -> list[str]:
        """The command that says its power."""
        asked = [
            f"{self.study}.yaml", "--measure", self.measure, "--contrast", "p=high-low",
            "--baseline", str(self.baseline), "--sd", str(self.sd), f"--effect={self.effect}",
            "--seeds", str(self.seeds), f"--correlation={self.correlation}", "--json",
        ]  # fmt: skip
        return asked if self.within is None else [*asked, "--within", str(self.within)]

    @property
    def words(self) -> str:
        """The cell as the first columns of a table."""
        kind = {
            "paired": "pairs",
            "conditions": "pairs in 2 conditions",
            "apart": "independent, 2 per seed and side",
        }
        what = "all or nothing" if self.sd >= 0.4999 else f"sd {self.sd:g}"
        asked = f"effect {self.effect:g}" if self.within is None else f"within {self.within:g}"
        tied = f", correlation {self.correlation:g}" if self.correlation else ""
        return (
            f"{self.measure}, {kind[self.study]} | {self.baseline:g}, {what}{tied} | {asked} | {self.seeds}"
        )

    def found(self, effect: float, times: int, rng: np.random.Generator) -> list[Any]:
        """Intervals of simulated runs with this true difference."""
        truth = draws.Truth(self.baseline, self.sd, self.bounds)
        per_seed = 1 if self.study == "paired" else 2
        shape = (times, self.seeds * per_seed)
        first, second = draws.sides(truth, effect, shape, rng, self.correlation)
        if self.study == "apart":
            return draws.unpaired(first, second, self.bounds)
        return draws.paired(first, second, self.bounds, per_seed)

    def rates(self, times: int, seed: int = 1) -> tuple[float, float]:
        """Power, and how often it would be found wrongly."""
        rng = np.random.default_rng(seed)
        there = self.found(self.effect, times, rng)
        if self.within is None:
            return draws.excluded(there, 1 if self.effect > 0 else -1), draws.excluded(
                self.found(0.0, times, rng)
            )
        wrong = self.found(self.within, times, rng)
        return draws.rates(there, -self.within, self.within)[0], draws.rates(
            wrong, -self.within, self.within
        )[0]


CELLS = (
    Cell("paired", "cooperation", 0.5, 0.4999, 0.3, 2),
    Cell("paired", "cooperation", 0.5, 0.4999, 0.3, 20),
    Cell("paired", "cooperation", 0.5, 0.4999, 0.3, 60),
    Cell("paired", "cooperation", 0.8, 0.2, -0.15, 20),
    Cell("paired", "cooperation", 0.6, 0.25, 0.15, 20, correlation=0.6),
    Cell("conditions", "cooperation", 0.5, 0.4999, 0.3, 20),
    Cell("conditions", "cooperation", 0.6, 0.2, 0.1, 1),
    Cell("conditions", "cooperation", 0.6, 0.2, 0.1, 3),
    Cell("conditions", "cooperation", 0.6, 0.2, 0.1, 30),
    Cell("conditions", "payoff", 2.5, 1.0, 0.5, 20, bounds=(0.0, 5.0)),
    Cell("apart", "cooperation", 0.5, 0.4999, 0.3, 20),
    Cell("apart", "cooperation", 0.9, 0.1, -0.1, 5),
    Cell("apart", "score", 3.0, 1.0, 0.8, 12, bounds=(None, None)),
    Cell("paired", "latency", 2.0, 1.5, 1.0, 20, bounds=(0.0, None)),
    Cell("paired", "cooperation", 0.5, 0.1, 0.0, 40, within=0.05),
    Cell("conditions", "cooperation", 0.9, 0.1, 0.0, 40, within=0.05),
    Cell("apart", "cooperation", 0.9, 0.1, 0.0, 40, within=0.05),
)
