"""What is written for an action, as an action of the game: by the mapping, or by columns of the same row."""

from __future__ import annotations

from ostrom.features.importing.mapping import Mapping, canonical
from ostrom.features.importing.moves import Move
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


def action_of(move: Move, game: Game, seat: int, mapping: Mapping) -> int | str:
    """The place of the action that is written, or why it is none (a text)."""
    assert move.action is not None
    text = canonical(move.action)
    names = game.actions[seat]
    meanings = meanings_of(move, mapping) or {
        **{str(place): place for place in range(1, len(names) + 1)}, **dict(zip(names, names, strict=True)),
    }  # fmt: skip
    if isinstance(meanings, str):
        return meanings
    if text not in meanings:
        return f"is no answer that the mapping knows (found {move.action!r}; allowed: {', '.join(sorted(meanings))})"
    meant = meanings[text]
    if isinstance(meant, str) and meant in names:
        return names.index(meant)
    if isinstance(meant, int) and 1 <= meant <= len(names):
        return meant - 1
    raise StudyError(
        f"the mapping takes {move.action!r} for {meant!r}, which is no action of seat {seat + 1} in game "
        f"{game.name}",
        key="options" if decoded_by_row(move, mapping) else "actions", allowed=names,
    )  # fmt: skip


def decoded_by_row(move: Move, mapping: Mapping) -> dict[str, str | int]:
    """The columns that decode an answer row by row."""
    return move.columns.options or ({} if move.columns.actions else mapping.options)


def meanings_of(move: Move, mapping: Mapping) -> dict[str, str | int] | str:
    """What each written answer means in this row; a text says why the row does not tell."""
    options = decoded_by_row(move, mapping)
    if not options:
        return move.columns.actions or mapping.actions
    found: dict[str, str | int] = {}
    for column, meant in options.items():
        label = canonical(move.row[column])
        if not label:
            return f"column {column} does not say what the action is called here"
        if label in found:
            return f"columns {' and '.join(options)} call two actions {label!r}"
        found[label] = meant
    return found


def is_illegal(move: Move, game: Game, seat: int, mapping: Mapping) -> bool:
    """Whether the mapping takes what is written for no valid answer."""
    assert move.action is not None
    if mapping.illegal == "any":
        return isinstance(action_of(move, game, seat, mapping), str)
    return canonical(move.action) in mapping.illegal
