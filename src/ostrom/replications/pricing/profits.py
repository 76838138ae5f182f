"""Distance from competition: profits and prices between equilibrium and monopoly."""

from collections.abc import Iterator, Mapping
from functools import cache
from statistics import fmean
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.games.game import Game
from ostrom.ground.values import grouped
from ostrom.replications.pricing.market import Market

GAME = "logit_pricing"
LATE = 6
"""The number of parts of a match, the last of which is late: 50 of 300 rounds."""


def market_of(game: Game) -> Market | None:
    """Return the market of a game; None for other games."""
    if game.name != GAME:
        return None
    return Market(
        *(game.params[key] for key in ("n", "quality", "differentiation", "outside", "cost", "customers", "scale"))
    )


def profit_gain(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield each player's mean profit on the scale from equilibrium (0) to monopoly (1)."""
    return (
        {"match": match, "player": player, "value": market.gain(fmean(row["payoff"] for row in rows))}
        for match, player, market, rows in _rounds(data)
    )


def late_profit_gain(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield each player's mean profit in the last sixth of the rounds, from equilibrium (0) to monopoly (1)."""
    for match, player, market, rows in _rounds(data):
        late = rows[len(rows) - -(-len(rows) // LATE) :]
        yield {"match": match, "player": player, "value": market.gain(fmean(row["payoff"] for row in late))}


def price_level(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield each player's mean price on the scale from equilibrium (0) to monopoly (1)."""
    return (
        {"match": match, "player": player, "value": market.level(fmean(float(row["action"]) for row in rows))}
        for match, player, market, rows in _rounds(data)
    )


def price_level_by_round(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield each player's price by round on the scale from equilibrium (0) to monopoly (1)."""
    return (
        {"match": match, "player": player, "round": row["round"], "value": market.level(float(row["action"]))}
        for match, player, market, rows in _rounds(data)
        for row in rows
    )


def _rounds(data: RunData) -> Iterator[tuple[int, int, Market, list[dict[str, Any]]]]:
    """Yield every player of finished matches in this market, with its rounds in order."""
    rows = data.records(
        "SELECT match, player, round, action, payoff FROM rounds WHERE action IS NOT NULL "
        "ORDER BY match, player, meeting, round"
    )
    market = cache(lambda match: market_of(data.game(match)))
    return (
        (match, player, where, own)
        for (match, player), own in grouped(((row["match"], row["player"]), row) for row in rows).items()
        if (where := market(match)) is not None
    )
