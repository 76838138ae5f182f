"""Score ratios in the 144 ordinal games, by family: points as a share of the most that could be had.

The ratio of a player in a match is its mean payoff over 4, the best rank; a family's figure pools both seats
and all opponents, self-play included, and averages over the family's games (Akata et al. 2025, Table 1). The
paper leaves the tragic family out; here it stands beside the others, and "overall" comes with and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ostrom.errors import UsageError
from ostrom.games.ordinal import FAMILIES, ordinal_game

BEST_RANK = 4.0
NAME = "ordinal_2x2:"


def with_families(matches: Any) -> Any:
    """The matches of ordinal games (a polars frame) with the columns ``number`` and ``family``."""
    import polars as pl

    if "game" not in matches.columns:
        raise UsageError("score ratios need a column 'game'")
    kept = matches.filter(pl.col("game").cast(pl.String).str.starts_with(NAME))
    if not kept.height:
        raise UsageError("score ratios need matches of ordinal_2x2 games, and there are none")
    numbers = kept["game"].str.slice(len(NAME)).str.replace("number=", "").cast(pl.Int64)
    families = [ordinal_game(number).family for number in numbers]
    return kept.with_columns(numbers.alias("number"), pl.Series("family", families))


def in_ranks(matches: Any, most: Callable[[int, int], float]) -> Any:
    """Scores on the scale on which the best payoff of a game is 4, the best rank.

    ``matches`` has the columns match, game, seat and score; ``most`` is the best payoff of a seat in the game
    of a match. Games of a foreign table may pay other amounts in the same order.
    """
    import polars as pl

    best: dict[tuple[str, int], float] = {}
    factors = []
    for match, game, seat in matches.select("match", "game", "seat").iter_rows():
        if (game, seat) not in best:
            best[game, seat] = most(match, seat)
        paid = best[game, seat]
        factors.append(BEST_RANK / paid if paid > 0 else None)
    return matches.with_columns(pl.col("score") * pl.Series(factors, dtype=pl.Float64))


def score_ratios(matches: Any, by: Sequence[str] = ()) -> Any:
    """One row per agent and family: games, matches, the mean ratio over games and its spread over games.

    ``matches`` is the table of matches (polars), one row per player; ``by`` adds further columns, such as a
    framing. Rows "overall" pool all games, "overall (published)" all but the tragic ones.
    """
    import polars as pl

    done = with_families(matches).filter((pl.col("state") == "done") & pl.col("score").is_not_null())
    keys = [*by, "agent"]
    games = done.group_by([*keys, "family", "number"], maintain_order=True).agg(
        (pl.col("score") / BEST_RANK).mean().alias("ratio"), pl.col("match").n_unique().alias("matches")
    )
    tables = [_averaged(games.filter(pl.col("family") == name), keys, name) for name in FAMILIES]
    tables.append(_averaged(games.filter(pl.col("family") != "tragic"), keys, "overall (published)"))
    tables.append(_averaged(games, keys, "overall"))
    order = {name: i for i, name in enumerate([*FAMILIES, "overall (published)", "overall"])}
    place: Callable[[str], int] = order.__getitem__
    return (
        pl.concat(tables)
        .with_columns(pl.col("family").map_elements(place, return_dtype=pl.Int64).alias("_place"))
        .sort([*keys, "_place"])
        .drop("_place")
    )


def _averaged(games: Any, keys: list[str], family: str) -> Any:
    import polars as pl

    return (
        games.group_by(keys, maintain_order=True)
        .agg(
            pl.col("number").n_unique().alias("games"),
            pl.col("matches").sum(),
            pl.col("ratio").mean(),
            pl.col("ratio").std().alias("sd_over_games"),
        )
        .with_columns(pl.lit(family).alias("family"))
        .select([*keys, "family", "games", "matches", "ratio", "sd_over_games"])
    )
