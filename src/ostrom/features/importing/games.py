"""Which game a recorded match was of."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from ostrom.features.importing.mapping import GameByColumn, Mapping, canonical
from ostrom.features.importing.table import SourceRow
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.ordinal import OrdinalGame, classify, ordinal_game
from ostrom.games.ordinal_table import CELLS
from ostrom.games.ordinal_table import read_table as read_games
from ostrom.ground.errors import GameError, OstromError, StudyError

Spec = str | dict[str, Any]
TYPING_ERRORS = 2


class MappedGames:
    """The games of a mapping, each built once."""

    def __init__(self, mapping: Mapping, mapping_file: str) -> None:
        self.rule, self.mapping_file = mapping.game, mapping_file
        self._known: dict[str, tuple[str, Spec, Game]] = {}
        self.notes: dict[str, str] = {}
        """What must be said about games of a table, by their number there."""

    unit = "line"

    def of(self, file: str, line: SourceRow) -> tuple[str, Spec, Game]:
        """What tables call the game of a match, its specification and the game itself."""
        rule = self.rule
        if not isinstance(rule, GameByColumn):
            return self._built("", rule, self._label(rule))
        value = canonical(line[rule.column])
        where = f"{self.unit} {line.number}, column {rule.column}"
        if value in self._known:
            return self._known[value]
        if rule.is_ is not None:
            if value not in rule.is_:
                raise StudyError(
                    f"{self.mapping_file} does not say which game this is", file=file, key=where,
                    found=value, allowed=sorted(rule.is_),
                )  # fmt: skip
            spec: Spec = rule.is_[value]
            return self._built(value, spec, self._label(spec))
        try:
            if rule.spec is not None:
                spec = rule.spec.replace("{}", value)
                return self._built(value, spec, spec)
            return self._from_table(value)
        except OstromError as error:
            raise StudyError(str(error), file=file, key=where) from None

    def _built(self, value: str, spec: Spec, label: str) -> tuple[str, Spec, Game]:
        if value not in self._known:
            game = build_game(spec, key="game", file=self.mapping_file)
            self._known[value] = (label, spec, game)
        return self._known[value]

    def _label(self, spec: Spec) -> str:
        return spec if isinstance(spec, str) else str(spec.get("label") or spec.get("name") or "game")

    @cached_property
    def _table(self) -> dict[str, dict[str, str]]:
        assert isinstance(self.rule, GameByColumn) and self.rule.table is not None
        path = Path(self.rule.table)
        beside = Path(self.mapping_file).parent / path
        rows = read_games(beside if not path.is_absolute() and beside.exists() else path)
        return {canonical(row["game_number"]): row for row in rows}

    def _from_table(self, value: str) -> tuple[str, Spec, Game]:
        """A game of the table; one of the 144 goes by its number there, whatever its payoffs are."""
        spec = self._listed(value)
        found = recognised(build_game(spec, key="game", file=self.mapping_file), value)
        if found is None:
            self.notes[value] = f"game {value} of the table is none of the 144 ordinal games"
            return self._built(value, spec, f"table:{value}")
        entry, why = found
        if why:
            self.notes[value] = why
        label = f"ordinal_2x2:{entry.number}"
        if spec["payoffs"] == [[list(map(float, cell)) for cell in row] for row in entry.matrix]:
            return self._built(value, label, label)
        params = {"number": entry.number, "row": entry.row, "col": entry.col, "family": entry.family}
        return self._built(value, {**spec, "params": params}, label)

    def _listed(self, value: str) -> dict[str, Any]:
        """A 2x2 game as a table gives it, ties and typing errors included: what was really played."""
        row = self._table.get(value)
        if row is None:
            raise GameError(f"the table of games has no game {value}")
        try:
            paid = [float(row[name]) for name in CELLS]
        except ValueError:
            raise GameError(f"game {value} of the table has a payoff that is no number") from None
        pairs = [paid[i : i + 2] for i in range(0, 8, 2)]
        return {
            "name": f"table_game_{value}",
            "actions": ["first", "second"],
            "payoffs": [[pairs[0], pairs[1]], [pairs[2], pairs[3]]],
        }


def recognised(game: Game, number: str) -> tuple[OrdinalGame, str] | None:
    """Which of the 144 a 2x2 game is, by the order of its payoffs; and what must be said about it.

    A game with ties is none of them. It is taken for the game whose number its row bears where it differs
    from it in no more than two cells: the released table has such typing errors.
    """
    entry = classify(game)
    if entry is not None:
        return entry, ""
    if not number.isdigit() or not 1 <= int(number) <= 144:
        return None
    entry = ordinal_game(int(number))
    right = [float(rank) for row in entry.matrix for cell in row for rank in cell]
    wrong = sum(a != b for a, b in zip(right, game.payoffs.ravel().tolist(), strict=True))
    if wrong > TYPING_ERRORS:
        return None
    return entry, (
        f"game {number} of the table has ties: it differs from ordinal game {number} in {wrong} "
        f"cell{'s' if wrong > 1 else ''} and is taken for it, with the payoffs of the table"
    )
