"""Gates judged twice: by `ostrom gate` on real runs, and here from exported tables or draws with a known truth."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.recomputed import bets, draws

SHARE = (0.0, 1.0)


def match_values(path: Path, measure: str) -> dict[tuple[str, ...], dict[int, float]]:
    """Means over the players of each finished match of an exported table, by condition and seed."""
    found: dict[tuple[str, ...], dict[int, list[float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["state"] == "done" and row["unit"] == "match" and row[measure] != "":
                key = (row["words"], row["game"])
                found.setdefault(key, {}).setdefault(int(row["seed"]), []).append(float(row[measure]))
    return {key: {s: sum(of) / len(of) for s, of in seeds.items()} for key, seeds in found.items()}


def level_limits(values: Mapping[tuple[str, ...], Mapping[int, float]], seeds: Sequence[int]) -> Any:
    """The bounds of a level over all conditions, each with these seeds."""
    groups = [[of[seed] for seed in seeds] for of in values.values()]
    return bets.bounds_of(groups, [1 / len(groups)] * len(groups), SHARE)


def difference_limits(values: Mapping[tuple[str, ...], Mapping[int, float]], seeds: Sequence[int]) -> Any:
    """The bounds of the difference of the words one and two: cells share nothing, so their matches do not pair."""
    groups = [[of[seed] for seed in seeds] for of in values.values()]
    half = len(groups) / 2
    return bets.bounds_of(groups, [(1 if words == "one" else -1) / half for words, _ in values], SHARE)


def contaminated(rng: np.random.Generator, size: tuple[int, ...]) -> Any:
    """Nine matches in ten near 1, one of any kind."""
    return np.where(rng.random(size) < 0.9, rng.beta(60, 1, size), rng.random(size))


def twenty_rounds(rng: np.random.Generator, size: tuple[int, ...]) -> Any:
    """Shares of 20 rounds: cooperation in 99 % of them, or in any share in one match of ten."""
    return rng.binomial(20, np.where(rng.random(size) < 0.9, 0.99, rng.random(size))) / 20


Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]
GENERATORS: tuple[tuple[str, Draw, float], ...] = (
    (".9 Beta(60, 1) + .1 uniform", contaminated, 0.9 * 60 / 61 + 0.05),
    ("share of 20 rounds: .99 in 90 % of matches, else uniform", twenty_rounds, 0.9 * 0.99 + 0.05),
    ("1 with chance .95, else 0", lambda rng, size: (rng.random(size) < 0.95) * 1.0, 0.95),
    ("1 with chance .5, else 0", lambda rng, size: (rng.random(size) < 0.5) * 1.0, 0.5),
    (".9 with chance .97, else 0", lambda rng, size: (rng.random(size) < 0.97) * 0.9, 0.97 * 0.9),
    ("Beta(9, 1)", lambda rng, size: rng.beta(9, 1, size), 0.9),
    ("uniform", lambda rng, size: rng.random(size), 0.5),
)
"""Kinds of values with their means."""


def border(times: int) -> Iterator[tuple[str, list[float]]]:
    """How often gates pass wrongly whose threshold is the truth: single bounds at three sizes, and differences."""
    for name, draw, mean in GENERATORS:
        shares = []
        for n in (10, 20, 30):
            values = draw(np.random.default_rng([n, 27]), (times, n))
            shares.append(draws.gate_rates(values, SHARE, mean + 1e-12, np.inf)[0])
            shares.append(draws.gate_rates(values, SHARE, -np.inf, mean - 1e-12)[0])
        for n, m in ((10, 10), (3, 30)):
            rng = np.random.default_rng([n, m, 27])
            first, second = draw(rng, (times, n)), draw(rng, (times, m))
            shares.append(draws.gate_rates(first, SHARE, 1e-12, np.inf, second)[0])
        rng = np.random.default_rng([20, 27])
        off = draw(rng, (times, 20)) - draw(rng, (times, 20))
        yield name, [*shares, draws.gate_rates(off, (-1.0, 1.0), 1e-12, np.inf)[0]]


FIRST, LAST = 5, 300


def decided_at(values: Any, low: float, high: float) -> tuple[Any, Any]:
    """After how many of its values each row first passes and first fails, looked at after every one; 0 for never."""
    goal, slack = -np.log(0.025), 1e-9
    bets_, parts = np.array(bets.shares()).T

    def reached(of: Any, mean: float) -> Any:
        if not 0 < mean < 1:
            return np.full(of.shape, mean <= 0)
        total = np.full(of.shape, -np.inf)
        with np.errstate(divide="ignore"):
            for bet, part in zip(bets_, parts, strict=True):
                own = np.log(part) + np.cumsum(np.log(1 - bet + bet * of / mean), axis=1)
                total = np.logaddexp(total, own)
        return total >= goal - slack

    passes = reached(values, low) & reached(1 - values, 1 - high)
    fails = np.zeros(values.shape, dtype=bool)
    if low > 0:
        fails |= reached(1 - values, 1 - low)
    if high < 1:
        fails |= reached(values, high)

    def first(of: Any) -> Any:
        late = of[:, FIRST - 1 :]
        return np.where(late.any(axis=1), late.argmax(axis=1) + FIRST, 0)

    return first(passes), first(fails)


def until(times: int) -> Iterator[tuple[str, str, float, float, float]]:
    """Runs that are looked at after every seed from the fifth to the 300th, until they pass or fail.

    Gives the values, the statement, the shares that passed and failed, and the median number of seeds of the decided.
    """
    for number, (name, draw, mean) in enumerate(GENERATORS):
        values = draw(np.random.default_rng([number, 31]), (times, LAST))
        other = draw(np.random.default_rng([number, 32]), (times, LAST))
        off = (values - other + 1) / 2
        moved = (
            np.clip(values - 0.1, 0, 1),
            float(np.mean(np.clip(draw(np.random.default_rng(7), (10**6,)) - 0.1, 0, 1))),
        )
        gap = mean - moved[1]
        for statement, rows, low, high in (
            ("at least the truth", values, mean + 1e-9, np.inf),
            ("at most the truth", values, -np.inf, mean - 1e-9),
            ("at least the truth less .1", values, mean - 0.1, np.inf),
            ("difference within .1, truth 0", off, 0.45, 0.55),
            ("difference within the truth", (moved[0] - other + 1) / 2, 0.5 - gap / 2 + 1e-4, 0.5 + gap / 2 - 1e-4),
        ):
            passed, failed = decided_at(rows, low, high)
            first = np.where(passed == 0, failed, np.where(failed == 0, passed, np.minimum(passed, failed)))
            right = float(np.mean((passed > 0) & (passed == first)))
            wrong = float(np.mean((failed > 0) & (failed == first)))
            yield name, statement, right, wrong, float(np.median(first[first > 0])) if first.any() else 0.0
