"""Heat maps of a tournament: one row for every ordered pair of players, as Akata et al. (2025, Figures 3, 5).

Every rate is first taken within a match and then averaged over the matches of a pair, so that a match counts
once however long it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.errors import UsageError
from ostrom.games.game import Game


def acts(decisions: Any) -> Any:
    """The actions of finished two-player matches: one row per round and seat."""
    import polars as pl

    done = decisions.filter(
        (pl.col("kind") == "act") & (pl.col("state") == "done") & pl.col("action").is_not_null()
    )
    if not done.height:
        raise UsageError("there is no finished match with actions")
    return done


def pair_rates(
    decisions: Any, by: Sequence[str] = (), favourites: Mapping[tuple[str, int], str] | None = None
) -> Any:
    """One row per ordered pair (``player1``, ``player2``): what happened between them.

    Columns: ``matches``, ``defection1`` and ``defection2`` (null where the game has no cooperative action),
    ``score1`` and ``score2`` (payoff per round), ``total1`` and ``total2`` (per match), ``coordination``
    (both played the action of the same name) and, with ``favourites`` from ``favourite_actions``,
    ``favourite1`` and ``favourite2``: how often each played the action of its own best outcome.
    """
    import polars as pl

    keys = ["game", *[name for name in by if name != "game"]]
    rounds = _rounds(acts(decisions), keys)
    if favourites is not None:
        for seat in (1, 2):
            named = [favourites.get((game, seat)) for game in rounds["game"]]
            rounds = rounds.with_columns(
                (pl.col(f"action{seat}") == pl.Series(named, dtype=pl.String)).alias(f"favourite{seat}")
            )
    means = [
        (~pl.col("cooperative1")).mean().alias("defection1"),
        (~pl.col("cooperative2")).mean().alias("defection2"),
        pl.col("payoff1").mean().alias("score1"),
        pl.col("payoff2").mean().alias("score2"),
        pl.col("payoff1").sum().alias("total1"),
        pl.col("payoff2").sum().alias("total2"),
        (pl.col("action1") == pl.col("action2")).mean().alias("coordination"),
    ]
    if favourites is not None:
        means += [pl.col(f"favourite{seat}").mean() for seat in (1, 2)]
    pair = [*keys, "player1", "player2"]
    per_match = rounds.group_by([*pair, "run", "match"], maintain_order=True).agg(means)
    measured = [c for c in per_match.columns if c not in (*pair, "run", "match")]
    return per_match.group_by(pair, maintain_order=True).agg(
        pl.len().alias("matches"), *[pl.col(name).mean() for name in measured]
    )


def _rounds(done: Any, keys: Sequence[str]) -> Any:
    """One row per round with both seats side by side; matches of more seats are refused."""
    import polars as pl

    if done["seat"].max() > 2 or done["player"].max() > 2:
        raise UsageError("a heat map of pairs needs matches between two players")
    place = ["run", "match", "round"]
    one, two = (
        done.filter(pl.col("seat") == seat).select(
            *place,
            *(keys if seat == 1 else ()),
            pl.col("agent").alias(f"player{seat}"),
            pl.col("action").alias(f"action{seat}"),
            pl.col("cooperative").alias(f"cooperative{seat}"),
            pl.col("payoff").alias(f"payoff{seat}"),
        )
        for seat in (1, 2)
    )
    return one.join(two, on=place, how="inner", maintain_order="left")


def favourite_actions(games: Mapping[str, Game]) -> dict[tuple[str, int], str]:
    """The action of each seat's own best outcome, by what tables call the game and seat (from 1).

    A seat whose best outcomes need different actions of it has no favourite and is left out.

    >>> from ostrom.games import build_game
    >>> favourite_actions({"bos": build_game("battle_of_the_sexes")})
    {('bos', 1): 'opera', ('bos', 2): 'match'}
    """
    found = {}
    for label, game in games.items():
        for seat in range(game.seats):
            best = max(game.payoff(profile)[seat] for profile in game.profiles())
            actions = {p[seat] for p in game.profiles() if game.payoff(p)[seat] == best}
            if len(actions) == 1:
                found[label, seat + 1] = game.actions[seat][actions.pop()]
    return found


def agent_rates(pairs: Any, by: Sequence[str] = ()) -> Any:
    """What each agent did on average over its opponents, both seats: from the frame of ``pair_rates``."""
    import polars as pl

    measures = [m for m in ("defection", "score", "total", "favourite") if f"{m}1" in pairs.columns]
    sides = [
        pairs.select(
            *by,
            pl.col(f"player{seat}").alias("agent"),
            "matches",
            "coordination",
            *[pl.col(f"{m}{seat}").alias(m) for m in measures],
        )
        for seat in (1, 2)
    ]
    # An agent without any value (defection where nothing is cooperative) has no mean, not one of 0 / 0.
    weighted = []
    for name in [*measures, "coordination"]:
        weight = pl.col("matches").filter(pl.col(name).is_not_null()).sum()
        mean = (pl.col(name) * pl.col("matches")).sum() / weight
        weighted.append(pl.when(weight > 0).then(mean).otherwise(None).alias(name))
    return (
        pl.concat(sides).group_by([*by, "agent"], maintain_order=True).agg(*weighted, pl.col("matches").sum())
    )
