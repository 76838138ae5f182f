"""Which game a recorded match was of."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from ostrom.errors import GameError, OstromError, StudyError
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.ordinal_table import CELLS
from ostrom.games.ordinal_table import read_table as read_games
from ostrom.studies.importing.mapping import GameByColumn, Mapping, canonical
from ostrom.studies.importing.table import Line

Spec = str | dict[str, Any]


class Games:
    """The games of a mapping, each built once."""

    def __init__(self, mapping: Mapping, mapping_file: str) -> None:
        self.rule, self.mapping_file = mapping.game, mapping_file
        self._known: dict[str, tuple[str, Spec, Game]] = {}

    def of(self, file: str, line: Line) -> tuple[str, Spec, Game]:
        """What tables call the game of a match, its specification and the game itself."""
        rule = self.rule
        if not isinstance(rule, GameByColumn):
            return self._built("", rule, self._label(rule))
        value = canonical(line.cells[rule.column])
        where = f"line {line.number}, column {rule.column}"
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
            return self._built(value, self._listed(value), f"table:{value}")
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

    def _listed(self, value: str) -> Spec:
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
