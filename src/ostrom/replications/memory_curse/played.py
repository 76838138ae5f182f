"""Finished matches by player, with the columns by which the memory study splits its results.

Rewards are per round: the plain mean, and the discounted mean sum(d^(t-1) R_t) / sum(d^(t-1)) with d = 0.99
(Liu et al. 2026). Both come from the payoffs of the rounds, whatever the study calls a score.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ostrom.analysis.estimate import deviation
from ostrom.analysis.measure import Measure, Rows
from ostrom.data.rundata import RunData
from ostrom.features.words.traces.table import span_of
from ostrom.ground.values import grouped
from ostrom.reports.cells import why_nothing

DISCOUNT = 0.99
FORGIVER, GRUDGE_HOLDER = "forgiver", "grudge-holder"
WINDOW: Mapping[str, Any] = {"memory_kind": "window", "alike": True}
"""Matches in which all players remember the same number of last rounds."""
SPLITS = (
    "style", "history_length", "real_rounds", "memory_kind", "memory_mode", "alike", "company", "memory_role",
    "agent_type",
)  # fmt: skip
"""What results are split by: how it was asked (of a strategy, the level of the factor ``style``); the rounds
that the player sees and how many of them are real; its memory; whether all players see equally many rounds;
their history lengths as text; forgiver or grudge-holder; the type that players of different memory share."""


_PLAYED: WeakKeyDictionary[RunData, list[dict[str, Any]]] = WeakKeyDictionary()
"""Cached rows of each open run: every panel and measure needs them."""


def played(data: RunData) -> list[dict[str, Any]]:
    """Return every finished match by player. None means unknown, never zero.

    A player whose every action came from the policy chose nothing and is left out; ``players_without_answers`` counts
    those.
    """
    if data in _PLAYED:
        return _PLAYED[data]
    rows = _rows(data)
    lengths = grouped((row["match"], span_of(row["agent_memory"]).length) for row in rows)
    return _PLAYED.setdefault(
        data,
        [
            {
                **row,
                **_splits(row, lengths[row["match"]]),
                "agent_type": data.unit(row["match"]).players[row["player"] - 1].key,
            }
            for row in rows
            if row["by_policy"] != 1.0
        ],
    )


def players_without_answers(data: RunData) -> int:
    """Return the number of players of finished matches who never gave a readable action."""
    return sum(row["by_policy"] == 1.0 for row in _rows(data))


def why_empty(data: RunData, lacking: str) -> str:
    """Return why a panel is empty: nothing played, nothing chosen, or another design."""
    if any(row["cooperation"] is not None for row in played(data)):
        return lacking
    if many := players_without_answers(data):
        return (
            f"No answer could be read: all actions of {many} players in finished matches were given by the "
            "policy, so there is nothing that agents chose."
        )
    return why_nothing(data)


def by_policy(data: RunData) -> list[str]:
    """Return a warning if the policy chose in place of an agent."""
    worst = max((row["by_policy"] or 0.0 for row in played(data)), default=0.0)
    text = f"In some matches up to {100 * worst:.0f} % of a player's actions were given by the policy."
    return [text] if worst else []


def of_player(data: RunData, column: str) -> Rows:
    """Return the values of a measure: one column of ``played``, with the columns of ``SPLITS``."""
    columns = ("match", "player", *SPLITS)
    return ({**{c: row[c] for c in columns}, "value": row[column]} for row in played(data))


def deviations(data: RunData) -> Rows:
    """Return how far the cooperation of each match lies from the mean of its cell; matches with equal windows only."""
    matches = grouped(
        (row["match"], row)
        for row in played(data)
        if row["memory_kind"] == "window" and row["alike"] and row["cooperation"] is not None
    )
    cells: dict[tuple[Any, ...], list[tuple[dict[str, Any], float]]] = {}
    for rows in matches.values():
        if len({row["agent"] for row in rows}) == 1:
            levels = tuple(rows[0].get(name) for name in data.factors)
            cell = (*levels, rows[0]["game"], rows[0]["style"], rows[0]["history_length"], rows[0]["agent"])
            rate = math.fsum(row["cooperation"] for row in rows) / len(rows)
            cells.setdefault(cell, []).append((rows[0], rate))
    for of in cells.values():
        if len(of) > 1:
            mean, factor = math.fsum(rate for _, rate in of) / len(of), math.sqrt(len(of) / (len(of) - 1))
            for row, rate in of:
                yield {**{name: row[name] for name in ("match", "player", *SPLITS)}, "value": factor * abs(rate - mean)}


BY_POLICY = Measure(
    "memory_by_policy", "Actions given by the policy", "share",
    "The share of a player's actions that the study's policy gave.", lambda data: of_player(data, "by_policy"),
    columns=SPLITS,
)  # fmt: skip


def sd_over_rounds(data: RunData) -> dict[tuple[str, ...], float | None]:
    """Return the spread over rounds at history length 0, where rounds are independent games.

    The standard deviation, with n - 1, of the mean over players of every round, by measure, game, style and agent.
    """
    cells = grouped(
        (row["match"], (row["game"], row["style"], row["agent"]))
        for row in played(data)
        if row["memory_kind"] == "window" and row["alike"] and row["history_length"] == 0
    )
    alone = {match: of[0] for match, of in cells.items() if len(set(of)) == 1}
    columns = {
        "memory_cooperation": "cooperation", "memory_reward": "payoff", "memory_discounted_reward": "payoff",
    }  # fmt: skip
    values = grouped(
        ((name, *alone[row["match"]]), row[column])
        for row in data.records(
            "SELECT match, avg(cooperative::INTEGER) AS cooperation, avg(payoff) AS payoff FROM decisions "
            "WHERE kind = 'act' AND state = 'done' AND payoff IS NOT NULL GROUP BY match, round ORDER BY match, round"
        )
        for name, column in columns.items()
        if row["match"] in alone and row[column] is not None
    )
    return {key: deviation(of) for key, of in values.items()}


def composition(lengths: Sequence[int]) -> str:
    """Return the label of a table's history lengths.

    >>> composition((2, 2, 80))
    '2 x HL 2 + 1 x HL 80'
    """
    return " + ".join(f"{list(lengths).count(n)} x HL {n}" for n in sorted(set(lengths)))


def role(length: int | None, lengths: Sequence[int | None]) -> str | None:
    """Return forgiver or grudge-holder by the shortest and longest memory; None if all are equal.

    >>> role(2, (2, 2, 80)), role(10, (2, 10, 80)), role(80, (80, 80))
    ('forgiver', None, None)
    """
    numeric = [n for n in lengths if n is not None]
    if length is None or len(numeric) < len(lengths) or len(set(numeric)) < 2:
        return None
    return FORGIVER if length == min(numeric) else GRUDGE_HOLDER if length == max(numeric) else None


def _splits(row: Mapping[str, Any], lengths: Sequence[int | None]) -> dict[str, Any]:
    memory = span_of(row["agent_memory"])
    numeric = [n for n in lengths if n is not None]
    return {
        "style": row["agent_style"] or row.get("style"),
        "history_length": memory.length,
        "real_rounds": memory.length if memory.real is None else memory.real,
        "memory_kind": memory.name,
        "memory_mode": memory.mode,
        "alike": len(set(lengths)) == 1,
        "company": composition(numeric) if len(numeric) == len(lengths) else None,
        "memory_role": role(memory.length, lengths),
    }


def _rows(data: RunData) -> list[dict[str, Any]]:
    # Observers have no seat and no payoffs. The matches table holds the cooperation of all rounds,
    # those that a branch copied included.
    own = "" if data.counts is None else " REPLACE (p.own_cooperation AS cooperation)"
    return data.records(
        "WITH played AS (SELECT match, player, avg(payoff) AS mean_reward, "
        "avg(cooperative::INTEGER) AS own_cooperation, "
        "sum(payoff * power($1, round - 1)) / sum(power($1, round - 1)) AS discounted_reward, "
        "avg(invalid::INTEGER) AS by_policy FROM decisions "
        "WHERE kind = 'act' AND payoff IS NOT NULL AND state = 'done' GROUP BY match, player) "
        f"SELECT m.*{own}, p.mean_reward, p.discounted_reward, p.by_policy FROM matches m "
        "LEFT JOIN played p ON m.match = p.match AND m.player = p.player "
        "WHERE m.state = 'done' AND m.unit = 'match' AND m.seat IS NOT NULL ORDER BY m.match, m.player",
        DISCOUNT,
    )
