"""The shape of a mapping file: which column of a foreign table means what."""

from __future__ import annotations

import codecs
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from ostrom.framing.config import Framing
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import NamedFiles, replication_files
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.factors import RESERVED

GENERAL = files("ostrom.features.importing").joinpath("mappings")

FRAMING = tuple(Framing.model_fields)


def _option_columns(value: object) -> object:
    """Convert a list of columns to a mapping from each column to the number of its action, from 1."""
    return {str(column): place for place, column in enumerate(value, 1)} if isinstance(value, list) else value


def _text_keys(value: object) -> object:
    # YAML turns 0, 1.0 and true into numbers and booleans; as cells of a table they are texts.
    return {canonical(str(key)): of for key, of in value.items()} if isinstance(value, dict) else value


TextKeys = BeforeValidator(_text_keys)
OptionColumns = BeforeValidator(_option_columns)


class Value(Declared):
    """A constant in place of a column."""

    value: str


class SeatColumns(Declared):
    """The columns of one seat (wide), or of the player of a row (long)."""

    player: str | Value = Field(description="the column with the player's name, or {value: name}")
    action: str | None = Field(default=None, description="what it did; left out: follows from the payoffs")
    payoff: str | None = Field(default=None, description="what it was paid in the round: checked")
    total: str | None = Field(default=None, description="what it was paid up to then: checked")
    seat: str | None = Field(
        default=None, description="long only: the column with the seat (1, 2, ...); left out: order of rows"
    )
    actions: Annotated[dict[str, str | int] | None, TextKeys] = Field(
        default=None, description="this seat's own 'actions'"
    )
    options: Annotated[dict[str, str | int] | None, OptionColumns] = Field(
        default=None, description="this seat's own 'options'"
    )


class LevelsByColumn(Declared):
    """A factor whose levels are named differently from the values of its column."""

    column: str
    is_: Annotated[dict[str, str], Field(min_length=1), TextKeys] = Field(
        alias="is", description="value: level; others stay as written"
    )


class LevelsByFile(Declared):
    """A factor whose level is set by the file of the match."""

    file: Annotated[dict[str, str], Field(min_length=1), TextKeys] = Field(
        description="name of a file without its ending: level; other files keep their name"
    )


class GameByColumn(Declared):
    """The game of each match, looked up by the value of a column."""

    column: str
    is_: Annotated[dict[str, str | dict[str, Any]] | None, TextKeys] = Field(
        default=None, alias="is", description="value: game"
    )
    spec: str | None = Field(default=None, description="a game with {} in place of the value")
    table: str | None = Field(default=None, description="a CSV table of 2x2 games with the value as number")

    @model_validator(mode="after")
    def _one_way(self) -> GameByColumn:
        if sum(way is not None for way in (self.is_, self.spec, self.table)) != 1:
            raise ValueError("say what the values mean in exactly one way: 'is', 'spec' or 'table'")
        if "{}" not in (self.spec or "{}"):
            raise ValueError("'spec' needs {} where the value goes, for example ordinal_2x2:{}")
        return self


class MatchRule(Declared):
    """How rows are grouped into matches."""

    by: list[str] = Field(default_factory=list, description="rows with the same values belong together")
    new_when: str | None = Field(
        default=None, description="a column whose numbers grow within a match: where they do not, one begins"
    )

    @model_validator(mode="after")
    def _some(self) -> MatchRule:
        if not self.by and self.new_when is None:
            raise ValueError("say how rows make matches: 'by' some columns, 'new_when' a column starts anew")
        return self


class Mapping(Declared):
    """The meaning of the columns of a foreign table."""

    title: str = ""
    about: str = ""
    citation: str = ""
    separator: str | None = Field(default=None, description="left out: found in the header")
    columns: list[str] | None = Field(default=None, description="names of the columns of a file without header")
    encoding: str | None = Field(default=None, description="left out: UTF-8, or UTF-16 with its mark")
    records: str | None = Field(
        default=None, description="JSON files: where the list of records stands, for example matches.rounds"
    )
    rows: Literal["round", "match"] = Field(
        default="round", description="what a row holds: one round, or all actions of a match in one text"
    )
    split: str = Field(default="", description="what stands between the actions of a match; left out: nothing")
    game: Annotated[
        Annotated[GameByColumn, Tag("dict")] | Annotated[str | dict[str, Any], Tag("str")],
        Discriminator(
            lambda game: (
                "dict" if isinstance(game, GameByColumn) or (isinstance(game, dict) and "column" in game) else "str"
            )
        ),
    ]
    match: MatchRule | None = None
    round: str | None = Field(default=None, description="the number of the round; left out: order of rows")
    first_round: int = Field(default=1, description="the number that the first round bears")
    rounds: int | Literal["any"] | None = Field(
        default=None, description="how many every match has; left out: all the same; any: they may differ"
    )
    seats: dict[int, SeatColumns] = Field(default_factory=dict, description="wide: the columns of each seat")
    players: SeatColumns | None = Field(default=None, description="long: one row for each player")
    actions: Annotated[dict[str, str | int], TextKeys] = Field(
        default_factory=dict, description="what is written: the game's action, by name or place (from 1)"
    )
    options: Annotated[dict[str, str | int], OptionColumns] = Field(
        default_factory=dict,
        description="columns that say row by row what an action is called: column: the game's action",
    )
    illegal: list[str] | Literal["any"] = Field(
        default_factory=list,
        description="what is written for no valid answer; any: everything that 'actions' does not list",
    )
    on_illegal: Literal["refuse", "skip-match"] = "refuse"
    totals: Literal["running", "final"] = Field(
        default="running", description="whether a total counts up to its row or to the end of the match"
    )
    bad_rows: Literal["refuse", "skip", "skip-match", "keep", "repair"] = Field(
        default="refuse", description="what to do with rows that contradict the game or cannot be read"
    )
    disagreements: Literal["refuse", "keep"] | None = Field(
        default=None, description="the older name of 'bad_rows', with two of its values"
    )
    names: dict[str, str] = Field(default_factory=dict, description="what players are called in tables")
    factors: dict[str, str | LevelsByColumn | LevelsByFile] = Field(
        default_factory=dict,
        description="factor: column, {column: c, is: {value: level}} or {file: {name: level}}; the same all match long",
    )
    round_columns: dict[str, str] = Field(
        default_factory=dict, description="column of the decisions table: column of the file, for each row"
    )
    framing: dict[str, str | Value | list[str]] = Field(
        default_factory=dict, description="how players were addressed: field of a framing: column or {value: x}"
    )
    shared: bool = Field(
        default=False,
        description="whether the n-th matches of two conditions share what chance fixed, so that they pair",
    )
    report: dict[str, Any] = Field(default_factory=dict, description="panels of the report")

    @field_validator("illegal", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return ["" if v is None else canonical(str(v)) for v in value] if isinstance(value, list) else value

    @field_validator("encoding")
    @classmethod
    def _check_game(cls, value: str | None) -> str | None:
        try:
            codecs.lookup(value or "utf-8")
        except LookupError:
            raise ValueError(f"there is no encoding {value!r} (for example utf-8, utf-16, latin-1)") from None
        return value

    @field_validator("factors", "round_columns")
    @classmethod
    def _free(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in RESERVED or name in ("game", "file", "mechanism"):
                raise ValueError(f"must not be called {name!r}: tables have a column of that name")
        return value

    @field_validator("framing")
    @classmethod
    def _check_framing_columns(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, column in value.items():
            if name not in FRAMING:
                raise ValueError(f"framings have no field {name!r} (allowed: {', '.join(FRAMING)})")
            if isinstance(column, list) and name != "labels":
                raise ValueError(f"only 'labels' is read from several columns, not {name!r}")
        return value

    @model_validator(mode="after")
    def _one_layout(self) -> Mapping:
        by_match, twice = self.rows == "match", sorted({*self.factors} & {*self.round_columns})
        for wrong, why in (
            (
                bool(self.seats) == (self.players is not None),
                "give either 'seats' (one row for all players) or 'players' (one row for each)",
            ),
            (
                sorted(self.seats) != [*range(1, len(self.seats) + 1)],
                f"seats are numbered from 1 without gaps (found {sorted(self.seats)})",
            ),
            (
                any(seat.seat is not None for seat in self.seats.values()),
                "'seat' belongs to 'players': in 'seats' the number says it",
            ),
            (
                self.match is None and (not by_match or self.players is not None),
                "'match' must say which rows make a match",
            ),
            (by_match and self.round is not None, "rows that hold a whole match have no 'round'"),
            (
                by_match and any(seat.payoff for seat in self._all_seats()),
                "rows that hold a whole match have a 'total', not a 'payoff'",
            ),
            (
                self.actions and self.options,
                "answers are decoded by 'actions' or, row by row, by 'options', not by both",
            ),
            (
                by_match and (self.round_columns or self.options),
                "rows that hold a whole match have no 'round_columns' and no 'options'",
            ),
            (twice, f"{''.join(twice[:1])!r} is both in 'factors' and in 'round_columns'"),
        ):
            if wrong:
                raise ValueError(why)
        return self

    @property
    def policy(self) -> str:
        """Return the policy for bad rows."""
        stated = "bad_rows" in self.model_fields_set
        return self.bad_rows if stated or self.disagreements is None else self.disagreements

    @property
    def levels(self) -> dict[str, tuple[str, dict[str, str]]]:
        """Return the column of every factor, and the level names of values that are not used as written."""
        return {
            name: (source, {}) if isinstance(source, str) else (source.column, source.is_)
            for name, source in self.factors.items()
            if not isinstance(source, LevelsByFile)
        }

    def _all_seats(self) -> list[SeatColumns]:
        return list(self.seats.values()) if self.players is None else [self.players]

    def needed(self) -> dict[str, str]:
        """Return every column that the mapping uses, with the key that names it."""
        seats = {f"seats.{place}": seat for place, seat in self.seats.items()}
        uses: list[tuple[str, Any]] = [
            *(
                (f"{where}.{key}", getattr(seat, key))
                for where, seat in (seats if self.players is None else {"players": self.players}).items()
                for key in ("player", "action", "payoff", "total", "seat")
            ),
            ("game.column", self.game.column if isinstance(self.game, GameByColumn) else None),
            *(("match.by", column) for column in (self.match.by if self.match else ())),
            ("match.new_when", self.match and self.match.new_when),
            ("round", self.round),
            *((f"factors.{name}", column) for name, (column, _) in self.levels.items()),
            *((f"round_columns.{name}", column) for name, column in self.round_columns.items()),
            *(
                ("options", column)
                for options in (*(seat.options for seat in self._all_seats()), self.options)
                for column in options or ()
            ),
            *(
                (f"framing.{name}", column)
                for name, source in self.framing.items()
                for column in (source if isinstance(source, list) else [source])
            ),
        ]
        columns: dict[str, str] = {}
        for key, column in uses:
            if isinstance(column, str):  # a constant needs no column
                columns.setdefault(column, key)
        return columns


@lru_cache(maxsize=65_536)
def canonical(text: str) -> str:
    """Normalise a cell for comparison: no spaces around it, 1.0 becomes 1.

    >>> canonical(" 1.0 "), canonical("J"), canonical("0.50")
    ('1', 'J', '0.5')
    """
    stripped = text.strip()
    try:
        number = float(stripped)
    except ValueError:
        return stripped
    if number != number or abs(number) >= 1e15 or "_" in stripped:
        return stripped
    return str(int(number)) if number.is_integer() else repr(number)


def mapping_names() -> list[str]:
    """Return the names of the mappings that come with the package and with replications."""
    return sorted(_shipped())


def _shipped() -> NamedFiles:
    mappings = replication_files("mappings", ".yaml", "mapping")
    for path in GENERAL.iterdir():
        if path.name.endswith(".yaml"):
            mappings.put(path.name.removesuffix(".yaml"), path, "ostrom")
    return mappings


def load_mapping(source: str | Path) -> tuple[Mapping, str]:
    """Load a mapping from a file or by the name of a shipped one; return it and its name for messages."""
    name = str(source)
    data = read_yaml(_shipped().text(name), name)
    if not isinstance(data, dict):
        raise StudyError(f"a mapping file maps keys to values (found {in_words(data)})", file=name)
    return validate(Mapping, data, name), name
