"""Measures of what games by a rule state: facts of a round (``End.facts``), and that they are over (``End.over``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

from ostrom.analysis.measures._payments import OVER
from ostrom.data.rundata import RunData
from ostrom.games.game import Game
from ostrom.games.steps import can_end
from ostrom.ground.errors import UsageError

NUMBERS = (
    "SELECT match, round, TRY_CAST(json_extract_string(facts, '$.' || ?) AS DOUBLE) AS value "
    "FROM decisions WHERE facts IS NOT NULL ORDER BY match, round"
)
ROUNDING = 1e-9

TAKEN = (
    "WITH named AS (SELECT match, player, round, step, stage, amount FROM decisions WHERE kind = 'act' AND amount IS "
    "NOT NULL), stated AS (SELECT match, round, json_extract_string(facts, '$.taken_at') AS stage FROM decisions WHERE "
    "facts IS NOT NULL), stages AS (SELECT n.match, n.round, coalesce(any_value(s.stage), arg_min(n.stage, n.step)) AS "
    "stage FROM named n LEFT JOIN stated s ON s.match = n.match AND s.round = n.round GROUP BY n.match, n.round) "
    "SELECT n.match, n.player, n.round, sum(n.amount) AS taken FROM named n JOIN stages t ON t.match = n.match AND "
    "t.round = n.round AND t.stage = n.stage GROUP BY ALL ORDER BY n.match, n.player, n.round"
)
"""What a player takes in a round: what it names at the first stage with amounts, or at the one that the game states."""


def round_facts(data: RunData, name: str, measure: str) -> dict[tuple[int, int], float]:
    """A number that the game states at the end of each round, by match and round; refused if no game states it."""
    rows = data.records(NUMBERS, f'"{name}"')
    numbers = {(row["match"], row["round"]): row["value"] for row in rows if row["value"] is not None}
    if not numbers and data.records("SELECT 1 FROM decisions WHERE payoff IS NOT NULL LIMIT 1"):
        raise UsageError(
            f"measure {measure}: no game of {data.name} states {name!r} at the end of a round; "
            f'a game by a rule does so by End(payoffs, {{"{name}": ...}})'
        )
    return numbers


def revenue(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The mean price of an auction over the rounds of a match."""
    prices: dict[int, list[float]] = {}
    for (match, _), price in round_facts(data, "price", "revenue").items():
        prices.setdefault(match, []).append(price)
    for match, paid in prices.items():
        yield {"match": match, "value": fsum(paid) / len(paid)}


def stock(data: RunData) -> Iterable[Mapping[str, Any]]:
    """What a common stock holds before the harvest of each round."""
    for (match, number), stock in round_facts(data, "stock", "stock_by_round").items():
        yield {"match": match, "round": number, "value": stock}


def over_use(data: RunData) -> Iterable[Mapping[str, Any]]:
    """How often a player takes more than its part of what a stock can give for ever."""
    sustainable = round_facts(data, "sustainable", "over_use")
    counted: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(TAKEN):
        lasting = sustainable.get((row["match"], row["round"]))
        if lasting is not None:
            part = lasting / data.game(row["match"]).seats
            counted.setdefault((row["match"], row["player"]), []).append(row["taken"] > part + ROUNDING)
    for (match, player), over in counted.items():
        yield {"match": match, "player": player, "value": sum(over) / len(over)}


def early_ends(data: RunData, measure: str) -> dict[int, tuple[bool, int]]:
    """Whether its game ended a match (``End.over``, whatever the word), and after how many rounds, by match.

    Only of matches that are played for rounds and could have ended so: a match of the same game did, or matches
    that are tried out do (``can_end``). Refused where the run has no such match, as all would count as survived.
    """
    ends: dict[int, tuple[bool, int]] = {}
    rows = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over FROM matches "
        "GROUP BY match ORDER BY match"
    )
    units = {row["match"]: data.unit(row["match"]) for row in rows}
    rows = [row for row in rows if not units[row["match"]].mechanism.one_shot]
    ended = {_key(units[row["match"]].game) for row in rows if row["over"]}
    for row in rows:
        game = units[row["match"]].game
        if _key(game) in ended or can_end(game):
            ends[row["match"]] = (row["over"], row["rounds"])
    if units and not ends:
        raise UsageError(
            f"measure {measure}: no match of {data.name} can end early; that takes a game by a rule that returns "
            "End(..., over=...), played for rounds"
        )
    return ends


def _key(game: Game) -> str:
    return f"{game.name} {sorted(game.params.items())}"


def survival(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Whether a match that its game can end goes on to its last round."""
    for match, (over, _) in early_ends(data, "survival").items():
        yield {"match": match, "value": int(not over)}


def survival_time(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The rounds of a match until its game ends it, or until the last one."""
    for match, (_, rounds) in early_ends(data, "survival_time").items():
        yield {"match": match, "value": rounds}
