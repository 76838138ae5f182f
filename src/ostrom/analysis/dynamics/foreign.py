"""Reader for payoff files of other tournaments, so that means and evolution run on foreign payoffs.

    {"discount": 0.8,
     "profile": [{"players": [{..., "player_id": 1}, ...], "payoffs": [[[2, 2], ...], ...]}, ...]}

How a file is read:

* A profile seats one agent configuration per seat and holds one or more matches; a match is a list of
  rounds and a round a list of payoffs, one per seat. Every match counts once, in whichever profile it
  stands; a tuple may be listed several times. A profile without matches was not played: it is allowed and
  reported in ``unplayed``.
* A type is the whole configuration without ``player_id``; numbers that are equal (1 and 1.0) are the same
  setting.
* Seats: when in every profile the ``player_id`` are the numbers 1..n (or 0..n-1), each once, they are seat
  numbers and payoff s belongs to the player with the s-th number, in whatever order the players are listed.
  Otherwise the numbers name players across the tournament and payoff s belongs to the s-th player listed.
  ``seats`` overrides this.
* Discount: a match of one round scores its payoff. Longer matches need a discount in (0, 1); where the file
  has none (absent, null, 0 or 1), the reader asks for one instead of guessing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ostrom.analysis.dynamics.agent_identity import Configuration, identity, labels
from ostrom.analysis.dynamics.foreign_json import load_json
from ostrom.analysis.dynamics.foreign_seats import Seats, seat_orders
from ostrom.analysis.dynamics.replicator import exponential_replicator
from ostrom.analysis.dynamics.scores import discounted_mean, plain_mean
from ostrom.analysis.dynamics.simplex import given_start
from ostrom.analysis.dynamics.tensor import PayoffTensor, ScoredMatch, mean_scores, payoff_tensor
from ostrom.errors import StudyError, UsageError

# Above this not even a sum of payoffs is sure to stay finite.
_LARGEST = 1e300
Rate = float | Literal["none"] | None


@dataclass(frozen=True)
class ForeignTournament:
    """Scored matches of a foreign file; types go by labels, ``configurations`` says what they are."""

    source: str
    discount: float | None
    configurations: Mapping[str, Configuration]
    matches: tuple[ScoredMatch, ...]
    unplayed: tuple[int, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """Labels in order of first appearance."""
        return tuple(self.configurations)

    def mean_scores(self) -> dict[str, float]:
        """Average payoff per type over all its matches and seats."""
        means = mean_scores(self.matches)
        return {name: means[name] for name in self.types if name in means}

    def tensor(self) -> PayoffTensor:
        """Payoff tensor with seats pooled and opponents exchangeable."""
        try:
            return payoff_tensor(self.matches, self.types)
        except UsageError as error:
            raise StudyError(str(error), file=self.source) from None

    def final_population(
        self, start: Mapping[str, float] | None = None, *, eta: float = 0.1, steps: int = 1000
    ) -> dict[str, float]:
        """Shares of the types after the exponential replicator ran from ``start`` (None: uniform)."""
        first = None if start is None else given_start(start, self.types)
        final = exponential_replicator(self.tensor().values, first, eta=eta, steps=steps).final
        return dict(zip(self.types, final.tolist(), strict=True))


def read_tournament(
    path: Path,
    *,
    discount: float | Literal["file", "none"] = "file",
    seats: Seats = "auto",
    ignore: Collection[str] = ("player_id",),
) -> ForeignTournament:
    """Read a payoff file.

    ``discount``: the file's own, "none" for the plain mean of the rounds, or a number that replaces the
    file's.
    ``ignore``: keys of a player that are no part of its type (for files with further seat-bound fields).
    """
    return parse_tournament(load_json(path), str(path), discount=discount, seats=seats, ignore=ignore)


def parse_tournament(
    content: object,
    source: str,
    *,
    discount: float | Literal["file", "none"] = "file",
    seats: Seats = "auto",
    ignore: Collection[str] = ("player_id",),
) -> ForeignTournament:
    """The same for content that is already decoded; ``source`` names it in errors."""
    profiles, stated = _top(content, source)
    rate: Rate = (
        "none" if discount == "none" else _discount(stated if discount == "file" else discount, source)
    )
    players = [_players(profile, source, number) for number, profile in enumerate(profiles)]
    orders = seat_orders([[p.get("player_id") for p in listed] for listed in players], source, seats)
    found: dict[str, Configuration] = {}
    rows: list[tuple[tuple[str, ...], tuple[float, ...]]] = []
    unplayed: list[int] = []
    for number, (profile, listed, order) in enumerate(zip(profiles, players, orders, strict=True)):
        keys = []
        for player in (listed[place] for place in order):
            bare = {key: value for key, value in player.items() if key not in ignore}
            keys.append(identity(bare))
            found.setdefault(keys[-1], bare)
        scores = _scores(profile, source, number, len(listed), rate)
        rows += [(tuple(keys), score) for score in scores]
        if not scores:
            unplayed.append(number)
    if not rows:
        raise StudyError("holds no match", file=source, key="profile")
    names = labels(found)
    return ForeignTournament(
        source,
        rate if isinstance(rate, float) else None,
        {names[key]: configuration for key, configuration in found.items()},
        tuple(ScoredMatch(tuple(names[key] for key in keys), score) for keys, score in rows),
        tuple(unplayed),
    )


def _top(content: object, source: str) -> tuple[list[Mapping[str, object]], object]:
    """Profiles and the discount as stated; a bare list is a list of profiles without a discount."""
    stated: object = None
    if isinstance(content, dict):
        if "profile" not in content:
            found = ", ".join(content) or "no keys"
            raise StudyError(
                f"missing; the file needs a list of profiles under this key (it has {found})",
                file=source,
                key="profile",
            )
        stated, content = content.get("discount"), content["profile"]
    if not isinstance(content, list) or not content:
        raise StudyError(
            "must be a list of at least one profile", file=source, key="profile", found=_kind(content)
        )
    for number, profile in enumerate(content):
        if not isinstance(profile, dict) or "players" not in profile or "payoffs" not in profile:
            raise StudyError(
                "must be an object with players and payoffs",
                file=source,
                key=f"profile[{number}]",
                found=_kind(profile),
            )
        if "discount" in profile and profile["discount"] != stated:
            raise StudyError(
                "profiles cannot have discounts of their own",
                file=source,
                key=f"profile[{number}].discount",
                found=profile["discount"],
            )
    return content, stated


def _discount(stated: object, source: str) -> float | None:
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0.0 <= stated <= 1.0:
        raise StudyError("must be null or a number from 0 to 1", file=source, key="discount", found=stated)
    return float(stated)


def _players(profile: Mapping[str, object], source: str, number: int) -> list[Configuration]:
    players = profile["players"]
    if not isinstance(players, list) or not players or not all(isinstance(p, dict) for p in players):
        raise StudyError(
            "must be a list of at least one agent configuration",
            file=source,
            key=f"profile[{number}].players",
            found=_kind(players),
        )
    return players


def _scores(
    profile: Mapping[str, object], source: str, number: int, seats: int, rate: Rate
) -> list[tuple[float, ...]]:
    """One score per seat for every match of a profile."""
    key = f"profile[{number}].payoffs"
    matches = profile["payoffs"]
    if not isinstance(matches, list):
        raise StudyError("must be a list of matches", file=source, key=key, found=_kind(matches))
    scores = []
    for m, rounds in enumerate(matches):
        where = f"{key}[match {m}]"
        if not isinstance(rounds, list) or not rounds:
            raise StudyError(
                "must be a list of at least one round", file=source, key=where, found=_kind(rounds)
            )
        table = [_round(row, source, f"{where}[round {r}]", seats) for r, row in enumerate(rounds)]
        if len(table) > 1 and (rate is None or rate in (0.0, 1.0)):
            raise StudyError(
                f"{len(table)} rounds need a discount between 0 and 1 and the file says {rate}; "
                "state a discount, or none for the plain mean of the rounds",
                file=source,
                key=where,
            )
        columns = list(zip(*table, strict=True))
        if isinstance(rate, float):
            scores.append(tuple(discounted_mean(column, rate) for column in columns))
        else:
            scores.append(tuple(plain_mean(column) for column in columns))
    return scores


def _round(row: object, source: str, where: str, seats: int) -> tuple[float, ...]:
    if not isinstance(row, list):
        raise StudyError("must be a list of payoffs, one per seat", file=source, key=where, found=_kind(row))
    if len(row) != seats:
        raise StudyError(f"has {len(row)} payoffs for {seats} players", file=source, key=where)
    for s, payoff in enumerate(row):
        if isinstance(payoff, bool) or not isinstance(payoff, int | float) or not abs(payoff) < _LARGEST:
            raise StudyError(
                "must be a finite number", file=source, key=f"{where}[seat {s}]", found=_kind(payoff)
            )
    return tuple(float(payoff) for payoff in row)


def _kind(value: object) -> object:
    """What to show of a wrong value: itself when short, else its kind."""
    if isinstance(value, list | dict):
        return "an empty list" if value == [] else {list: "a list", dict: "an object"}[type(value)]
    return "null" if value is None else value
