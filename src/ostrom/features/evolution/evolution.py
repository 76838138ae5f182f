"""Which types survive: a tournament under one of several dynamics, each with the settings it takes.

A tournament is the scored matches of agent types in one cell of a study, or in one file of payoffs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ostrom.data.tables import safe_rows, write_csv, write_parquet
from ostrom.engine.plan import Unit
from ostrom.features.evolution.process import (
    Fermi,
    Moran,
    Process,
    alpha_rank,
    alpha_sweep,
    deviation_rating,
    rare_mutation_shares,
    simulate,
)
from ostrom.features.evolution.replicator import continuous_replicator, exponential_replicator, sample_basins
from ostrom.features.evolution.tensor import (
    Floats,
    PayoffTensor,
    ScoredMatch,
    Trajectory,
    fitness,
    given_start,
    mean_scores,
    payoff_tensor,
    random_start,
    uniform_start,
)
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.files import draft_of, write_atomically
from ostrom.ground.registry import Registry
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.values import grouped
from ostrom.mechanisms.base import match_score

NO_TENSOR = (
    "all types live in one society and meet each other in turn: there are averages, but no payoff against "
    "single opponents for a population to evolve on"
)


@dataclass(frozen=True)
class Tournament:
    """The scored matches of one tournament, with the levels (``cell``) that distinguish it from others."""

    cell: Mapping[str, Any]
    types: tuple[str, ...]
    matches: tuple[ScoredMatch, ...]
    society: bool = False
    unfinished: int = 0
    """The number of unfinished matches, which are excluded."""
    numbers: tuple[int, ...] = ()
    """The numbers of the finished matches in the run; empty for payoff files."""
    configurations: Mapping[str, Any] = field(default_factory=dict)
    """The configuration of each type as stated in a payoff file; empty for a run."""

    def means(self) -> dict[str, float]:
        """Return the average score of every type over all its matches and seats."""
        scores = mean_scores(self.matches)
        return {name: scores[name] for name in self.types if name in scores}

    def tensor(self) -> PayoffTensor:
        """Return the payoff tensor; raise UsageError with the reason if there is none."""
        if self.society:
            raise UsageError(NO_TENSOR)
        return payoff_tensor(self.matches, self.types)


@dataclass(frozen=True)
class PayoffFiles:
    """The tournaments read, the files that are no payoff files, and the unusable payoff files with the reason."""

    tournaments: tuple[Tournament, ...]
    others: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


payoff_readers: Registry[PayoffFiles] = Registry(
    "reader of payoff files", None, "READER", "ostrom.payoff_readers", folder="payoff_readers"
)
"""Readers of payoff files that a published study releases: ``read(paths, discount=, seats=)``."""


def read_payoff_files(paths: Sequence[Path], **how: Any) -> PayoffFiles:
    """Read payoff files with the first reader that accepts them; raise the last reader's error if none does."""
    trouble: UsageError | None = None
    for name in payoff_readers:
        try:
            return payoff_readers.get(name)(paths, **how)
        except UsageError as error:
            trouble = error
    raise trouble or UsageError("no installed replication reads payoff files")


def run_tournaments(
    rows: Iterable[Mapping[str, Any]], unit: Callable[[int], Unit], by: Sequence[str], *, expected: bool = False
) -> list[Tournament]:
    """Return the tournaments of a run, one for every combination of the columns ``by`` of its matches table.

    A type is an agent's whole configuration: one name for two configurations becomes two types. ``expected``
    uses the exact expectation of the scores, and refuses a match in which an agent's odds are unknown.
    """
    played = [row for row in rows if row["unit"] == "match"]
    for name in by if played else ():
        if name not in played[0]:
            raise UnknownName("column of matches", name, played[0])
    cells = grouped((tuple(row[name] for name in by), (row["match"], row)) for row in played)
    return [_tournament(dict(zip(by, key, strict=True)), grouped(of), unit, expected) for key, of in cells.items()]


def _tournament(
    cell: Mapping[str, Any], matches: Mapping[int, list[Mapping[str, Any]]], unit: Callable[[int], Unit], expected: bool
) -> Tournament:
    done = {number: seated(players, unit(number)) for number, players in matches.items() if is_done(players)}
    names = type_names([player for players in done.values() for player in players])
    column = "expected_score" if expected else "score"
    scored = []
    for number, players in done.items():
        unknown = [player["agent"] for player in players if player[column] is None]
        if unknown:
            why = "odds that are not known" if expected else "no score"
            raise RunError(f"match {number}: {unknown[0]} has {why}, so the match has no {column}")
        scored.append(
            ScoredMatch(
                tuple(names[player["agent"], player["agent_id"]] for player in players),
                tuple(float(player[column]) for player in players),
            )
        )
    return Tournament(
        cell,
        tuple(dict.fromkeys(names.values())),
        tuple(scored),
        any(unit(number).mechanism.society for number in done),
        len(matches) - len(done),
        tuple(done),
    )


def is_done(players: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a match is finished."""
    return bool(players[0]["state"] == "done")


def seated(players: Sequence[Mapping[str, Any]], unit: Unit) -> list[Mapping[str, Any]]:
    """Return the players that take part in the game, in order; observers are left out."""
    watching = {place + 1 for place, one in enumerate(unit.players) if one.observes}
    return sorted((p for p in players if p["player"] not in watching), key=lambda p: int(p["player"]))


def type_names(players: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Map every agent and configuration to a type name; agents with one name and several configurations get a suffix.

    >>> type_names([{"agent": "m", "agent_id": "a1"}, {"agent": "m", "agent_id": "b2"}])
    {('m', 'a1'): 'm #a1', ('m', 'b2'): 'm #b2'}
    """
    met = list(dict.fromkeys((str(p["agent"]), str(p["agent_id"])) for p in players))
    agents = [agent for agent, _ in met]
    return {(a, i): a if agents.count(a) == 1 else f"{a} #{i}" for a, i in met}


def discounted_mean(payoffs: Sequence[float], discount: float) -> float:
    """Discounted mean of one seat's payoffs, first round first.

    >>> discounted_mean([4.0, 0.0, 2.0], 0.5)
    2.5
    """
    _check_played(payoffs)
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"the discount must lie in [0, 1) (found {discount!r})")
    if discount == 1.0 and len(payoffs) > 1:
        # The formula would put all weight on the last round, which is not what "no discounting" means.
        raise UsageError(
            f"a discount of 1 gives {len(payoffs)} rounds no discounted mean; ask for the plain mean instead"
        )
    return match_score(payoffs, discount)


def plain_mean(payoffs: Sequence[float]) -> float:
    """Undiscounted mean of one seat's payoffs.

    >>> plain_mean([4.0, 0.0, 2.0])
    2.0
    """
    _check_played(payoffs)
    return match_score(payoffs)


def _check_played(payoffs: Sequence[float]) -> None:
    if not payoffs:
        raise UsageError("a match needs at least one round to have a score (found 0)")


def normalised(score: float, *, equilibrium: float, cooperation: float) -> float:
    """Score on the scale where the all-defect equilibrium is 0 and full cooperation is 1.

    >>> normalised(1.5, equilibrium=1.0, cooperation=2.0)
    0.5
    """
    if cooperation == equilibrium:
        raise UsageError(f"no normalised score exists when equilibrium and cooperation pay the same ({equilibrium!r})")
    return (score - equilibrium) / (cooperation - equilibrium)


ALPHAS = tuple(float(10.0**power) for power in range(-3, 5))
"""The rising intensities that alpha-rank tries where no alpha is set."""


@dataclass(frozen=True)
class DynamicsResult:
    """The outcome of one tournament: ``shares`` has the named results per type, ``facts`` everything else."""

    shares: Mapping[str, Mapping[str, float]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    path: Trajectory | None = None


@dataclass(frozen=True)
class _Case:
    """A tournament prepared as input of a dynamics, with all settings that the dynamics takes."""

    tensor: PayoffTensor
    settings: Mapping[str, Any]
    streams: Streams

    def start(self) -> Floats:
        start, types = self.settings["start"], self.tensor.types
        if isinstance(start, Mapping):
            return given_start(start, types)
        if start == "uniform":
            return uniform_start(len(types))
        if start == "random":
            return random_start(len(types), self.streams.generator(0, 0, "start"))
        raise UsageError(f"start {start!r} (allowed: uniform, random, name=share,name=share)")

    def named(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.tensor.types, values.tolist(), strict=True))


DEFAULTS: Mapping[str, Any] = {
    "eta": 0.1, "steps": 1000, "tolerance": 1e-6, "start": "uniform", "seed": 0, "population": 50,
    "selection": 0.1, "mapping": "exponential", "beta": 1.0, "mutation": 0.0, "alpha": None,
    "duration": 100.0, "samples": 500,
}  # fmt: skip
"""All settings of dynamics, in the order of the command's options, with their defaults."""


def _along(case: _Case, replicator: Callable[..., Trajectory], *names: str) -> DynamicsResult:
    """Return where a replicator leads that takes the named settings."""
    path = replicator(case.tensor.values, case.start(), **{name: case.settings[name] for name in names})
    earned = case.tensor.fitness(path.final / path.final.sum())
    facts = {
        "steps": path.steps,
        "settled": path.settled,
        "mean_fitness": float(path.final @ earned),
        "fitness": case.named(earned),
    }
    return DynamicsResult({"final": case.named(path.final)}, facts, path)


def _finite(case: _Case, process: Process) -> DynamicsResult:
    """Return the exact long-run shares under rare mutations, and one simulated path."""
    size, values = case.settings["population"], case.tensor.values
    path = simulate(
        values, process, _rounded_counts(case.start(), size), case.streams.generator(0, 0, "path"),
        steps=case.settings["steps"], mutation=case.settings["mutation"],
    )  # fmt: skip
    shares = {"long_run": case.named(rare_mutation_shares(values, process, size)), "final": case.named(path.final)}
    return DynamicsResult(shares, {"steps": path.steps, "settled": path.settled}, path)


def _rounded_counts(shares: Floats, size: int) -> tuple[int, ...]:
    """Return whole counts per type: shares rounded down, the rest goes to the largest remainders."""
    if size < 2:
        raise UsageError(f"a finite population needs at least 2 individuals (found {size})")
    counts = np.floor(shares * size + 1e-9).astype(int)
    for kind in np.argsort(-(shares * size - counts), kind="stable")[: size - int(counts.sum())]:
        counts[kind] += 1
    return tuple(int(count) for count in counts)


def _alpha_rank(case: _Case) -> DynamicsResult:
    alpha, size = case.settings["alpha"], case.settings["population"]
    if alpha is not None:
        return DynamicsResult(
            {"mass": case.named(alpha_rank(case.tensor.values, alpha=alpha, population=size))}, {"alpha": alpha}
        )
    sweep = alpha_sweep(case.tensor.values, ALPHAS, population=size)
    return DynamicsResult(
        {"mass": case.named(sweep.masses[-1])},
        {"alpha": ALPHAS[-1], "settled_at": sweep.settled_at, "settled": sweep.settled_at is not None},
    )


def _deviation(case: _Case) -> DynamicsResult:
    rated = deviation_rating(case.tensor.values)
    return DynamicsResult({"rating": case.named(rated.ratings), "rank": case.named(rated.ranks())})


def _basins(case: _Case) -> DynamicsResult:
    steps = case.settings["steps"]
    basins = sample_basins(
        case.tensor.values, case.streams.generator(0, 0, "basins"), samples=case.settings["samples"],
        eta=case.settings["eta"], steps=steps, window=min(1000, steps),
    )  # fmt: skip
    types = case.tensor.types
    attractors = [
        {
            "kind": a.kind,
            "types": [types[i] for i in a.support],
            "centre": case.named(a.centre),
            "share": a.share,
            "ci": [a.low, a.high],
        }
        for a in basins.attractors
    ]
    expected = sum(a.share * a.centre for a in basins.attractors)
    return DynamicsResult({"expected": case.named(np.asarray(expected))}, {"attractors": attractors})


_FLOW = frozenset({"start", "seed", "tolerance"})
_FINITE = frozenset({"start", "seed", "steps", "population", "mutation"})

DYNAMICS: Mapping[str, tuple[Callable[[_Case], DynamicsResult], frozenset[str], Mapping[str, Any]]] = {
    "replicator": (
        lambda case: _along(case, exponential_replicator, "eta", "steps", "tolerance"),
        _FLOW | {"eta", "steps"},
        {},
    ),
    "continuous": (lambda case: _along(case, continuous_replicator, "duration", "tolerance"), _FLOW | {"duration"}, {}),
    "moran": (
        lambda case: _finite(case, Moran(case.settings["selection"], case.settings["mapping"])),
        _FINITE | {"selection", "mapping"},
        {},
    ),
    "fermi": (lambda case: _finite(case, Fermi(case.settings["beta"])), _FINITE | {"beta"}, {}),
    "alpha-rank": (_alpha_rank, frozenset({"alpha", "population"}), {}),
    "deviation": (_deviation, frozenset(), {}),
    "basins": (_basins, frozenset({"eta", "steps", "samples", "seed"}), {"steps": 5000}),
}
"""The function of every dynamics, the names of its settings, and its own defaults in place of ``DEFAULTS``."""


def check_settings(dynamics: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a dynamics, defaults included; refuse a setting that it does not take.

    >>> check_settings("alpha-rank", {"population": 20})
    {'alpha': None, 'population': 20}
    """
    if dynamics not in DYNAMICS:
        raise UnknownName("dynamics", dynamics, DYNAMICS)
    _, takes, own = DYNAMICS[dynamics]
    for name in settings:
        if name not in takes:
            listed = ", ".join(sorted(takes)) or "no settings"
            raise UsageError(f"dynamics {dynamics} takes no setting {name!r} (it takes: {listed})")
    return {name: settings.get(name, own.get(name, DEFAULTS[name])) for name in sorted(takes)}


def replicator_paths(values: Floats, starts: Floats, *, eta: float = 0.1, steps: int = 1000) -> Floats:
    """Return the paths of the exponential replicator from many starts, without a stopping rule: [step, start, type]."""
    x = np.array(starts, dtype=np.float64)
    states = [x]
    for _ in range(steps):
        f = fitness(values, x)
        advantage = eta * (f - np.sum(x * f, axis=1, keepdims=True))
        # A term common to all types cancels; without it exp() cannot overflow.
        grown = x * np.exp(advantage - advantage.max(axis=1, keepdims=True))
        x = grown / grown.sum(axis=1, keepdims=True)
        states.append(x)
    return np.array(states)


def evolve(
    tournament: Tournament, dynamics: str = "replicator", settings: Mapping[str, Any] | None = None
) -> DynamicsResult:
    """Run a dynamics on the payoffs of a tournament; raises UsageError without a payoff tensor.

    Random draws depend on the seed and the tournament's cell alone.
    """
    resolved = check_settings(dynamics, settings or {})
    cell = orjson.dumps(dict(tournament.cell), option=orjson.OPT_SORT_KEYS, default=str).decode()
    return DYNAMICS[dynamics][0](
        _Case(tournament.tensor(), resolved, Streams(int(resolved.get("seed", 0)), key_of(f"evolve:{cell}")))
    )


RESULTS = ("long_run", "final", "mass", "rating", "rank", "expected")
"""The results per type that a dynamics can give, in the order of the table columns."""


def entry_of(
    tournament: Tournament, dynamics: str, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], DynamicsResult | None]:
    """Return a tournament and its outcome as plain data; ``why`` is the reason if there is no outcome."""
    evolved, why = None, None
    try:
        if not tournament.matches:
            raise UsageError(f"no match is finished ({tournament.unfinished} are not)")
        evolved = evolve(tournament, dynamics, settings)
    except UsageError as error:
        why = str(error)
    configurations = {name: dict(of) for name, of in tournament.configurations.items()}
    return {
        "cell": dict(tournament.cell),
        "types": list(tournament.types),
        "matches": len(tournament.matches),
        "matches_of": {name: sum(name in match.types for match in tournament.matches) for name in tournament.types},
        "unfinished": tournament.unfinished,
        "society": tournament.society,
        "mean": tournament.means(),
        **({name: dict(of) for name, of in evolved.shares.items()} if evolved else {}),
        **(evolved.facts if evolved else {}),
        "why": why,
        **({"configurations": configurations} if configurations else {}),
    }, evolved


def result_rows(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one row of results per tournament and type."""
    met = [name for name in RESULTS if any(name in entry for entry in entries)]
    return (
        {
            **entry["cell"],
            "type": kind,
            "matches": entry["matches_of"].get(kind, 0),
            "mean": entry["mean"].get(kind),
            **{name: entry.get(name, {}).get(kind) for name in met},
        }
        for entry in entries
        for kind in entry["types"]
    )


def write_evolution(
    out: Path,
    format: str,
    report: dict[str, Any],
    tournaments: Sequence[Tournament],
    evolved: Sequence[DynamicsResult | None],
    *,
    safe: bool = False,
) -> None:
    """Write the whole report as JSON, the results per type and the paths as tables."""
    writer = write_csv if format == "csv" else write_parquet
    kinds: dict[str, type] = {
        **dict.fromkeys(["mean", "share", "time", *RESULTS], float), **dict.fromkeys(["matches", "step", "seed"], int),
    }  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
        text = orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str)
        write_atomically(out / "evolution.json", text + b"\n")
        for name, rows in (
            ("evolution", result_rows(report["tournaments"])),
            ("trajectories", path_rows(tournaments, evolved)),
        ):
            path = out / f"{name}.{format}"
            draft = draft_of(path)
            writer(draft, safe_rows(rows) if safe else rows, kinds)
            draft.replace(path)
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from None


def path_rows(tournaments: Sequence[Tournament], evolved: Sequence[DynamicsResult | None]) -> Iterator[dict[str, Any]]:
    """Yield the share of each type at each step of each tournament, one row each."""
    return (
        {**tournament.cell, "step": step, "time": float(time), "type": kind, "share": float(share)}
        for tournament, result in zip(tournaments, evolved, strict=True)
        if result is not None and result.path is not None
        for step, (time, shares) in enumerate(zip(result.path.times, result.path.states, strict=True))
        for kind, share in zip(tournament.types, shares, strict=True)
    )
