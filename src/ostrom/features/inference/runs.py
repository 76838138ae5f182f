"""Strategy inference on a run: shares of strategies and memory-one responses of every agent.

With the match as the unit, an agent may hold another strategy in every match, and its shares say how often it
held which. With the player as the unit, every agent keeps one strategy for good, and the shares say how many
agents hold which, as for the subjects of Dal Bo & Frechette (2011).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics import NotConverged, StatisticsError
from ostrom.analysis.statistics.counts import wilson
from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import BadSample, Numbers, binary, same_length
from ostrom.data.rundata import RunData
from ostrom.features.inference.frequencies import (
    LeftOut,
    StrategyFrequencies,
    StrategyWeight,
    Unit,
    leave_one_out,
    near_twins,
    strategy_frequencies,
)
from ostrom.features.inference.mixture import UNITS, PlayedMatch
from ostrom.features.inference.repeated_play import (
    DEFAULT_CANDIDATES,
    RepeatedMatch,
    build_candidates,
    prescribed_moves,
    repeated_matches,
)
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.streams import Streams
from ostrom.ground.values import grouped

STATES = ("first", "CC", "CD", "DC", "DD")
"""The states of memory one: the player's own last move, then the other's."""


@dataclass(frozen=True)
class PlayedPair:
    """Moves of one player and of the other in one match, 1 = cooperate, in the order of rounds."""

    match: Hashable
    own: Numbers
    other: Numbers
    copied: int = 0
    """The number of initial rounds copied from another match: they are history, not responses."""


@dataclass(frozen=True)
class StateResponse:
    """An agent's cooperation rate in one memory-one state; None for a state never reached.

    ``over_rounds`` takes rounds as independent (Wilson) and is shown for comparison; ``over_matches`` takes matches as
    independent and is the one to quote. It is None, with a ``note``, when fewer than 2 matches reach the state.
    """

    state: str
    cooperations: int
    n: int
    n_matches: int
    over_rounds: Estimate | None
    over_matches: Estimate | None
    note: str | None

    @property
    def estimate(self) -> float | None:
        """Return the share of rounds in this state in which the player cooperated; None if never reached."""
        return None if self.over_rounds is None else self.over_rounds.value

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        rounds, matches = self.over_rounds, self.over_matches
        return {
            "state": self.state, "estimate": self.estimate, "cooperations": self.cooperations, "n": self.n,
            "n_matches": self.n_matches, "wilson_ci_low": rounds and rounds.low,
            "wilson_ci_high": rounds and rounds.high,
            **({"level": rounds.level} if rounds else {}), "cluster_ci_low": matches and matches.low,
            "cluster_ci_high": matches and matches.high, "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True)
class ResponseTable:
    """All five states of one player."""

    responses: tuple[StateResponse, ...]
    n_matches: int
    unit: str

    def __getitem__(self, state: str) -> StateResponse:
        if state not in STATES:
            raise BadSample(f"unknown state {state!r} (allowed: {', '.join(STATES)})")
        return self.responses[STATES.index(state)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row of plain data per state."""
        return [line.as_dict() | {"unit": self.unit} for line in self.responses]


def response_table(played: Sequence[PlayedPair], *, level: float = 0.95) -> ResponseTable:
    """Count responses over matches; the unit of the cluster intervals is the match.

    >>> matches = [PlayedPair(m, [1, 0, 1], [0, 1, 1]) for m in range(4)]
    >>> table = response_table(matches)
    >>> table["CD"].over_rounds.value, table["CD"].n, table["DD"].over_rounds
    (0.0, 4, None)
    """
    if not played:
        raise BadSample("a response table needs at least one match (found none)")
    moves: list[float] = []
    states: list[str] = []
    matches: list[Hashable] = []
    for item in played:
        own, other = (
            binary(side, f"match {item.match!r}: {name} moves")
            for side, name in ((item.own, "own"), (item.other, "other"))
        )
        same_length(f"match {item.match!r}: own moves", own.size, "other moves", other.size)
        letters = np.where(own == 1, "C", "D"), np.where(other == 1, "C", "D")
        states += ["first", *(a + b for a, b in zip(letters[0][:-1], letters[1][:-1], strict=True))][item.copied :]
        moves += own.tolist()[item.copied :]
        matches += [item.match] * (own.size - item.copied)
    return ResponseTable(
        tuple(_response(state, moves, states, matches, level) for state in STATES), len(set(matches)), "match"
    )


def _response(
    state: str, moves: list[float], states: list[str], matches: list[Hashable], level: float
) -> StateResponse:
    reached = [index for index, item in enumerate(states) if item == state]
    if not reached:
        return StateResponse(state, 0, 0, 0, None, None, "never reached")
    at, inside = [moves[index] for index in reached], [matches[index] for index in reached]
    rounds = wilson(int(sum(at)), len(at), unit="round", level=level)
    limits, count = mean_of(at, bounds=(0.0, 1.0), clusters=inside).limits(level), len(set(inside))
    over_matches = (
        Estimate({}, limits.value, limits.low, limits.high, count, "match", limits.method, limits.note, level)
        if limits.low is not None and limits.high is not None
        else None
    )
    return StateResponse(
        state, int(sum(at)), len(at), count, rounds, over_matches,
        (limits.note or None) if over_matches is None else None,
    )  # fmt: skip


RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class AgentFrequencies:
    """The shares of strategies of one agent, or over all agents (``agent`` is None)."""

    within: Mapping[str, Any]
    agent: str | None
    matches: int
    frequencies: StrategyFrequencies | None
    """None where the data allow no estimate with an error; a note gives the reason."""
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    @property
    def ranked(self) -> list[StrategyWeight]:
        """Return the weights, the largest first; an empty list if there is no estimate."""
        weights = () if self.frequencies is None else self.frequencies.weights
        return sorted(weights, key=lambda w: -w.share.value)

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "within": dict(self.within),
            "agent": self.agent,
            "matches": self.matches,
            "frequencies": None if self.frequencies is None else self.frequencies.as_dict(),
            "leave_one_out": [{**asdict(line), "strategies": list(line.strategies)} for line in self.left_out],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Responses:
    """The response table of one agent."""

    within: Mapping[str, Any]
    agent: str
    table: ResponseTable

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {"within": dict(self.within), "agent": self.agent, "responses": self.table.rows()}


@dataclass(frozen=True, slots=True)
class RunInference:
    """All estimates and response tables of a run."""

    unit: str
    candidates: tuple[str, ...]
    resamples: int
    matches: int
    estimates: tuple[AgentFrequencies, ...]
    responses: tuple[Responses, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "unit": self.unit,
            "candidates": list(self.candidates),
            "resamples": self.resamples,
            "matches": self.matches,
            "estimates": [e.as_dict() for e in self.estimates],
            "response_tables": [r.as_dict() for r in self.responses],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Seat:
    """One player of one match."""

    match: RepeatedMatch
    seat: int

    @property
    def agent(self) -> str:
        return self.match.agents[self.seat]


class Unscripted(NamedTuple):
    """The non-scripted agents of finished matches, and whether scripts were left out."""

    agents: tuple[str, ...]
    scripts: bool


def unscripted(data: RunData) -> Unscripted:
    """Return the agents to estimate by default: all but scripts, whose strategies are already known."""
    rows = data.records(
        "SELECT agent, bool_and(strategy IS NOT NULL) AS script FROM matches "
        "WHERE state = 'done' AND unit = 'match' AND seat IS NOT NULL GROUP BY agent ORDER BY min(match)"
    )
    agents = tuple(row["agent"] for row in rows if not row["script"])
    return Unscripted(agents, bool(agents) and len(agents) < len(rows))


def infer_strategies(
    data: RunData,
    *,
    agents: Sequence[str] = (),
    candidates: Sequence[str] = DEFAULT_CANDIDATES,
    by: Sequence[str] = (),
    unit: Unit = "match",
    resamples: int = RESAMPLES,
    compare: bool = True,
) -> RunInference:
    """Estimate the strategies of a run's agents (all, or those named), for each level of the columns ``by``.

    Other factors are pooled. ``compare`` refits without each candidate in turn, which takes most time.
    """
    if unit not in UNITS:
        raise UsageError(f"unit {unit!r} (allowed: {', '.join(UNITS)})")
    if resamples < 100:
        raise UsageError(f"resamples {resamples} (allowed: at least 100)")
    strategies = build_candidates(candidates)
    played_matches = repeated_matches(data, by)
    seats = [_Seat(match, seat) for match in played_matches.matches for seat in (0, 1)]
    met = list(dict.fromkeys(seat.agent for seat in seats))
    UnknownName.refuse("agent", agents, met)
    seats = [seat for seat in seats if not agents or seat.agent in agents]
    cells = grouped((tuple(seat.match.within.values()), seat) for seat in seats)
    estimates, tables = list[AgentFrequencies](), list[Responses]()
    cache: dict[Any, dict[str, tuple[float, ...]]] = {}

    def played(seat: _Seat) -> PlayedMatch:
        m = seat.match
        # Scripts repeat themselves, so equal histories in equal games are computed once.
        key = (id(m.game), seat.seat, repr(m.told), tuple(r.actions for r in m.rounds))
        if key not in cache:
            cache[key] = prescribed_moves(
                strategies, m.game, seat.seat, m.rounds, mechanism=m.mechanism, facts=m.told, original=m.original
            )
        return PlayedMatch(
            m.match,
            seat.agent if unit == "player" else seat.seat,
            m.moves(seat.seat)[m.copied :],
            {name: moves[m.copied :] for name, moves in cache[key].items()},
        )

    for members in cells.values():
        within = members[0].match.within
        own = grouped((seat.agent, seat) for seat in sorted(members, key=lambda seat: met.index(seat.agent)))
        groups: Mapping[Any, list[_Seat]] = {None: members} if unit == "player" else own
        estimates += [
            _estimate(within, agent, [played(s) for s in theirs], unit, resamples, compare)
            for agent, theirs in groups.items()
        ]
        for name, theirs in own.items():
            pairs = [PlayedPair(s.match.match, s.match.moves(s.seat), s.match.moves(1 - s.seat), s.match.copied)
                     for s in theirs]  # fmt: skip
            tables.append(Responses(within, name, response_table(pairs)))
    matches = len({seat.match.match for seat in seats})
    return RunInference(
        unit, tuple(candidates), resamples, matches, tuple(estimates), tuple(tables),
        (*played_matches.notes, *_noise(played_matches.matches)),
    )  # fmt: skip


def _estimate(
    within: Mapping[str, Any], agent: str | None, played: list[PlayedMatch], unit: Unit, resamples: int, compare: bool
) -> AgentFrequencies:
    matches, notes = len({item.match for item in played}), list[str]()
    units = len({item.player for item in played}) if unit == "player" else matches
    if units < 2:
        what = "agent" if unit == "player" else "match"
        notes.append(f"only 1 {what}: no error can be estimated, so no shares are given")
        return AgentFrequencies(within, agent, matches, None, (), tuple(notes))
    rng = Streams(0, len(played)).generator(0, 0, "inference")
    try:
        frequencies = strategy_frequencies(played, unit=unit, rng=rng, resamples=resamples)
    except NotConverged as error:
        return AgentFrequencies(within, agent, matches, None, (), (str(error),))
    if frequencies.n_units < len(frequencies.weights):
        notes.append(
            f"{frequencies.n_units} units for {len(frequencies.weights)} strategies: read the weights with care"
        )
    weight_of = {name: line.share.value for line in frequencies.weights for name in line.strategies}
    loose = [line.name for line in frequencies.weights if not line.determined]
    if loose:
        notes.append(f"only the sum of these weights is determined: {'; '.join(loose)}")
    twins = [
        f"{one} and {other} ({apart} of {moves} moves)" for one, other, apart, moves in near_twins(played)
        if max(weight_of.get(one, 0.0), weight_of.get(other, 0.0)) > 0
    ]  # fmt: skip
    if twins:
        notes.append(f"hardly told apart: {'; '.join(twins[:10])}{'; ...' if len(twins) > 10 else ''}")
    left: tuple[LeftOut, ...] = ()
    if compare:
        try:
            left = leave_one_out(played, unit=unit)
        except StatisticsError as error:
            notes.append(str(error))
    return AgentFrequencies(within, agent, matches, frequencies, left, tuple(notes))


def _noise(matches: Sequence[RepeatedMatch]) -> tuple[str, ...]:
    """Return notes on matches in which the mechanism changes moves: the method counts them as the player's errors."""
    levels = sorted({m.noise for m in matches})
    if levels[-1] == 0.0:
        return ()
    noise = ", ".join(f"{level:g}" for level in levels)
    return (f"the mechanism changes moves by accident (noise {noise}): error rates include this",)
