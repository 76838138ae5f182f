"""A summary of a game as plain data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ostrom.games.amounts import Amounts
from ostrom.games.equilibria import (
    bargaining_points,
    dominated_actions,
    iterated_elimination,
    least_continuation,
    maximin,
    mixed_equilibria_2x2,
    pareto_frontier,
    pure_equilibria,
    social_optimum,
)
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game, Profile
from ostrom.games.ordinal import classify
from ostrom.games.parameters import shown
from ostrom.games.tensor import symmetric

PARETO_LIMIT = 5_000
"""The most profiles for which the Pareto frontier (which compares all with each other) and bargaining are computed."""


def summary(game: Game) -> dict[str, Any]:
    """A game with its solutions as JSON-able data; actions are given by name.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> facts = summary(build())
    >>> facts["equilibria"]["pure"], facts["ordinal"]["family"]
    ([{'profile': ['defect', 'defect'], 'payoffs': [1.0, 1.0], 'strict': True}], 'pd-family')
    """
    if isinstance(game, FunctionGame):
        return rule_summary(game)
    best = social_optimum(game)
    small = game.payoffs[..., 0].size <= PARETO_LIMIT
    return {
        **_identity(game),
        "symmetric": symmetric(game.actions, game.payoffs),
        "actions": [list(names) for names in game.actions],
        "cooperative": _named(game, game.cooperative),
        "defective": _named(game, game.defective),
        "payoffs": [{"profile": _profile(game, p), "payoffs": list(game.payoff(p))} for p in game.profiles()],
        "equilibria": {
            "pure": [
                {"profile": _profile(game, e.profile), "payoffs": list(e.payoffs), "strict": e.strict}
                for e in pure_equilibria(game)
            ],
            "all": _mixed(game),
        },
        "dominated": [
            {
                "seat": d.seat + 1,
                "action": game.actions[d.seat][d.action],
                "by": game.actions[d.seat][d.by],
                "strict": d.strict,
            }
            for d in dominated_actions(game)
        ],
        "surviving": [
            [game.actions[seat][a] for a in left] for seat, left in enumerate(iterated_elimination(game).surviving)
        ],
        "pareto": [_profile(game, p) for p in pareto_frontier(game)] if small else None,
        "social_optimum": {"total": best.total, "profiles": [_profile(game, p) for p in best.profiles]},
        "maximin": [
            {"value": s.value, "actions": [game.actions[seat][a] for a in s.actions]}
            for seat, s in ((seat, maximin(game, seat)) for seat in range(game.seats))
        ],
        "bargaining": _bargaining(game) if small else None,
        "least_continuation": least_continuation(game),
        "ordinal": _ordinal(game),
        "left_out": [] if small else [f"pareto: the game has more than {PARETO_LIMIT} profiles"],
    }


def _identity(game: Game) -> dict[str, Any]:
    """Return the first entries of a summary: name, title, citation, parameters, seats and roles."""
    return {
        "name": game.name,
        "title": game.title,
        "citation": game.citation,
        "params": dict(game.params),
        "seats": game.seats,
        "roles": list(game.roles),
    }


def rule_summary(game: FunctionGame) -> dict[str, Any]:
    """Return a game by a rule as plain data: each seat's options, and the theoretical moves."""
    return {
        **_identity(game),
        "actions": [
            {"low": options.low, "high": options.high, "step": options.step, "also": list(options.also)}
            if isinstance(options, Amounts)
            else list(options)
            for options in game.actions
        ],
        "stages": list(game.stages),
        "most_decisions": game.turns,
        "stateful": game.stateful,
        "theory_payoffs": list(game.theory_payoffs) or None,
        "best_total": game.best_total,
        "landmarks": dict(game.landmarks) or None,
        "left_out": ["payoffs, equilibria: the payoffs follow from a rule and are in no table"],
    }


def _mixed(game: Game) -> dict[str, Any] | None:
    if tuple(map(len, game.actions)) != (2, 2):
        return None
    equilibria = mixed_equilibria_2x2(game)
    pieces = [
        {
            "kind": piece.kind,
            "first_action_of_seat_1": list(piece.first),
            "first_action_of_seat_2": list(piece.second),
            "corners": [
                {"mixtures": [list(m) for m in corner], "payoffs": list(game.expected(corner))}
                for corner in piece.corners
            ],
        }
        for piece in equilibria.pieces
    ]
    return {
        "degenerate": equilibria.degenerate,
        "pieces": pieces,
        "components": [list(c) for c in equilibria.components],
    }


def _bargaining(game: Game) -> dict[str, list[float]] | None:
    points = bargaining_points(game)
    return None if points is None else {name: list(point) for name, point in asdict(points).items()}


def _ordinal(game: Game) -> dict[str, Any] | None:
    entry = classify(game)
    if entry is None:
        return None
    return {
        "number": entry.number,
        "row": entry.row,
        "col": entry.col,
        "label": entry.name,
        "other_label": entry.other_name,
        "family": entry.family,
    }


def _profile(game: Game, profile: Profile) -> list[str]:
    return [game.actions[seat][action] for seat, action in enumerate(profile)]


def _named(game: Game, indices: Sequence[int | None]) -> list[str | None]:
    return [None if i is None else game.actions[seat][i] for seat, i in enumerate(indices)]


def payoff_table(game: Game) -> tuple[tuple[str, ...], ...]:
    """Rows of cells, the header first: a matrix for two seats, one row per outcome for any other number.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> for row in payoff_table(build()): print(row)
    ('', 'cooperate', 'defect')
    ('cooperate', '3, 3', '0, 5')
    ('defect', '5, 0', '1, 1')
    """
    if game.seats == 2:
        rows, columns = game.actions
        return (
            ("", *columns),
            *[(name, *(_paid(game, (i, j)) for j in range(len(columns)))) for i, name in enumerate(rows)],
        )
    header = tuple(f"seat {seat}" for seat in range(1, game.seats + 1))
    return (
        (*header, "payoffs"),
        *(
            (*(game.actions[seat][action] for seat, action in enumerate(profile)), _paid(game, profile))
            for profile in game.profiles()
        ),
    )


def _paid(game: Game, profile: tuple[int, ...]) -> str:
    return ", ".join(shown(value) for value in game.payoff(profile))
