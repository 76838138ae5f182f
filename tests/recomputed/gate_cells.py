"""Gates judged twice: by `ostrom gate` on real runs, and here from exported tables or draws with a known truth."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.recomputed import draws
from tests.recomputed.limits import Bounds, limits

MARGIN, THRESHOLD = 0.05, 0.8
SIZES = (5, 10, 20, 50, 100, 200)
SHARE: Bounds = (0.0, 1.0)


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
    """The interval of a level over all conditions, each with these seeds."""
    groups = [[of[seed] for seed in seeds] for of in values.values()]
    if len(seeds) == 1:  # one match each: conditions are pooled
        groups = [[x for group in groups for x in group]]
    return limits(groups, [1 / len(groups)] * len(groups), SHARE)


def difference_limits(values: Mapping[tuple[str, ...], Mapping[int, float]], seeds: Sequence[int]) -> Any:
    """The interval of the difference of the words one and two: pairs share game and seed."""
    games = dict.fromkeys(game for _, game in values)
    groups = [[values["one", game][seed] - values["two", game][seed] for seed in seeds] for game in games]
    if len(seeds) == 1:
        groups = [[x for group in groups for x in group]]
    return limits(groups, [1 / len(groups)] * len(groups), (-1.0, 1.0))


def rounds(mean: float, uniform: Any, many: int = 10) -> Any:
    """Shares of ten independent rounds."""
    from scipy import stats

    return stats.binom.ppf(uniform, many, mean) / many


def kinds() -> Iterator[tuple[str, Any, float]]:
    """Kinds of values with a mean, and how far a difference moves it."""
    yield "share of 10 rounds", rounds, 0.9
    yield "all or nothing", lambda mean, uniform: (uniform < mean).astype(float), 0.9
    yield "sd 0.1", lambda mean, uniform: draws.Truth(0.9, 0.1).at(mean, uniform), 0.9
    yield "sd 0.05", lambda mean, uniform: draws.Truth(0.5, 0.05).at(mean, uniform), 0.5


def statements(times: int) -> Iterator[tuple[str, str, list[tuple[float, float, float]]]]:
    """Statement, truth, and the shares of pass, undecided and fail by number of matches or pairs."""
    rng = np.random.default_rng(20)
    for name, made, mean in kinds():
        for words, off in (("no difference", 0.0), (f"difference {MARGIN:g}", MARGIN)):
            shares = []
            for n in SIZES:
                one, two = made(mean, rng.random((times, n))), made(mean - off, rng.random((times, n)))
                shares.append(draws.rates(draws.paired(one, two, SHARE), -MARGIN, MARGIN))
            yield f"difference within {MARGIN:g}", f"{words}, {name}, {mean:g}", shares
    for name, made, _ in list(kinds())[:3]:
        for mean in (0.9, THRESHOLD, 0.7):
            found = [draws.means(made(mean, rng.random((times, n))), SHARE) for n in SIZES]
            yield (
                f"at least {THRESHOLD:g}",
                f"{mean:g}, {name}",
                [draws.rates(f, THRESHOLD, np.inf) for f in found],
            )
    for shared in (0.0, 0.5):
        shares = []
        for n in SIZES:
            common, own = rng.random((times, n, 1)), rng.random((times, n, 4))
            uniform = np.where(rng.random((times, n, 4)) < np.sqrt(shared), common, own).reshape(times, -1)
            shares.append(draws.rates(draws.means(rounds(THRESHOLD, uniform), SHARE, 4), THRESHOLD, np.inf))
        words = f"{THRESHOLD:g}, share of 10 rounds, 4 conditions, correlation within a seed {shared:g}"
        yield f"at least {THRESHOLD:g}", words, shares
