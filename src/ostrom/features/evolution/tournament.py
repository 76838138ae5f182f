"""A tournament: the scored matches of agent types in one cell of a study, or in one file of payoffs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostrom.engine.plan import Unit
from ostrom.features.evolution.tensor import PayoffTensor, ScoredMatch, mean_scores, payoff_tensor
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.registry import Registry
from ostrom.ground.values import grouped
from ostrom.mechanisms.base import match_score

NO_TENSOR = (
    "all types live in one society and meet each other in turn: there are averages, but no payoff against "
    "single opponents for a population to evolve on"
)


@dataclass(frozen=True)
class Tournament:
    """Scored matches with what tells them apart from other tournaments (``cell``)."""

    cell: Mapping[str, Any]
    types: tuple[str, ...]
    matches: tuple[ScoredMatch, ...]
    society: bool = False
    unfinished: int = 0
    """Matches of this tournament that are not finished and have no part in it."""
    numbers: tuple[int, ...] = ()
    """Where the matches come from: their numbers in the run."""
    configurations: Mapping[str, Any] = field(default_factory=dict)
    """What the types of a foreign file are."""

    def means(self) -> dict[str, float]:
        """Average score of every type over all its matches and seats."""
        found = mean_scores(self.matches)
        return {name: found[name] for name in self.types if name in found}

    def matches_of(self) -> dict[str, int]:
        """In how many matches every type sat."""
        return {name: sum(name in match.types for match in self.matches) for name in self.types}

    def tensor(self) -> PayoffTensor:
        """The payoff tensor, or the reason why there is none (UsageError)."""
        if self.society:
            raise UsageError(NO_TENSOR)
        return payoff_tensor(self.matches, self.types)


@dataclass(frozen=True)
class PayoffFiles:
    """What was read, what is no payoff file, and what is one but cannot be used (with the reason)."""

    tournaments: tuple[Tournament, ...]
    others: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


payoff_readers: Registry[PayoffFiles] = Registry(
    "reader of payoff files", None, "READER", "ostrom.payoff_readers", folder="payoff_readers"
)
"""Readers of payoff files that a published study releases: ``read(paths, discount=, seats=)``."""


def read_payoff_files(paths: Sequence[Path], **how: Any) -> PayoffFiles:
    """Read payoff files by the first reader that takes them; what the last one says where none does."""
    trouble: UsageError | None = None
    for name in payoff_readers:
        try:
            return payoff_readers.get(name)(paths, **how)
        except UsageError as error:
            trouble = error
    raise trouble or UsageError("no installed replication reads payoff files")


def run_tournaments(
    rows: Iterable[Mapping[str, Any]],
    unit: Callable[[int], Unit],
    by: Sequence[str],
    *,
    expected: bool = False,
) -> list[Tournament]:
    """The tournaments of a run, one for every combination of the columns ``by`` of its matches table.

    A type is an agent's whole configuration: one name for two configurations becomes two types. ``expected``
    takes the exact expectation of the scores where the odds are known, and refuses where they are not.
    """
    played = [row for row in rows if row["unit"] == "match"]
    for name in by if played else ():
        if name not in played[0]:
            raise UnknownName("column of matches", name, played[0])
    cells = grouped((tuple(row[name] for name in by), (row["match"], row)) for row in played)
    return [
        _tournament(dict(zip(by, key, strict=True)), grouped(of), unit, expected) for key, of in cells.items()
    ]


def _tournament(
    cell: Mapping[str, Any],
    matches: Mapping[int, list[Mapping[str, Any]]],
    unit: Callable[[int], Unit],
    expected: bool,
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
    """The players that have a part in the game, in order; those who only watch are left out."""
    watching = {place + 1 for place, one in enumerate(unit.players) if one.observes}
    return sorted((p for p in players if p["player"] not in watching), key=lambda p: int(p["player"]))


def type_names(players: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """A name for every configuration, in the order of appearance; namesakes are told apart by their hash.

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
        # The formula would put all weight on the last round, which nobody means by "no discounting".
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
        raise UsageError(
            f"no normalised score exists when equilibrium and cooperation pay the same ({equilibrium!r})"
        )
    return (score - equilibrium) / (cooperation - equilibrium)
