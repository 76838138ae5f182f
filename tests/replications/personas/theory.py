"""What to hold a run against: closed forms for players that do not think, and the published counts."""

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod
from typing import Any

from ostrom.analysis.references import published_rows
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.game import Game
from ostrom.replications.personas.effects import Cell
from ostrom.replications.personas.profiles import describe

COLUMNS = ("table", "model", "payoffs", "persona", "scenario_type", "metric")
COUNTED = {"all": "Table 1", "economic": "Table 3", "environmental": "Table 5"}
"""The table that holds the counts of equilibria of each type of scenario."""


@cache
def published_personas() -> tuple[dict[str, Any], ...]:
    """Every published figure as a row: where it stands, its value in per cent, its count where known.

    >>> len(published_personas())
    200
    """
    return tuple(
        {
            **{name: row[name] for name in COLUMNS},
            "value": float(row["value_pct"]),
            "numerator": int(row["numerator"]) if row["numerator"] else None,
            "denominator": int(row["denominator"]) if row["denominator"] else None,
            "note": row["note"] or None,
        }
        for row in published_rows("personas")
    )


def chance_of_nash(game: Game, odds: Sequence[Sequence[float]] | None = None) -> float:
    """The chance that independent players hit a pure equilibrium; without odds, every action is as likely.

    >>> from ostrom.games import build_game
    >>> chance_of_nash(build_game("scenario:commons/debt_crisis"))
    0.0625
    """
    by_seat = [[1 / len(names)] * len(names) for names in game.actions] if odds is None else odds
    return sum(
        prod(by_seat[seat][action] for seat, action in enumerate(equilibrium.profile))
        for equilibrium in pure_equilibria(game)
    )


def always_green_rate(games: Iterable[Game]) -> float:
    """The Nash rate of players that always take the cooperative action: the share of games where it is one.

    >>> from ostrom.games import build_game
    >>> always_green_rate([build_game(f"scenario:commons/{n}") for n in ("debt_crisis", "water_crisis")])
    0.5
    """
    found = []
    for game in games:
        green = [action for action in game.cooperative if action is not None]
        found.append(len(green) == game.seats and describe(game, tuple(green)).nash)
    return sum(found) / len(found)


def published_counts(model: str, scenario_type: str = "all") -> dict[Cell, tuple[int, int]]:
    """Equilibria and matches of a model in the four cells of the design.

    >>> published_counts("Qwen-32B", "economic")["no", "visible"]
    (54, 60)
    """
    return {
        (row["persona"], row["payoffs"]): (row["numerator"], row["denominator"])
        for row in published_personas()
        if row["table"] == COUNTED[scenario_type]
        and row["model"] == model
        and row["metric"] == "nash_rate"
        and row["numerator"] is not None
    }


def published_models() -> list[str]:
    """The models of the paper.

    >>> published_models()
    ['Llama-8B', 'Mistral-7B', 'Qwen-32B', 'Qwen-7B']
    """
    return sorted({row["model"] for row in published_personas()})
