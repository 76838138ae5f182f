"""Reader of payoff files of other tournaments, for means and evolution on foreign payoffs.

    {"discount": 0.8,
     "profile": [{"players": [{..., "player_id": 1}, ...], "payoffs": [[[2, 2], ...], ...]}, ...]}

How a file is read:

* A profile seats one agent configuration per seat and holds one or more matches; a match is a list of
  rounds and a round a list of payoffs, one per seat. Every match counts once, in whichever profile it
  stands; a tuple may be listed several times. A profile without matches was not played: it is allowed and
  reported in ``unplayed``.
* A type is the whole configuration without ``player_id``: two settings never merge, and
  numbers that are equal (1 and 1.0) are the same setting.
* Seats: when in every profile the ``player_id`` are the numbers 1..n (or 0..n-1), each once, they are seat
  numbers and payoff s belongs to the player with the s-th number, in whatever order the players are listed.
  Otherwise the numbers name players across the tournament and payoff s belongs to the s-th player listed.
  ``seats`` overrides this.
* A society lists its members instead, each with what it got round by round:
  ``{"player": {..., "player_id": 1}, "points": [0, 1, 2, ...]}``. All members together are one match; there
  are averages, but no payoffs against single opponents.
* Discount: a match of one round scores its payoff. Longer matches need a discount in (0, 1); where the file
  has none (absent, null, 0 or 1), the reader asks for one instead of guessing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ostrom.features.evolution.evolution import PayoffFiles, Tournament, discounted_mean, plain_mean
from ostrom.features.evolution.tensor import ScoredMatch
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.values import grouped
from ostrom.ground.yaml import read_json


def load_json(path: Path) -> object:
    """Return decoded content; duplicate keys, NaN and Infinity are refused."""
    return read_json(read_text_file(path), str(path))


Seats = Literal["auto", "player_id", "listed"]


def seat_orders(ids: Sequence[Sequence[object]], source: str, seats: Seats = "auto") -> list[list[int]]:
    """Return, for each profile (by its ``player_id`` values), the list index of the player at every seat.

    The decision is made for the whole file, never per profile: numbers that happen to be 1..n in one profile
    may name players across the tournament, which the other profiles show.

    >>> seat_orders([[1, 2], [2, 1]], "f.json")
    [[0, 1], [1, 0]]
    >>> seat_orders([[2, 1], [3, 1]], "f.json")
    [[0, 1], [0, 1]]
    """
    if seats not in ("auto", "player_id", "listed"):
        raise UsageError(f"unknown seat order {seats!r} (allowed: auto, player_id, listed)")
    for number, row in enumerate(ids):
        if len({i is None for i in row}) > 1:
            key = f"profile[{number}].players"
            raise StudyError("only some players have a player_id", file=source, key=key, actual=list(row))
    listed = [list(range(len(row))) for row in ids]
    if seats == "listed":
        return listed
    for first in (1, 0):
        orders = [_order(row, first) for row in ids]
        complete = [order for order in orders if order is not None]
        if len(complete) == len(orders):
            return complete
    if seats == "player_id":
        number = next(n for n, row in enumerate(ids) if _order(row, 1) is None)
        key, row_ids = f"profile[{number}].players", list(ids[number])
        raise StudyError("player_id must number the seats 1..n, each once", file=source, key=key, actual=row_ids)
    return listed


def _order(row: Sequence[object], first: int) -> list[int] | None:
    """Return indices in the order of seat numbers from ``first``; None if they are no seat numbers."""
    numbers = [i for i in row if isinstance(i, int) and not isinstance(i, bool)]
    if len(numbers) != len(row) or sorted(numbers) != list(range(first, first + len(row))):
        return None
    return sorted(range(len(numbers)), key=numbers.__getitem__)


# Sums of larger payoffs might not be finite.
_LARGEST = 1e300
Rate = float | Literal["none"] | None
Rounds = tuple[tuple[float, ...], ...]
SHAPES = ({"players", "payoffs"}, {"player", "points"})


@dataclass(frozen=True)
class ForeignTournament:
    """Scored matches of a foreign file; types have labels, ``configurations`` describes them."""

    source: str
    discount: float | None
    configurations: Mapping[str, Configuration]
    matches: tuple[ScoredMatch, ...]
    unplayed: tuple[int, ...]
    rounds: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """The payoffs of every match, by round and seat."""
    society: bool = False
    """Whether all players of the file form one society; the file is then one match."""

    @property
    def types(self) -> tuple[str, ...]:
        """Labels in order of first appearance."""
        return tuple(self.configurations)


def parse_tournament(
    content: object,
    source: str,
    *,
    discount: float | Literal["file", "none"] = "file",
    seats: Seats = "auto",
    ignore: Collection[str] = ("player_id",),
) -> ForeignTournament:
    """Read a tournament from decoded content; ``source`` names it in errors."""
    profiles, stated = _profiles_and_discount(content, source)
    society = "player" in profiles[0]
    if society:
        profiles = [_society(profiles, source)]
        seats = "listed"
    rate: Rate = "none" if discount == "none" else _discount(stated if discount == "file" else discount, source)
    players = [_players(profile, source, number) for number, profile in enumerate(profiles)]
    orders = seat_orders([[p.get("player_id") for p in listed] for listed in players], source, seats)
    configurations: dict[str, Configuration] = {}
    rows: list[tuple[list[str], tuple[float, ...]]] = []
    tables: list[Rounds] = []
    unplayed: list[int] = []
    for number, (profile, listed, order) in enumerate(zip(profiles, players, orders, strict=True)):
        bare = [{k: v for k, v in listed[place].items() if k not in ignore} for place in order]
        keys = [identity(configuration) for configuration in bare]
        for key, configuration in zip(keys, bare, strict=True):
            configurations.setdefault(key, configuration)
        played = _rounds_by_match(profile, source, number, len(listed))
        where = f"profile[{number}].payoffs"
        rows += [(keys, _score(rounds, rate, source, f"{where}[match {m}]")) for m, rounds in enumerate(played)]
        tables += played
        unplayed += [] if played else [number]
    if not rows:
        raise StudyError("holds no match", file=source, key="profile")
    names = labels(configurations)
    return ForeignTournament(
        source,
        rate if isinstance(rate, float) else None,
        {names[key]: configuration for key, configuration in configurations.items()},
        tuple(ScoredMatch(tuple(names[key] for key in keys), score) for keys, score in rows),
        tuple(unplayed),
        tuple(tables),
        society,
    )


def _profiles_and_discount(content: object, source: str) -> tuple[list[Mapping[str, object]], object]:
    """Return the profiles of a file and its discount; a file that is a list has profiles only."""
    stated: object = None
    if isinstance(content, dict):
        if "profile" not in content:
            raise StudyError(
                f"missing; the file needs a list of profiles under this key (it has {', '.join(content) or 'no keys'})",
                file=source,
                key="profile",
            )
        stated, content = content.get("discount"), content["profile"]
    if not isinstance(content, list) or not content:
        raise StudyError("must be a list of at least one profile", file=source, key="profile", actual=_kind(content))
    for number, profile in enumerate(content):
        if not isinstance(profile, dict) or not any(shape <= set(profile) for shape in SHAPES):
            has = f"it has {', '.join(profile) or 'no keys'}" if isinstance(profile, dict) else "it is no object"
            raise StudyError(
                f"must be an object with players and payoffs, or with player and points ({has})",
                file=source,
                key=f"profile[{number}]",
                actual=None if isinstance(profile, dict) else _kind(profile),
            )
        if ("player" in profile) != ("player" in content[0]):
            raise StudyError(
                "mixes members of a society (player, points) with matches (players, payoffs)",
                file=source,
                key=f"profile[{number}]",
            )
        if "discount" in profile and profile["discount"] != stated:
            raise StudyError(
                "profiles cannot have discounts of their own",
                file=source,
                key=f"profile[{number}].discount",
                actual=profile["discount"],
            )
    return content, stated


def _discount(stated: object, source: str) -> float | None:
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0.0 <= stated <= 1.0:
        raise StudyError("must be null or a number from 0 to 1", file=source, key="discount", actual=stated)
    return float(stated)


def _players(profile: Mapping[str, object], source: str, number: int) -> list[Configuration]:
    players = profile["players"]
    if not isinstance(players, list) or not players or not all(isinstance(p, dict) for p in players):
        raise StudyError(
            "must be a list of at least one agent configuration",
            file=source,
            key=f"profile[{number}].players",
            actual=_kind(players),
        )
    return players


def _society(members: Sequence[Mapping[str, object]], source: str) -> Mapping[str, object]:
    """Return all members of a society as the profile of one match."""
    points: list[Sequence[object]] = []
    for number, member in enumerate(members):
        own_points = member["points"]
        if not isinstance(own_points, list) or not own_points:
            raise StudyError(
                "must be a list of at least one payoff",
                file=source, key=f"profile[{number}].points", actual=_kind(own_points),
            )  # fmt: skip
        if len(own_points) != len(points[0] if points else own_points):
            raise StudyError(
                f"has {len(own_points)} payoffs, the first member has {len(points[0])}",
                file=source, key=f"profile[{number}].points",
            )  # fmt: skip
        points.append(own_points)
    return {
        "players": [member["player"] for member in members],
        "payoffs": [[list(row) for row in zip(*points, strict=True)]],
    }


def _rounds_by_match(profile: Mapping[str, object], source: str, number: int, seats: int) -> list[Rounds]:
    """Return the rounds of every match of a profile."""
    key = f"profile[{number}].payoffs"
    matches = profile["payoffs"]
    if not isinstance(matches, list):
        raise StudyError("must be a list of matches", file=source, key=key, actual=_kind(matches))
    played = []
    for m, rounds in enumerate(matches):
        where = f"{key}[match {m}]"
        if not isinstance(rounds, list) or not rounds:
            raise StudyError("must be a list of at least one round", file=source, key=where, actual=_kind(rounds))
        played.append(tuple(_round(row, source, f"{where}[round {r}]", seats) for r, row in enumerate(rounds)))
    return played


def _score(rounds: Rounds, rate: Rate, source: str, where: str) -> tuple[float, ...]:
    """Return the score of every seat of a match."""
    if len(rounds) > 1 and (rate is None or rate in (0.0, 1.0)):
        raise StudyError(
            f"{len(rounds)} rounds need a discount between 0 and 1 and the file says {rate}; "
            "state a discount, or none for the plain mean of the rounds",
            file=source,
            key=where,
        )
    columns = list(zip(*rounds, strict=True))
    if isinstance(rate, float):
        return tuple(discounted_mean(column, rate) for column in columns)
    return tuple(plain_mean(column) for column in columns)


def _round(row: object, source: str, where: str, seats: int) -> tuple[float, ...]:
    if not isinstance(row, list):
        raise StudyError("must be a list of payoffs, one per seat", file=source, key=where, actual=_kind(row))
    if len(row) != seats:
        raise StudyError(f"has {len(row)} payoffs for {seats} players", file=source, key=where)
    for s, payoff in enumerate(row):
        if isinstance(payoff, bool) or not isinstance(payoff, int | float) or not abs(payoff) < _LARGEST:
            raise StudyError("must be a finite number", file=source, key=f"{where}[seat {s}]", actual=_kind(payoff))
    return tuple(float(payoff) for payoff in row)


def _kind(value: object) -> object:
    """Return how a message shows an invalid value: a list or an object by its type, others as they are."""
    if isinstance(value, list | dict):
        return "an empty list" if value == [] else {list: "a list", dict: "an object"}[type(value)]
    return "null" if value is None else value


Configuration = Mapping[str, object]

_NAMING = (("model", "model_name", "model_id", "llm", "name"), ("type", "agent_type", "kind", "class", "strategy"))


def identity(configuration: Configuration) -> str:
    """Return a hash of the configuration, independent of key order and of 1 against 1.0.

    >>> identity({"model": "m", "t": 1}) == identity({"t": 1.0, "model": "m"})
    True
    """
    return hashlib.sha256(
        json.dumps(_plain(configuration), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    ).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def labels(configurations: Mapping[str, Configuration]) -> dict[str, str]:
    """Return a distinct label per identity: model and type, then the settings that differ.

    >>> labels({"a1": {"model": "m", "t": 0}, "b2": {"model": "m", "t": 1}, "c3": {"model": "n"}})
    {'a1': 'm t=0', 'b2': 'm t=1', 'c3': 'n'}
    """
    flat = {key: _flat(configuration) for key, configuration in configurations.items()}
    names = {key: _name(fields) for key, fields in flat.items()}
    for group in _namesakes(names):
        # Only settings that differ; a missing one is "-".
        differing = sorted(
            field
            for field in {field for key in group for field in flat[key]}
            if len({flat[key].get(field) for key in group}) > 1
        )
        for key in group:
            notes = " ".join(f"{field}={flat[key].get(field, '-')}" for field in differing)
            names[key] = f"{names[key]} {notes}".strip()
    for group in _namesakes(names):
        for key in group:
            names[key] = f"{names[key]} #{key[:8]}".strip()
    return names


def _namesakes(names: Mapping[str, str]) -> list[list[str]]:
    return [group for group in grouped((name, key) for key, name in names.items()).values() if len(group) > 1]


def _name(fields: Mapping[str, str]) -> str:
    # A nested field such as llm.model names the agent as well as a plain one.
    last = {field: field.rpartition(".")[2] for field, text in fields.items() if text}
    named = [[fields[field] for name in names for field in last if last[field] == name] for names in _NAMING]
    return " ".join(texts[0] for texts in named if texts) or "agent"


def _flat(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        parts = (_flat(inner, f"{prefix}.{key}" if prefix else str(key)) for key, inner in value.items())
        return {key: text for part in parts for key, text in part.items()}
    return {prefix: value if isinstance(value, str) else json.dumps(_plain(value), sort_keys=True)}


Discount = float | Literal["file", "none"]


def read_payoff_files(paths: Sequence[Path], *, discount: Discount = "file", seats: Seats = "auto") -> PayoffFiles:
    """Read payoff files; a folder is searched for them at any depth and its files go by their relative paths.

    A file named in ``paths`` must be valid. In a folder, JSON files of another shape are listed as others, and an
    invalid payoff file does not keep the other ones from being read.
    """
    files, others = parsed_files(paths, discount, seats)
    wrong = {path: read for path, _, read in files if isinstance(read, StudyError)}
    for path in paths:
        if path in wrong:
            raise wrong[path]
    tournaments = (foreign_tournament(read, name) for path, name, read in files if not isinstance(read, StudyError))
    return PayoffFiles(tuple(tournaments), tuple(others), tuple(map(str, wrong.values())))


def parsed_files(
    paths: Sequence[Path], discount: Discount, seats: Seats
) -> tuple[list[tuple[Path, str, ForeignTournament | StudyError]], list[str]]:
    """Return path, name and tournament (or its error) of each payoff file, and the names of other JSON files."""
    files, others = payoff_files(paths)
    if not files:
        raise UsageError(
            f"{', '.join(map(str, paths))}: none of {len(others)} JSON files is a payoff file "
            '({"discount": ..., "profile": [{"players": ..., "payoffs": ...}, or {"player": ..., "points": ...}]})'
        )

    def parsed(path: Path, content: object) -> ForeignTournament | StudyError:
        try:
            return content if isinstance(content, StudyError) else parse_tournament(
                content, str(path), discount=discount, seats=seats
            )  # fmt: skip
        except StudyError as error:
            return error

    return [(path, name, parsed(path, content)) for path, name, content in files], others


def payoff_files(paths: Sequence[Path]) -> tuple[list[tuple[Path, str, object]], list[str]]:
    """Return path, name and decoded content (or its error) of each payoff file, and the names of other JSON files."""
    documents: list[tuple[Path, str, object]] = []
    others: list[str] = []
    for path in paths:
        if not path.is_dir():
            documents.append((path, str(path), load_json(path)))
            continue
        files = sorted(p for p in path.rglob("*.json") if p.is_file())
        if not files:
            raise UsageError(f"{path}: the folder holds no JSON file")
        for file in files:
            name = file.relative_to(path).as_posix()
            try:
                content = load_json(file)
            except StudyError as error:
                content = error
            if isinstance(content, StudyError) or looks_like_payoffs(content):
                documents.append((file, name, content))
            else:
                others.append(name)
    return documents, others


def looks_like_payoffs(content: object) -> bool:
    """Return whether a document is meant as a payoff file, valid or not.

    >>> looks_like_payoffs({"discount": 0.8, "profile": []}), looks_like_payoffs({"gpt": 1.5})
    (True, False)
    """
    profiles = content if isinstance(content, list) else []
    return (isinstance(content, dict) and "profile" in content) or (
        bool(profiles) and all(isinstance(p, dict) and any(shape <= set(p) for shape in SHAPES) for p in profiles)
    )


def foreign_tournament(read: ForeignTournament, name: str) -> Tournament:
    """Convert a foreign payoff file to a tournament named after its file."""
    return Tournament(
        {"file": name},
        read.types,
        read.matches,
        read.society or _one_society(read),
        len(read.unplayed),
        configurations=read.configurations,
    )


def _one_society(read: ForeignTournament) -> bool:
    """Return whether every match has all types, and more players than types."""
    companies = {tuple(sorted(match.types)) for match in read.matches}
    company = next(iter(companies))
    return len(companies) == 1 and 1 < len(read.types) < len(company) and set(company) == set(read.types)


READER = read_payoff_files
