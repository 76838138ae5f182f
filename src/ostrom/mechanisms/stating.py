"""Statements of a strategy: when players are asked for one, and the forms in which they give it.

A statement is in ``words`` (and then turned into a table by the same player), a ``memory_one`` table (how often in a
hundred the first action is taken in the first round and after each combination of the last actions), or an
``automaton`` of three states (an action in each, and the state that follows each action of the other). All are about
two seats with two actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.answers import Form, Record, Text
from ostrom.games.game import Game
from ostrom.ground.errors import GameError

WHEN = ("before", "during", "after")
FORMS = ("words", "memory_one", "automaton")
STATES = 3
MOST_WORDS = 80
PLACES = ((1, 1), (1, 2), (2, 1), (2, 2))
"""Own and other action of the last round, by their places in the lists of actions."""


def times_of(when: Any) -> tuple[str, ...]:
    """The times at which players are asked, as written in a study: one, a list, or none.

    >>> times_of("after"), times_of(["after", "before"]), times_of(None)
    (('after',), ('before', 'after'), ())
    """
    given = [] if when is None else [when] if isinstance(when, str) else list(when)
    for time in given:
        if time not in WHEN:
            raise ValueError(f"state must be one or several of {', '.join(WHEN)}, found {time!r}")
    return tuple(time for time in WHEN if time in given)


def check_stating(mechanism: str, game: Game) -> None:
    """Refuse a game that the forms have no place for."""
    if game.seats != 2 or any(len(names) != 2 for names in game.actions):
        raise GameError(
            f"mechanism {mechanism}: strategies are stated for two seats with two actions, game {game.name} has "
            f"{' and '.join(str(len(names)) for names in game.actions)} actions"
        )


def place_key(own: int, other: int) -> str:
    """The key of what is done after a round, by the places of both actions.

    >>> place_key(1, 2)
    'after_1_2'
    """
    return f"after_{own}_{other}"


def table_form() -> Record:
    """A memory-one table."""
    keys = ["first", *(place_key(own, other) for own, other in PLACES)]
    chance = {"type": "integer", "minimum": 0, "maximum": 100}
    return Record("memory_one", _closed(dict.fromkeys(keys, chance)))


def statement_form(how: str, game: Game, seat: int) -> Form:
    """The form in which a seat states its strategy."""
    if how == "words":
        return Text(words=MOST_WORDS)
    if how == "memory_one":
        return table_form()
    names, state = list(game.actions[seat]), {"type": "integer", "minimum": 1, "maximum": STATES}
    parts: dict[str, Any] = {}
    for number in range(1, STATES + 1):
        parts[f"state_{number}_action"] = {"type": "string", "enum": names}
        parts |= {f"state_{number}_after_{other}": state for other in (1, 2)}
    return Record("automaton", _closed(parts), tuple(names))


def _closed(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(parts),
        "required": list(parts),
        "additionalProperties": False,
    }
