"""How often gates pass, fail and stay undecided where the truth is known; written to docs/methods.md."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tools.coverage.generators import Generator, bernoulli, beta, contaminated, rng_for, rounds

from ostrom.analysis.intervals import Inference, mean_of, paired_difference_of
from ostrom.features.gates.gates import GateRule

SIZES = (10, 20, 35, 60, 100)
MOST_WRONG = 0.025
"""A gate passes or fails wrongly at most so often."""

LEAST = GateRule(name="level", measure="cooperation", at_least=0.8)
SAME = GateRule(name="difference", measure="cooperation", contrast="k=2-1", within=0.15)


@dataclass(frozen=True)
class Row:
    """How a gate fares for one truth: shares of pass, undecided and fail by number of matches or pairs."""

    statement: str
    truth: str
    shares: tuple[tuple[float, float, float], ...]
    right: str
    """The verdict that is right; on the border neither is wrong."""

    @property
    def wrong(self) -> float:
        """The largest share of wrong verdicts over all sizes; on the border a pass counts as wrong."""
        place = {"pass": 2, "fail": 0, "border": 0}[self.right]
        return max(share[place] for share in self.shares)


def rows(samples: int) -> Iterator[Row]:
    """Every row of the table."""
    for made, right in (
        (rounds(0.9), "pass"), (rounds(0.8), "border"), (rounds(0.7), "fail"),
        (bernoulli(0.9), "pass"), (bernoulli(0.8), "border"), (bernoulli(0.7), "fail"),
        (beta(9, 1), "pass"), (beta(8, 2), "border"), (beta(7, 3), "fail"), (contaminated(60), "pass"),
    ):  # fmt: skip
        yield Row("at least 0.8", made.name, tuple(_level(made, n, samples) for n in SIZES), right)
    for one, other, right in (
        (rounds(0.9), rounds(0.9), "pass"), (rounds(0.9), rounds(0.75), "border"), (rounds(0.9), rounds(0.4), "fail"),
        (beta(50, 50), beta(50, 50), "pass"), (beta(50, 50), beta(35, 65), "border"),
    ):  # fmt: skip
        shares = tuple(_difference(one, other, n, samples) for n in SIZES)
        named = "no difference: " if one.mean == other.mean else f"difference {one.mean - other.mean:.2g}: "
        yield Row("difference within 0.15", f"{named}{one.name} and {other.name}", shares, right)


def _level(made: Generator, n: int, samples: int) -> tuple[float, float, float]:
    drawn = made.draw(rng_for("gate", made.name, n), (samples, n))
    return _shares([_verdict(LEAST, mean_of(values, bounds=(0, 1))) for values in drawn])


def _difference(one: Generator, other: Generator, n: int, samples: int) -> tuple[float, float, float]:
    rng = rng_for("gate", one.name, other.name, n)
    first, second = one.draw(rng, (samples, n)), other.draw(rng, (samples, n))
    pairs = zip(first, second, strict=True)
    return _shares([_verdict(SAME, paired_difference_of(a, b, bounds=(0, 1))) for a, b in pairs])


def _verdict(gate: GateRule, found: Inference) -> str:
    """The verdict by the capital at the ends of what is allowed, which spares the search for the bounds."""
    low, high = gate.allowed
    if found.surely_within(low, high):
        return "pass"
    outside = found.surely_within(-math.inf, low) or found.surely_within(high, math.inf)
    return "fail" if outside else "undecided"


def _shares(answers: list[str]) -> tuple[float, float, float]:
    return tuple(answers.count(answer) / len(answers) for answer in ("pass", "undecided", "fail"))  # type: ignore[return-value]


def gate_tables(samples: int) -> tuple[str, list[str]]:
    """The table in Markdown, and the aims that are missed."""
    made = list(rows(samples))
    lines = [
        f"{samples:,} simulated runs per figure: shares of pass / undecided / fail by the number of matches or pairs.",
        "",
        "| statement | matches | " + " | ".join(map(str, SIZES)) + " |",
        "|---" * (len(SIZES) + 2) + "|",
    ]
    for row in made:
        shown = [" / ".join(f"{x:.3f}".removeprefix("0") if x < 1 else "1" for x in share) for share in row.shares]
        lines.append(f"| {row.statement} | {row.truth} | " + " | ".join(shown) + " |")
    problems = [
        f"gate, {row.statement}, {row.truth}: {row.wrong:.1%} wrong verdicts, aim {MOST_WRONG:.0%}"
        for row in made
        if row.wrong > MOST_WRONG
    ]
    return "\n".join(lines), problems
