"""What evolves on the payoffs: fitness after the replicator dynamics, and ranks by deviation rating.

Every run (seed) is a tournament of its own with its own payoffs, and a figure is the mean over runs, as in
the paper. Fitness is what a type earns in the final population; the figure of all types weighs them by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import fmean, stdev

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import partly_exact_mean
from ostrom.analysis.references import Own
from ostrom.data.rundata import RunData
from ostrom.features.evolution.evolution import evolve
from ostrom.features.evolution.tournament import Tournament, run_tournaments
from ostrom.ground.errors import UsageError
from ostrom.replications.coopeval.figures.cells import ALL_FOUR, FOUR, GAMES, Placed, apart

FITNESS, NORMALISED = "fitness_after_replicator", "fitness_after_replicator_normalised"
RANK = "deviation_rating_rank"
TYPES = 6
"""So many models has the paper; a rank means something among as many types only."""
SCALES = {name: (low, high) for name, _, low, high in GAMES.values()}


Key = tuple[str, str, str, str | None]
"""Mechanism (with its setting), game, measure and type; None: all types."""


@dataclass
class _Runs:
    """The values of one figure, a value per run, and the matches that they rest on."""

    values: list[float] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    matches: int = 0
    unfinished: int = 0


def evolution(found: Placed, data: RunData) -> tuple[list[Own], list[str]]:
    """The figures, and why some tournaments have none."""
    by = ["mechanism", "game", "seed", *(f for f in data.factors if f not in ("mechanism", "game", "seed"))]
    rows = [row for row in found.rows if row["game"] in found.payable]
    certain = Determinism(data.unit)
    figures: dict[Key, _Runs] = {}
    remarks: list[str] = []
    for one in run_tournaments(rows, data.unit, by):
        if not one.matches or one.society:
            continue
        mechanism, game = str(one.cell["mechanism"]), str(one.cell["game"])
        try:
            evolved = list(_evolved(one))
        except UsageError as error:
            where = f"{apart(mechanism)[0]} in {game}, run {one.cell['seed']}"
            remarks.append(f"Not compared: what evolves under {where}: {error}.")
            continue
        for measure, agent, value in evolved:
            of = figures.setdefault((mechanism, game, measure, agent), _Runs())
            of.values.append(value)
            of.exact.append(all(map(certain, one.numbers)))
            of.matches += len(one.matches)
            of.unfinished += one.unfinished
    return [*_by_game(figures), *_over_games(figures)], remarks


def _evolved(one: Tournament) -> Iterator[tuple[str, str | None, float]]:
    grown = evolve(one, "replicator").facts
    for agent, value in grown["fitness"].items():
        yield FITNESS, agent, value
    yield FITNESS, None, grown["mean_fitness"]
    if len(one.types) == TYPES:
        for agent, rank in evolve(one, "deviation").shares["rank"].items():
            yield RANK, agent, rank


def _by_game(figures: Mapping[Key, _Runs]) -> Iterator[Own]:
    for (mechanism, game, measure, agent), of in figures.items():
        name, setting = apart(mechanism)
        error = stdev(of.values) / sqrt(len(of.values)) if len(of.values) > 1 else None
        low, high = _interval([of], measure)
        yield Own(
            (name, game, setting, measure), agent, fmean(of.values), low, high, error, of.matches, _doubts(of)
        )  # fmt: skip


def _over_games(figures: Mapping[Key, _Runs]) -> Iterator[Own]:
    """The mean over the four games of what the runs of each give; fitness on the games' common scale."""
    for mechanism, measure, agent in dict.fromkeys((m, what, who) for m, _, what, who in figures):
        of = {
            g: figures[mechanism, g, measure, agent]
            for g in FOUR
            if (mechanism, g, measure, agent) in figures
        }
        if set(of) != FOUR:
            continue
        name, setting = apart(mechanism)
        if measure == FITNESS:
            of = {g: replace(r, values=[_on_scale(g, v) for v in r.values]) for g, r in of.items()}
        means = {game: fmean(runs.values) for game, runs in of.items()}
        low, high = _interval(list(of.values()), measure)
        total = _Runs(
            matches=sum(r.matches for r in of.values()), unfinished=sum(r.unfinished for r in of.values())
        )
        yield Own(
            (name, ALL_FOUR, setting, NORMALISED if measure == FITNESS else RANK), agent,
            fmean(means.values()), low, high, stdev(means.values()) / sqrt(len(means)), total.matches,
            _doubts(total),
        )  # fmt: skip


def _on_scale(game: str, fitness: float) -> float:
    low, high = SCALES[game]
    return (fitness - low) / (high - low)


def _interval(games: Sequence[_Runs], measure: str) -> tuple[float | None, float | None]:
    """The interval of a mean over runs, games weighing the same; the unit is a run."""
    inference, _ = partly_exact_mean(
        [value for of in games for value in of.values],
        [sure for of in games for sure in of.exact],
        [1 / len(of.values) for of in games for _ in of.values],
        strata=[place for place, of in enumerate(games) for _ in of.values],
        bounds=(1.0, float(TYPES)) if measure == RANK else (None, None),
        unit="run",
    )
    found = inference.limits()
    return found.low, found.high


def _doubts(of: _Runs) -> tuple[str, ...]:
    return (f"{of.unfinished} matches of the tournament are not finished",) if of.unfinished else ()
