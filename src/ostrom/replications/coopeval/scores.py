"""Normalised scores by mechanism, game and type, and outlier matches that move a mean.

Matches under one design share its quality, so the unit of an interval is a design where players design
something, and a match elsewhere. Games, mechanisms and opponents are fixed and not sampled: differences between
them are no uncertainty (Tewolde et al. 2026 take the spread across games instead).

Two contracts without bound among 972 matches moved a published mean from .867 to .557. Such matches are
looked for so that they cannot hide each other: the most extreme matches of a mean are set aside together, the
mean and its interval are taken from the rest, and a match is named when putting it back alone moves that mean
by more than half the width of that interval. All matches of a type count as one sample here, whoever they were
played against: a match is odd if it does not look like the others. At most one match in twenty (but one in any
case), and never more than five, are set aside: what is more common than that is no outlier. A mean of fewer
than eight matches is not searched.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Any

import orjson

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import Estimate, estimated, partly_exact_mean
from ostrom.analysis.intervals import Bounds, mean_of
from ostrom.analysis.units import bounds_of
from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.features.evolution.evolution import is_done, normalised, seated, type_names
from ostrom.games.game import Game
from ostrom.ground.values import grouped
from ostrom.mechanisms.incentives import is_equilibrium
from ostrom.reports.cells import why_nothing

DESIGN = "design of "
UNPAID = frozenset({"none", "repetition", "reputation", "mediation"})
"""Mechanisms under which players are paid by the game alone."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The benchmarks of every seat: 0 is the all-defect equilibrium, 1 is full cooperation."""

    equilibrium: tuple[float, ...]
    cooperation: tuple[float, ...]

    def normalised(self, seat: int, score: float) -> float:
        """Return the score of a seat (counted from 0) on the scale."""
        return normalised(score, equilibrium=self.equilibrium[seat], cooperation=self.cooperation[seat])


def scale_of(game: Game) -> Scale | str:
    """Return the scale of a game, or why it has none (Tewolde et al. 2026: (x - NE) / (coop - NE)).

    >>> from ostrom.games import build_game
    >>> scale_of(build_game("prisoners_dilemma:coopeval"))
    Scale(equilibrium=(1.0, 1.0), cooperation=(2.0, 2.0))
    >>> scale_of(build_game("matching_pennies"))
    'game matching_pennies defines no cooperative action'
    """
    cooperate = tuple(a for a in game.cooperative if a is not None)
    defect = tuple(a for a in game.defective if a is not None)
    if len(cooperate) < game.seats:
        return f"game {game.name} defines no cooperative action"
    if len(defect) < game.seats:
        return f"game {game.name} defines no defective action"
    if not is_equilibrium(game, defect):
        return f"in game {game.name} it is no equilibrium that all defect"
    low, high = game.payoff(defect), game.payoff(cooperate)
    if any(high[seat] == low[seat] for seat in range(game.seats)):
        return f"in game {game.name} cooperation pays some seat no more and no less than the equilibrium"
    return Scale(low, high)


@dataclass(frozen=True, slots=True)
class Point:
    """The normalised score of one seat in one finished match, with its clusters."""

    mechanism: str
    game: str
    type: str
    value: float
    match: int
    seed: int
    design: str
    """The design in force, or the match itself without one."""
    seat: int
    score: float
    opponents: tuple[str, ...] = ()
    """The types of all seats."""
    exact: bool = False
    """Whether the match would end the same way again."""
    bounds: Bounds = (None, None)
    """The smallest and largest possible value of the seat."""
    score_bounds: Bounds = (None, None)
    """The smallest and largest possible score of the seat."""


@dataclass(frozen=True)
class Points:
    """All points of a run, the scale of every game, and games without a scale (with the reason)."""

    points: tuple[Point, ...]
    scales: Mapping[str, Scale]
    unscaled: Mapping[str, str]
    left_out: int = 0
    """The number of seats without a score of the requested kind."""

    @property
    def benchmarks(self) -> list[dict[str, Any]]:
        """The ends of the scale of every seat: its payoff if all defect (0) and if all cooperate (1)."""
        return [
            {"game": game, "seat": seat, "equilibrium": low, "cooperation": high}
            for game, scale in self.scales.items()
            for seat, (low, high) in enumerate(zip(scale.equilibrium, scale.cooperation, strict=True), 1)
        ]


@dataclass(frozen=True, slots=True)
class Normalised:
    """A mean of normalised scores over types, then over games, with the number of matches, runs and designs."""

    estimate: Estimate
    """The mean, its interval, and the mechanism, game or type that it belongs to."""
    matches: int
    runs: int
    designs: int


def match_rows(data: RunData) -> list[dict[str, Any]]:
    """Return all rows of the matches table, in the order of matches."""
    return data.records("SELECT * FROM matches ORDER BY match, player")


def nothing_yet(data: RunData) -> str:
    """Return why a run has no scores to show; empty if it has some."""
    done = data.records("SELECT count(*) AS n FROM matches WHERE state = 'done' AND unit = 'match'")
    return "" if done[0]["n"] else why_nothing(data, "score")


def score_points(rows: Iterable[Mapping[str, Any]], unit: Callable[[int], Unit], *, expected: bool = False) -> Points:
    """Return every seat of every finished match on the scale of its game.

    With ``expected`` the exact expectation is taken where the odds are known; other seats are left out and
    counted.
    """
    matches = grouped((row["match"], row) for row in rows if row["unit"] == "match")
    done = {n: seated(players, unit(n)) for n, players in matches.items() if is_done(players)}
    names = type_names(p for players in done.values() for p in players)
    exact = Determinism(unit)
    scales: dict[str, Scale] = {}
    unscaled: dict[str, str] = {}
    points: list[Point] = []
    left_out = 0
    for number, players in done.items():
        game, name = unit(number).game, str(players[0]["game"])
        # Cells may change a game's payoffs, so the scale is looked up for each match.
        scale = scale_of(game)
        if isinstance(scale, str):
            unscaled[name] = scale
            continue
        scales[name] = scale
        design = design_of(players, number)
        types = tuple(names[str(p["agent"]), str(p["agent_id"])] for p in players)
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
                    types,
                    exact(number),
                    *_paid(unit(number), scale, player["seat"] - 1),
                )
            )
    return Points(tuple(_bounded(points)), scales, unscaled, left_out)


def normalised_scores(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield the score of every player of every match on the scale of its game; games without a scale have none."""
    for row in data.records("SELECT match, player, seat, score FROM matches WHERE unit = 'match'"):
        scale = scale_of(data.unit(row["match"]).game)
        if isinstance(scale, Scale) and row["score"] is not None:
            yield {
                "match": row["match"],
                "player": row["player"],
                "value": scale.normalised(row["seat"] - 1, row["score"]),
            }


def _paid(unit: Unit, scale: Scale, seat: int) -> tuple[Bounds, Bounds]:
    """Return a seat's smallest and largest possible earnings: on the game's scale, and in points."""
    if unit.mechanism.name not in UNPAID:
        return (None, None), (None, None)
    paid = unit.game.payoffs[..., seat]
    ends = float(paid.min()), float(paid.max())
    low, high = sorted(scale.normalised(seat, end) for end in ends)
    return (low, high), ends


def _bounded(points: Sequence[Point]) -> list[Point]:
    """Remove the bounds of cells with a score outside them, as imported scores may be."""

    def within(point: Point) -> bool:
        low, high = point.score_bounds
        return low is not None and high is not None and low - 1e-9 <= point.score <= high + 1e-9

    outside = {(p.mechanism, p.game) for p in points if not within(p)}
    unknown: dict[str, Bounds] = dict.fromkeys(("bounds", "score_bounds"), (None, None))
    return [replace(p, **unknown) if (p.mechanism, p.game) in outside else p for p in points]  # type: ignore[arg-type]


def design_of(players: Sequence[Mapping[str, Any]], match: int) -> str:
    """Return the designer (type and seat) of a match's design; else the match itself."""
    facts = orjson.loads(players[0]["facts"] or "{}")
    for proposal in facts.get("proposals", ()):
        if proposal["label"] == facts.get("winner"):
            designer = players[proposal["seat"]]
            return f"{DESIGN}{designer['agent']} #{designer['agent_id']} at seat {proposal['seat'] + 1}"
    return f"match {match}"


def normalised_means(points: Sequence[Point], by: Sequence[str]) -> list[Normalised]:
    """Return means for every combination of ``by`` (of mechanism, game, type), in the order of appearance.

    Types weigh the same whatever they played, and so do games: first the mean of each type in each game, then
    over types, then over games.
    """
    groups = grouped((tuple(getattr(point, name) for name in by), point) for point in points)
    return [normalised_mean(of, dict(zip(by, key, strict=True))) for key, of in groups.items()]


def normalised_mean(points: Sequence[Point], key: Mapping[str, str] | None = None) -> Normalised:
    """Return the mean of points over types and games, with its interval."""
    cells = Counter((p.game, p.type) for p in points)
    types = Counter(game for game, _ in cells)
    weights = [1 / (len(types) * types[p.game] * cells[p.game, p.type]) for p in points]
    designed = {(p.mechanism, p.game) for p in points if p.design.startswith(DESIGN)}
    # Matches share a design only if they have the same mechanism, game and seed, so a cluster names these too.
    clusters = [(p.mechanism, p.game, p.seed, p.design) for p in points]
    strata = [(p.mechanism, p.game, () if (p.mechanism, p.game) in designed else p.opponents) for p in points]
    unit = "design" if designed else "match"
    inference = partly_exact_mean(
        [p.value for p in points],
        [p.exact for p in points],
        weights,
        clusters=clusters,
        strata=[repr(stratum) for stratum in strata],
        bounds=bounds_of(points),
        unit=unit,
    )
    designs = {cluster for cluster, p in zip(clusters, points, strict=True) if p.design.startswith(DESIGN)}
    return Normalised(
        estimated(dict(key or {}), inference, len(set(clusters)), unit),
        len({p.match for p in points}), len({p.seed for p in points}), len(designs),
    )  # fmt: skip


FEWEST = 8
"""The fewest matches among which outliers are searched: below this every match moves its mean."""
MOST = 5
ONE_IN = 20


def outliers(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return the outliers of each mean (mechanism, game, type), the largest shift first.

    ``score`` is the type's mean score in the match, ``mean`` the normalised mean of all matches, ``without`` that
    without the outliers, whose interval has the ``half_width``, and ``shift`` what this match alone adds to it.
    """
    groups = grouped(((p.mechanism, p.game, p.type), (p.match, p)) for p in points)
    # Rounded, here and below, so that last digits decide neither an order nor who is excluded.
    return sorted(
        (outlier for key, of in groups.items() for outlier in _outliers_of_mean(key, grouped(of))),
        key=lambda o: -round(abs(o["shift"]), 9),
    )


def _outliers_of_mean(key: tuple[str, str, str], matches: Mapping[int, list[Point]]) -> list[dict[str, Any]]:
    if len(matches) < FEWEST:
        return []
    everything = [p for of in matches.values() for p in of]
    overall = _mean(everything)
    middle = sorted(p.value for p in everything)[len(everything) // 2]
    extreme = sorted(matches, key=lambda m: -round(abs(fsum(p.value - middle for p in matches[m])), 9))
    for aside in range(max(1, min(MOST, len(matches) // ONE_IN)), 0, -1):
        core = [p for m, of in matches.items() if m not in extreme[:aside] for p in of]
        if len({p.match for p in core}) < 2:
            continue
        rest = _mean(core)
        shifts = {m: _mean([*core, *matches[m]]) - rest for m in extreme[:aside]}
        # A shift of at most half a standard error is within any interval, so none is computed.
        if min(map(abs, shifts.values())) <= _spread(core) / 2:
            continue
        half = half_width(core)
        if half is not None and all(abs(shift) > half for shift in shifts.values()):
            return [
                {
                    **dict(zip(("mechanism", "game", "type"), key, strict=True)), "match": m,
                    "seed": matches[m][0].seed, "score": fsum(p.score for p in matches[m]) / len(matches[m]),
                    "mean": overall, "without": rest, "shift": shift, "half_width": half,
                }
                for m, shift in shifts.items()
            ]  # fmt: skip
    return []


def half_width(points: Sequence[Point]) -> float | None:
    """Return half the width of the interval of the points' mean; 0 if all are equal, None without an interval."""
    if len({(p.seed, p.design) for p in points}) < 2:
        return None
    inference = mean_of([p.value for p in points], clusters=[(p.seed, p.design) for p in points])
    if inference.alike:
        return 0.0
    limits = inference.limits()
    return None if limits.low is None or limits.high is None else (limits.high - limits.low) / 2


def _spread(points: Sequence[Point]) -> float:
    """Return the standard error of a mean, as if all points were independent."""
    middle = _mean(points)
    return sqrt(fsum((p.value - middle) ** 2 for p in points)) / len(points)


def _mean(points: Sequence[Point]) -> float:
    return fsum(p.value for p in points) / len(points)
