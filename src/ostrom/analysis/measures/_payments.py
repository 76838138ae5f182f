"""Measures of payoffs: totals, efficiency and equality."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from math import fsum
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.data.rundata import RunData
from ostrom.games.equilibria import best_responses
from ostrom.games.game import Game
from ostrom.games.steps import can_end
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped

PAID = "SELECT match, player, sum(payoff) AS total FROM rounds GROUP BY match, player ORDER BY match, player"
OVER = "json_extract_string(any_value(facts), '$.over')"
"""The reason why the game ended a match (``End.over``), as SQL over the rows of a match; NULL if it did not."""


def cooperation(data: RunData, of: str) -> Iterable[Mapping[str, Any]]:
    """Return each player's share of cooperative actions; the matches table has it for whole matches."""
    own = "SELECT match, player, avg(cooperative::INTEGER) AS cooperation FROM rounds GROUP BY match, player"
    source = "matches" if data.counts is None else f"({own})"
    return data.records(
        f"SELECT match, player, {of} AS value FROM {source} WHERE cooperation IS NOT NULL ORDER BY match, player"
    )


def paid_by_the_game(data: RunData) -> Callable[[int], Bounds]:
    """Return the smallest and the largest payoff of each match's game.

    Payments that a mechanism adds (a contract, a fine) can leave that range; then no bound is known. Of a match that
    has not been played nothing was paid yet: its bounds are those of its game.
    """
    payments = {
        row["match"]: (row["game"], row["mechanism"], row["low"], row["high"])
        for row in data.records(
            "SELECT match, any_value(game) AS game, any_value(mechanism) AS mechanism, "
            "min(payoff) AS low, max(payoff) AS high FROM rounds GROUP BY match"
        )
    }

    @cache
    def of_game(match: int) -> Bounds:
        try:
            payoffs = data.game(match).payoffs
        except UsageError:  # tables without a study have no games
            return None, None
        return float(payoffs.min()), float(payoffs.max())

    def within(match: int) -> bool:
        low, high = of_game(match)
        _, _, least, most = payments[match]
        return low is not None and high is not None and low <= least and most <= high and low < high

    added = {(game, mechanism) for match, (game, mechanism, *_) in payments.items() if not within(match)}

    def bounds(match: int) -> Bounds:
        return (None, None) if match in payments and payments[match][:2] in added else of_game(match)

    return bounds


def score_range(data: RunData) -> Callable[[int], Bounds]:
    """Return the score bounds that a match's mechanism declares, independent of observed scores."""

    @cache
    def of_match(match: int) -> Bounds:
        try:
            unit = data.unit(match)
        except UsageError:  # tables without a study
            return None, None
        declared = unit.mechanism.score_range(unit.game)
        return (None, None) if declared is None or declared[0] >= declared[1] else declared

    return of_match


def most_rounds(data: RunData) -> Callable[[int], float | None]:
    """Return the most rounds of a match, as its mechanism declares."""

    @cache
    def of_match(match: int) -> float | None:
        try:
            return float(data.unit(match).mechanism.rounds)  # type: ignore[attr-defined]
        except (UsageError, AttributeError, TypeError):  # tables without a study, or a mechanism without rounds
            return None

    return of_match


def totals(data: RunData) -> dict[int, dict[int, float]]:
    """The sum of payoffs over all rounds, by match and player."""
    paid = grouped((row["match"], (row["player"], row["total"])) for row in data.records(PAID))
    return {match: dict(of) for match, of in paid.items()}


def total_gain(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Return each player's total payoff in a match."""
    return ({"match": row["match"], "player": row["player"], "value": row["total"]} for row in data.records(PAID))


def efficiency(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the total payoff of all players, as a share of the largest possible total."""
    rounds = {
        row["match"]: row["rounds"]
        for row in data.records("SELECT match, count(DISTINCT (meeting, round)) AS rounds FROM rounds GROUP BY match")
    }
    for match, paid in totals(data).items():
        unit = data.unit(match)
        best = None if unit.mechanism.society else unit.game.best_total
        if best is not None and best > 0:
            share = fsum(paid.values()) / (best * rounds[match])
            yield {"match": match, "value": min(1.0, max(0.0, share))}


def tool_calls(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the number of tool calls in a match of each player with tools."""
    rows = data.records(
        "SELECT match, player, count(*) FILTER (kind = 'tool') AS calls FROM decisions "
        "WHERE state = 'done' AND unit = 'match' GROUP BY match, player ORDER BY match, player"
    )
    return (
        {"match": row["match"], "player": row["player"], "value": float(row["calls"])}
        for row in rows
        if data.unit(row["match"]).players[row["player"] - 1].config.tools
    )


def gini(amounts: Iterable[float]) -> float | None:
    """Return the Gini coefficient of non-negative amounts; None if their sum is zero.

    >>> gini([1.0, 1.0]), gini([0.0, 0.0, 0.0, 4.0]), gini([0.0])
    (0.0, 0.75, None)
    """
    ordered = sorted(amounts)
    total, count = sum(ordered), len(ordered)
    ranked = sum((2 * place - count + 1) * amount for place, amount in enumerate(ordered))
    return ranked / (count * total) if total > 0 else None


def equality(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield one minus the Gini coefficient of the players' total payoffs."""
    for match, paid in totals(data).items():
        earned = list(paid.values())
        unequal = gini(earned) if min(earned) >= 0 else None
        if unequal is not None and len(earned) > 1:
            yield {"match": match, "value": 1.0 - unequal}


def inequality(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the Gini coefficient of a match's scores, measured from the game's lowest payoff."""
    scores = grouped(
        (row["match"], row["score"])
        for row in data.records(
            "SELECT match, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
        )
    )
    for match, earned in scores.items():
        game = data.game(match)
        lowest = float(game.payoffs.min()) if game.has_table else 0.0
        least = min(lowest, *earned)
        yield {"match": match, "value": gini(score - least for score in earned)}


NUMBERS = (
    "SELECT match, round, TRY_CAST(json_extract_string(facts, '$.' || ?) AS DOUBLE) AS value "
    "FROM decisions WHERE facts IS NOT NULL ORDER BY match, round"
)
ROUNDING = 1e-9

PUNISHMENTS_SQL = (
    "WITH named AS (SELECT match, player, round, step, stage, amount FROM decisions WHERE kind = 'act' AND amount IS "
    "NOT NULL), stated AS (SELECT match, round, json_extract_string(facts, '$.taken_at') AS stage FROM decisions WHERE "
    "facts IS NOT NULL), stages AS (SELECT n.match, n.round, coalesce(any_value(s.stage), arg_min(n.stage, n.step)) AS "
    "stage FROM named n LEFT JOIN stated s ON s.match = n.match AND s.round = n.round GROUP BY n.match, n.round) "
    "SELECT n.match, n.player, n.round, sum(n.amount) AS taken FROM named n JOIN stages t ON t.match = n.match AND "
    "t.round = n.round AND t.stage = n.stage GROUP BY ALL ORDER BY n.match, n.player, n.round"
)
"""SQL for what a player takes in a round: its amount at the first stage, or at the stage that the game names."""


def round_facts(data: RunData, name: str, measure: str) -> dict[tuple[int, int], float]:
    """Return a number that the game states after each round, by match and round; refused if no game states it."""
    numbers = {
        (row["match"], row["round"]): row["value"]
        for row in data.records(NUMBERS, f'"{name}"')
        if row["value"] is not None
    }
    if not numbers and data.records("SELECT 1 FROM decisions WHERE payoff IS NOT NULL LIMIT 1"):
        raise UsageError(
            f"measure {measure}: no game of {data.name} states {name!r} at the end of a round; "
            f'a game by a rule does so by End(payoffs, {{"{name}": ...}})'
        )
    return numbers


def revenue(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The mean price of an auction over the rounds of a match."""
    prices = grouped((match, price) for (match, _), price in round_facts(data, "price", "revenue").items())
    return ({"match": match, "value": fsum(paid) / len(paid)} for match, paid in prices.items())


def stock(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the size of a common stock before the harvest of each round."""
    return (
        {"match": match, "round": number, "value": stock}
        for (match, number), stock in round_facts(data, "stock", "stock_by_round").items()
    )


def harvest(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the players' joint harvest from a common stock by round, limited by the stock."""
    stocked = round_facts(data, "stock", "harvest_by_round")
    by_round = grouped(((row["match"], row["round"]), row["taken"]) for row in data.records(PUNISHMENTS_SQL))
    return (
        {"match": match, "round": number, "value": min(fsum(amounts), stocked[match, number])}
        for (match, number), amounts in sorted(by_round.items())
        if (match, number) in stocked
    )


def over_use(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield how often a player takes more than its equal part of the sustainable harvest."""
    sustainable = round_facts(data, "sustainable", "over_use")
    rows = [row for row in data.records(PUNISHMENTS_SQL) if (row["match"], row["round"]) in sustainable]
    parts = [sustainable[row["match"], row["round"]] / data.game(row["match"]).seats for row in rows]
    counted = grouped(
        ((row["match"], row["player"]), row["taken"] > part + ROUNDING) for row, part in zip(rows, parts, strict=True)
    )
    for (match, player), over in counted.items():
        yield {"match": match, "player": player, "value": sum(over) / len(over)}


def early_ends(data: RunData, measure: str) -> dict[int, tuple[bool, int]]:
    """Return by match whether its game ended it early (``End.over``), and after how many rounds.

    Only of matches that are played for rounds and could have ended so: a match of the same game did, or matches
    that are tried out do (``can_end``). Refused where the run has no such match, as all would count as survived.
    """
    rows = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over FROM matches "
        "GROUP BY match ORDER BY match"
    )
    units = {row["match"]: data.unit(row["match"]) for row in rows}
    rows = [row for row in rows if not units[row["match"]].mechanism.one_shot]
    ended = {_key(units[row["match"]].game) for row in rows if row["over"]}
    ends: dict[int, tuple[bool, int]] = {
        row["match"]: (row["over"], row["rounds"])
        for row in rows
        if _key(units[row["match"]].game) in ended or can_end(units[row["match"]].game)
    }
    if units and not ends:
        raise UsageError(
            f"measure {measure}: no match of {data.name} can end early; that takes a game by a rule that returns "
            "End(..., over=...), played for rounds"
        )
    return ends


def _key(game: Game) -> str:
    return f"{game.name} {sorted(game.params.items())}"


def survival(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield whether a match that its game can end reaches its last round."""
    return ({"match": match, "value": int(not over)} for match, (over, _) in early_ends(data, "survival").items())


def survival_time(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield the number of rounds until the game ends the match, or until the last one."""
    return ({"match": match, "value": rounds} for match, (_, rounds) in early_ends(data, "survival_time").items())


PREDICTED = (
    "SELECT a.match, a.player, a.seat, a.round, a.action, list(p.target ORDER BY p.target) AS targets, "
    "list(p.answer ORDER BY p.target) AS expected FROM rounds a JOIN decisions p "
    "ON p.match = a.match AND p.player = a.player AND p.round = a.round AND starts_with(p.kind, 'predict') "
    "WHERE a.action IS NOT NULL AND p.answer IS NOT NULL "
    "GROUP BY ALL ORDER BY a.match, a.player, a.round"
)


def best_replies(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield one row for each player that predicted all others in some round of a game with a payoff table."""
    replies: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(PREDICTED):
        game, seat = data.game(row["match"]), int(row["seat"]) - 1
        if not game.has_table:
            continue
        others = [s for s in range(game.seats) if s != seat]
        if [target - 1 for target in row["targets"]] != others:
            continue
        rest = tuple(game.index(s, name) for s, name in zip(others, row["expected"], strict=True))
        reply = game.index(seat, row["action"]) in best_responses(game, seat, rest)
        replies.setdefault((row["match"], row["player"]), []).append(reply)
    for (match, player), of in replies.items():
        yield {"match": match, "player": player, "value": sum(of) / len(of)}


def response(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Yield cooperation in the last quarter of a match, over all members that were not planted."""
    rows = data.records(
        "WITH acts AS (SELECT match, player, round, cooperative, max(round) OVER (PARTITION BY match) AS rounds "
        "FROM rounds WHERE cooperative IS NOT NULL) "
        "SELECT a.match, m.agent, avg(a.cooperative::INTEGER) AS value, count(*) AS weight FROM acts a "
        "JOIN matches m ON m.match = a.match AND m.player = a.player WHERE a.round > a.rounds - ceil(a.rounds / 4.0) "
        "GROUP BY a.match, m.agent ORDER BY a.match, m.agent"
    )

    @cache
    def planted(match: int) -> Any:
        return getattr(getattr(data.unit(match).mechanism, "plant", None), "type", None)

    return [row for row in rows if row["agent"] != planted(row["match"])]
