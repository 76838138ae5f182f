"""What looking costs: stopping rules on simulated runs with a known difference; written to docs/power.md."""

from __future__ import annotations

from pathlib import Path

from ostrom.analysis.pairing import TwoSides
from ostrom.analysis.stopping import StopRule
from ostrom.features.power.plan import sequential
from ostrom.features.power.simulation import Assumed, SeedLayout, Simulation

PAGE = Path("docs/power.md")
RULES = ("width: 0.6", "width: 0.4", "bayes_factor: 3", "bayes_factor: 6", "bayes_factor: 10")
EFFECTS = (0.0, 0.2)
SPREADS = {"uniform": 0.28, "all or nothing": 0.5}
LEAST_COVERED = 0.95


def sequential_tables(samples: int) -> tuple[str, list[str]]:
    """The table in Markdown, and the aims that are missed: intervals of width rules must still cover."""
    times = max(100, samples // 5)
    sides = TwoSides([], [], [()], ((), ()), ((), ()), None, (False, False), (0.0, 1.0), "match", "")
    layout = SeedLayout(sides, ((("",),), (("",),)), ((1,), (1,)))
    lines = [
        f"{times} simulated runs per row: pairs from shares around .5, 5 to 100 seeds, looked every 5.", "",
        "| rule | values | true difference | mean seeds | criterion met | excludes 0 | covers the truth |",
        "|---" * 7 + "|",
    ]  # fmt: skip
    problems = []
    for said in RULES:
        kind, _, value = said.partition(": ")
        rule = StopRule(measure="cooperation", contrast="k=2-1", at_most=100, **{kind: float(value)})  # type: ignore[arg-type]
        for name, sd in SPREADS.items():
            for number, effect in enumerate(EFFECTS):
                found = sequential(rule, Simulation(layout, Assumed(0.5, sd), effect), times, number)
                shares = [
                    f"{of.value:.3f}".removeprefix("0") for of in (found.met, found.excludes, found.covers)
                ]
                lines.append(
                    f"| {said} | {name} | {effect:g} | {found.seeds:.1f} | " + " | ".join(shares) + " |"
                )
                if kind == "width" and found.covers.value < LEAST_COVERED:
                    problems.append(
                        f"{said}, {name}, {effect:g}: covers {found.covers.value:.3f}, aim {LEAST_COVERED}"
                    )
    return "\n".join(lines), problems
