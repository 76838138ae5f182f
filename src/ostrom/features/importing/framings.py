"""How the players of a recorded match were addressed, as far as columns of the file say it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ostrom.features.importing.mapping import Mapping, Value, canonical
from ostrom.features.importing.moves import Recorded
from ostrom.framing.config import Framing
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


def framing_of(match: Recorded, game: Game, mapping: Mapping) -> dict[str, Any]:
    """The fields of the framing of a match; what changes within it is refused.

    Labels are put in the order of the game's actions where ``actions`` says what they mean, so that columns
    which only tell the order of naming give the same labels in every row.
    """
    found: dict[str, Any] = {}
    for name, given in mapping.framing.items():
        if isinstance(given, Value):
            found[name] = given.value
            continue
        columns = given if isinstance(given, list) else [given]
        values: set[tuple[str, ...]] = set()
        for moves in match.rounds:
            for move in moves:
                texts = tuple(move.row[column].strip() for column in columns)
                values.add(_by_action(texts, game, mapping) if len(texts) > 1 else texts)
        if len(values) > 1:
            shown = " and ".join(repr(" ".join(v)) for v in sorted(values)[:2])
            raise StudyError(
                f"framing {name} changes within a match ({shown}); keep it under round_columns",
                file=match.file, key=match.lines,
            )  # fmt: skip
        value = next(iter(values))
        found[name] = list(value) if isinstance(given, list) else value[0]
    try:
        Framing(**found)
    except ValidationError as error:
        first = error.errors()[0]
        raise StudyError(
            f"framing.{'.'.join(map(str, first['loc']))}: {first['msg']}", file=match.file, key=match.lines
        ) from None
    return found


def _by_action(labels: tuple[str, ...], game: Game, mapping: Mapping) -> tuple[str, ...]:
    names = game.actions[0]
    places = []
    for label in labels:
        meant = mapping.actions.get(canonical(label))
        if isinstance(meant, str) and meant in names:
            places.append(names.index(meant))
        elif isinstance(meant, int):
            places.append(meant - 1)
        else:
            return labels
    return tuple(label for _, label in sorted(zip(places, labels, strict=True)))
