"""One record per finished match and player: what the memory study's measures are computed from.

Rewards are per round: the plain mean, and the discounted mean sum(d^(t-1) R_t) / sum(d^(t-1)) with d = 0.99
(Liu et al. 2026). Both come from the payoffs of the rounds, whatever the study calls a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ostrom.analysis.rundata import RunData
from ostrom.analysis.span import Span, span_of

DISCOUNT = 0.99
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Episode:
    """How one player fared in one finished match. None is unknown, never zero."""

    match: int
    seed: int
    player: int
    seat: int
    game: str
    agent: str
    style: str | None
    """How it was asked (reasoned, direct, ...); of a strategy, the level of the factor ``style``."""
    memory: Span
    cooperation: float | None
    reward: float | None
    discounted: float | None
    by_policy: float
    """The share of its actions that the study's policy gave because no answer could be read."""
    company: tuple[int | None, ...] = ()
    """The history lengths of all players of the match, by player."""
    factors: Mapping[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """How many rounds the player sees."""
        return self.memory.length

    @property
    def alike(self) -> bool:
        """Whether all players of the match see equally many rounds."""
        return len(set(self.company)) <= 1


def episodes(data: RunData, discount: float = DISCOUNT) -> list[Episode]:
    """Every finished match of a run, player by player.

    A player whose every action came from the policy chose nothing, so it is left out; ``wholly_by_policy``
    counts such players.
    """
    rows = _rows(data, discount)
    company: dict[int, list[int | None]] = {}
    for row in rows:
        company.setdefault(row["match"], []).append(span_of(row["agent_memory"]).length)
    known = set(data.factors)
    return [
        Episode(
            match=row["match"],
            seed=row["seed"],
            player=row["player"],
            seat=row["seat"],
            game=row["game"],
            agent=row["agent"],
            style=row["agent_style"] or row.get("style"),
            memory=span_of(row["agent_memory"]),
            cooperation=row["cooperation"],
            reward=row["mean_reward"],
            discounted=row["discounted_reward"],
            by_policy=row["by_policy"] or 0.0,
            company=tuple(company[row["match"]]),
            factors={name: row[name] for name in known},
        )
        for row in rows
        if row["by_policy"] != 1.0
    ]


def wholly_by_policy(data: RunData) -> int:
    """How many players of finished matches never gave a readable action."""
    return sum(row["by_policy"] == 1.0 for row in _rows(data, DISCOUNT))


def _rows(data: RunData, discount: float) -> list[dict[str, Any]]:
    # Players who only watch have no seat and no payoffs of their own.
    return data.records(
        "WITH played AS (SELECT match, player, avg(payoff) AS mean_reward, "
        "sum(payoff * power($1, round - 1)) / sum(power($1, round - 1)) AS discounted_reward, "
        "avg(invalid::INTEGER) AS by_policy FROM decisions "
        "WHERE kind = 'act' AND payoff IS NOT NULL AND state = 'done' GROUP BY match, player) "
        "SELECT m.*, p.mean_reward, p.discounted_reward, p.by_policy FROM matches m "
        "LEFT JOIN played p ON m.match = p.match AND m.player = p.player "
        "WHERE m.state = 'done' AND m.unit = 'match' AND m.seat IS NOT NULL ORDER BY m.match, m.player",
        discount,
    )


def grouped(rows: Iterable[Episode], key: Callable[[Episode], Key]) -> dict[Key, list[Episode]]:
    """Episodes by a key, in the order of the matches."""
    groups: dict[Key, list[Episode]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def by_match(rows: Sequence[Episode], value: str = "cooperation") -> dict[int, float]:
    """The mean of a value over the players of each match that have one."""
    known: dict[int, list[float]] = {}
    for row in rows:
        one = getattr(row, value)
        if one is not None:
            known.setdefault(row.match, []).append(one)
    return {match: sum(of) / len(of) for match, of in known.items()}
