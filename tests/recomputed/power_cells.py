"""Contrasts whose power is computed twice: by `ostrom power`, and here from the assumptions that it prints."""

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
seeds: {count: 40, shared: true}
"""
CONDITIONS = PAIRED.replace("paired", "conditions") + "  game: [prisoners_dilemma, stag_hunt]\n"
CONDITIONS = (
    CONDITIONS.replace("seeds: {count: 40, shared: true}\n  game", "  game").rstrip()
    + "\nseeds: {count: 40, shared: true}\n"
)
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
        kind = {"paired": "pairs", "conditions": "pairs in 2 conditions", "apart": "independent, 2 per seed and side"}
        what = "all or nothing" if self.sd >= 0.4999 else f"sd {self.sd:g}"
        asked = f"effect {self.effect:g}" if self.within is None else f"within {self.within:g}"
        tied = f", correlation {self.correlation:g}" if self.correlation else ""
        return f"{self.measure}, {kind[self.study]} | {self.baseline:g}, {what}{tied} | {asked} | {self.seeds}"

    @property
    def per_seed(self) -> int:
        """Values of one side that a seed adds."""
        return 1 if self.study == "paired" else 2

    def sides(self, effect: float, times: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Simulated runs with this true difference."""
        truth = draws.Truth(self.baseline, self.sd, self.bounds)
        return draws.sides(truth, effect, (times, self.seeds * self.per_seed), rng, self.correlation)

    def found(self, effect: float, times: int, rng: np.random.Generator) -> list[Any]:
        """Their intervals."""
        first, second = self.sides(effect, times, rng)
        if self.study == "apart":
            return draws.unpaired(first, second, self.bounds)
        return draws.paired(first, second, self.bounds, self.per_seed)

    def passed(self, effect: float, times: int, rng: np.random.Generator) -> float:
        """How often the gate ``within`` passes."""
        first, second = self.sides(effect, times, rng)
        low, high = self.bounds
        assert self.within is not None and low is not None and high is not None
        if self.study == "apart":
            return draws.gate_rates(first, (low, high), -self.within, self.within, second)[0]
        differences = draws.per_seed(first, second, self.per_seed)
        return draws.gate_rates(differences, (low - high, high - low), -self.within, self.within)[0]

    def rates(self, times: int, seed: int = 1) -> tuple[float, float]:
        """Power, and how often it would be found wrongly."""
        rng = np.random.default_rng(seed)
        if self.within is not None:
            return self.passed(self.effect, times, rng), self.passed(self.within, times, rng)
        side = 1 if self.effect > 0 else -1
        there = draws.excluded(self.found(self.effect, times, rng), side)
        return there, draws.excluded(self.found(0.0, times, rng))


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
    Cell("paired", "cooperation", 0.5, 0.1, 0.0, 24, within=0.2),
    Cell("conditions", "cooperation", 0.8, 0.1, 0.0, 12, within=0.2),
    Cell("apart", "cooperation", 0.8, 0.1, 0.0, 12, within=0.2),
)
