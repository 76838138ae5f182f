"""Normalised scores by mechanism, game and type, with intervals that resample runs and designs.

Matches of one replicate share its designs, and matches under one design share its quality: neither are
independent. So intervals resample whole replicates (seeds) and, within each, whole designs. Where there is
one replicate only, designs are resampled; where nothing was designed, matches take their place. Games are
resampled apart from each other, because they are given and not drawn (Tewolde et al. 2026 take the spread
across games instead, which is no uncertainty of their means).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from ostrom.analysis.dynamics.tournament import is_done, seated, type_names
from ostrom.analysis.statistics.cluster_bootstrap import cluster_bootstrap
from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.samples import Floats
from ostrom.engine.plan import Unit
from ostrom.replications.coopeval.scale import Scale, scale_of
from ostrom.streams import Streams, key_of

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Point:
    """The normalised score of one seat in one finished match, and what it is clustered in."""

    mechanism: str
    game: str
    type: str
    value: float
    match: int
    seed: int
    design: str
    """The design in force; of a match without one, the match itself."""
    seat: int
    score: float


@dataclass(frozen=True)
class Points:
    """All points of a run, the scale of every game, and the games that have no scale (with the reason)."""

    points: tuple[Point, ...]
    scales: Mapping[str, Scale]
    unscaled: Mapping[str, str]
    left_out: int = 0
    """Seats without a score of the kind asked for."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A mean of normalised scores. ``low`` and ``high`` are None where nothing can be resampled."""

    key: Mapping[str, str]
    mean: float
    low: float | None
    high: float | None
    matches: int
    runs: int
    designs: int
    resampled: str
    """What the interval resamples, in words; empty where there is no interval."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        rest = {name: getattr(self, name) for name in self.__slots__ if name != "key"}
        return {**self.key, **rest}


def score_points(
    rows: Iterable[Mapping[str, Any]], unit: Callable[[int], Unit], *, expected: bool = False
) -> Points:
    """Every seat of every finished match on the scale of its game; ``rows`` are those of the matches table.

    With ``expected`` the exact expectation is taken where the odds are known; other seats are left out and
    counted.
    """
    matches: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["unit"] == "match":
            matches.setdefault(row["match"], []).append(row)
    done = {n: seated(players, unit(n)) for n, players in matches.items() if is_done(players)}
    names = type_names(p for players in done.values() for p in players)
    scales: dict[str, Scale] = {}
    unscaled: dict[str, str] = {}
    points: list[Point] = []
    left_out = 0
    for number, players in done.items():
        game, name = unit(number).game, str(players[0]["game"])
        # Cells may change a game's payoffs, so the scale is looked up match by match.
        scale = scale_of(game)
        if isinstance(scale, str):
            unscaled[name] = scale
            continue
        scales[name] = scale
        design = design_of(players, number)
        for player in players:
            score = player["expected_score" if expected else "score"]
            if score is None:
                left_out += 1
                continue
            points.append(
                Point(
                    str(player["mechanism"]),
                    name,
                    names[str(player["agent"]), str(player["agent_id"])],
                    scale.normalised(player["seat"] - 1, score),
                    number,
                    player["seed"],
                    design,
                    player["seat"],
                    score,
                )
            )
    return Points(tuple(points), scales, unscaled, left_out)


def design_of(players: Sequence[Mapping[str, Any]], match: int) -> str:
    """Whose design was chosen in a match: type and seat of its designer; else the match itself."""
    text = players[0]["facts"]
    facts = orjson.loads(text) if text else {}
    for proposal in facts.get("proposals", ()):
        if proposal["label"] == facts.get("winner"):
            designer = players[proposal["seat"]]
            return f"design of {designer['agent']} #{designer['agent_id']} at seat {proposal['seat'] + 1}"
    return f"match {match}"


def normalised_means(points: Sequence[Point], by: Sequence[str]) -> list[Normalised]:
    """Means for every combination of ``by`` (of mechanism, game, type), in the order of appearance.

    Types weigh the same whatever they played, and so do games: first the mean of each type in each game, then
    over types, then over games.
    """
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(getattr(point, name) for name in by), []).append(point)
    return [normalised_mean(of, dict(zip(by, key, strict=True))) for key, of in groups.items()]


def normalised_mean(points: Sequence[Point], key: Mapping[str, str] | None = None) -> Normalised:
    """The mean of some points over types and games, with its interval."""
    cells = list(dict.fromkeys((p.game, p.type) for p in points))
    games = list(dict.fromkeys(game for game, _ in cells))
    column = {cell: i for i, cell in enumerate(cells)}
    features = np.zeros((len(points), 2 * len(cells)))
    for row, point in enumerate(points):
        at = column[point.game, point.type]
        features[row, at], features[row, len(cells) + at] = point.value, 1.0
    members = [[column[cell] for cell in cells if cell[0] == game] for game in games]

    def mean(sums: Floats) -> Floats:
        means = sums[:, : len(cells)] / sums[:, len(cells) :]
        result: Floats = np.mean([means[:, of].mean(axis=1) for of in members], axis=0)
        return result

    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = float(mean(features.sum(axis=0)[None, :])[0])
    low, high, resampled = _interval(points, features, mean)
    return Normalised(
        dict(key or {}), estimate, low, high,
        len({p.match for p in points}), len({p.seed for p in points}),
        len({(p.game, p.mechanism, p.seed, p.design) for p in points if p.design.startswith("design")}),
        resampled,
    )  # fmt: skip


def _interval(
    points: Sequence[Point], features: Floats, statistic: Callable[[Floats], Floats]
) -> tuple[float | None, float | None, str]:
    # A factor's cells of one game never share designs, so a design belongs to its mechanism, game and seed.
    runs = [f"{p.mechanism}|{p.game}|{p.seed}" for p in points]
    designs = [f"{run}|{p.design}" for run, p in zip(runs, points, strict=True)]
    strata = [f"{p.mechanism}|{p.game}" for p in points]
    inner = "designs" if any(p.design.startswith("design") for p in points) else "matches"
    several = _least(strata, runs) > 1
    if several:
        within = _least(runs, designs) > 1
        options: dict[str, Any] = {"clusters": runs, "nested": designs if within else None}
        words = f"runs, and {inner} within them" if within else "runs"
    elif _least(strata, designs) > 1:
        options, words = {"clusters": designs}, inner
    else:
        return None, None, ""
    # The draws depend on what is resampled alone, so the same run gives the same interval.
    rng = Streams(0, key_of("|".join(sorted(set(designs))))).at(0, 0, "interval")
    try:
        found = cluster_bootstrap(
            features, statistic, unit=words, rng=rng, resamples=RESAMPLES, strata=strata, **options
        )
    except (BadSample, Undefined):
        return None, None, ""
    assert found.ci is not None
    return found.ci.low, found.ci.high, words


def _least(outer: Sequence[str], inner: Sequence[str]) -> int:
    """The smallest number of inner clusters in an outer one."""
    members: dict[str, set[str]] = {}
    for one, other in zip(outer, inner, strict=True):
        members.setdefault(one, set()).add(other)
    return min(len(of) for of in members.values())
