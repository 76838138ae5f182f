"""Compare a recorded match with its game, find every bad row, and apply the policy for bad rows."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

from ostrom.features.importing.mapping import Mapping, canonical
from ostrom.features.importing.moves import Move, Recorded, number_in
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.values import grouped

POLICIES = ("refuse", "skip", "skip-match", "keep", "repair")
DONE = {
    "refuse": "refused",
    "skip": "left out with its round",
    "skip-match": "left out with its match",
    "keep": "kept as written",
    "repair": "repaired",
}
MOST_LISTED = 5


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One bad cell, or one bad match (``kind`` is match): its place and the problem."""

    file: str
    line: int
    column: str
    round: int
    found: float | str | None
    expected: float | None
    why: str
    cause: str
    """The problem without its place: rows with the same cause are reported together."""
    kind: str
    """payoff | total | answer | number | action | match | length | file"""
    done: str = "refuse"
    """The policy that was applied to the bad cell or match."""
    unit: str = "line"
    note: str = ""
    """What a repair changed, or which value replaced a missing action."""

    def __str__(self) -> str:
        if self.kind == "file":
            return f"{self.file}: {self.why}"
        column = f", column {self.column}" if self.column else ""
        return f"{self.file}: {self.unit} {self.line}{column}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cause:
    """All bad rows with the same cause."""

    cause: str
    kind: str
    done: str
    rows: tuple[Disagreement, ...]

    def __str__(self) -> str:
        if len(self.rows) == 1:
            return str(self.rows[0])
        counted = {"match": "matches", "length": "matches", "file": "files"}.get(self.kind, "rows")
        return f"{self.cause}: {len(self.rows)} {counted} ({self.where})"

    @property
    def where(self) -> str:
        """Return the first places, grouped by file."""
        if self.kind == "file":
            return _first([row.file for row in self.rows])
        files = grouped((row.file, row) for row in self.rows)
        texts = [
            f"{Path(file).name} {rows[0].unit}{'s' if len(rows) > 1 else ''} {_first([row.line for row in rows])}"
            for file, rows in list(files.items())[:MOST_LISTED]
        ]
        return "; ".join(texts) + (f"; and {len(files) - MOST_LISTED} more files" if len(files) > MOST_LISTED else "")

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "cause": self.cause,
            "kind": self.kind,
            "rows": len(self.rows),
            "done": self.done,
            "where": self.where,
            "notes": list(dict.fromkeys(row.note for row in self.rows if row.note)),
        }


def _first(places: Sequence[object]) -> str:
    """Return the first places, separated by commas."""
    return ", ".join(map(str, [*places[:MOST_LISTED], *["..."][: len(places) - MOST_LISTED]]))


def by_cause(rows: Iterable[Disagreement]) -> list[Cause]:
    """Group bad rows by cause, the most frequent cause first."""
    causes = [
        Cause(cause, kind, done, tuple(of))
        for (kind, cause, done), of in grouped(((row.kind, row.cause, row.done), row) for row in rows).items()
    ]
    return sorted(causes, key=lambda cause: -len(cause.rows))


CLOSE = 1e-6
Profile = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeatRound:
    """One seat in one round, with actions named as in the game."""

    action: str
    written: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class CheckedMatch:
    """A match with actions named as in the game; ``paid`` is the file's payoff, else the game's."""

    rounds: tuple[tuple[SeatRound, ...], ...]
    paid: tuple[tuple[float, ...], ...]
    numbers: tuple[int, ...]
    """The round numbers; rounds that were left out leave gaps."""
    differs: bool
    """Whether a recorded payoff differs from the game's."""
    bad: tuple[Disagreement, ...]
    illegal: str | None
    """The reason why the match is skipped: a player without a valid answer, or a bad row."""


@dataclass(slots=True)
class _Round:
    """One round while it is checked."""

    number: int
    moves: Sequence[Move]
    bad: list[Disagreement]
    played: tuple[SeatRound, ...] | None = None
    paid: tuple[float, ...] = ()
    differs: bool = False


class Checker:
    """Checks matches under one mapping and one policy; equal moves share one object."""

    def __init__(self, mapping: Mapping, policy: str) -> None:
        self.mapping, self.policy = mapping, policy
        self._shared_rounds: dict[SeatRound, SeatRound] = {}

    def match(self, match: Recorded, game: Game) -> CheckedMatch:
        """Translate the moves of a match and compare every payoff and total with the game's."""
        if len(match.players) != game.seats:
            raise StudyError(
                f"game {game.name} has {game.seats} seats, this match has {len(match.players)} players",
                file=match.file, key=match.lines,
            )  # fmt: skip
        rounds, running, illegal = list[_Round](), [0.0] * game.seats, None
        for number, moves in enumerate(match.rounds, 1):
            one = _Round(number, moves, [])
            illegal = self._illegal(match, game, one)
            if illegal is not None:
                break
            if not one.bad:
                self._round(match, game, one, running, last=number == len(match.rounds))
            if one.played is None:
                # This round's payoffs are unknown, so later totals cannot be checked.
                running = [nan] * game.seats
            rounds.append(one)
        bad = tuple(row for one in rounds for row in one.bad)
        if bad and illegal is None and self.policy == "skip-match":
            illegal = f"{bad[0]} (bad rows: skip-match)"
            rounds = rounds[: next(place for place, one in enumerate(rounds) if one.bad)]
        valid = [r for r in rounds if r.played is not None and not (r.bad and self.policy == "skip")]
        if illegal is None and not valid and rounds and self.policy == "skip":
            illegal = f"{match.file}: {match.lines}: every round was left out (bad rows: skip)"
        return CheckedMatch(
            tuple(r.played for r in valid if r.played is not None), tuple(r.paid for r in valid),
            tuple(r.number for r in valid), any(r.differs for r in valid), bad, illegal,
        )  # fmt: skip

    def _illegal(self, match: Recorded, game: Game, one: _Round) -> str | None:
        for seat, move in enumerate(one.moves):
            if move.action is None or not is_illegal(move, game, seat, self.mapping):
                continue
            column = str(move.columns.action)
            if self.mapping.on_illegal == "skip-match":
                where = f"{match.unit} {move.row.number}, column {column}"
                return f"{match.file}: {where}: no valid answer in round {one.number} (found {move.action!r})"
            why = f"is no valid answer (on_illegal: skip-match imports the match as skipped; found {move.action!r})"
            self._bad(match, one, move, column, "answer", why, f"column {column} {why}", move.action)
        return None

    def _bad(
        self, match: Recorded, one: _Round, move: Move, column: str, kind: str, why: str, cause: str,
        actual: float | str | None = None, expected: float | None = None, note: str = "", fixable: bool = False,
    ) -> None:  # fmt: skip
        """Record a bad cell; under the policies keep and repair, a cell that is not ``fixable`` is refused."""
        done = "refuse" if not fixable and self.policy in ("keep", "repair") else self.policy
        one.bad.append(
            Disagreement(
                match.file, move.row.number, column, one.number, actual, expected, why, cause, kind, done,
                match.unit, note,
            )
        )  # fmt: skip

    def _round(self, match: Recorded, game: Game, one: _Round, running: list[float], *, last: bool) -> None:
        actions = self._actions(match, game, one)
        payoffs = self._payoffs(match, one)
        if one.bad:
            return
        notes: list[str | None] = [None if a is not None else "follows from the payoffs" for a in actions]
        profile = self._profile(match, game, one, actions, payoffs, notes)
        if profile is None:
            return
        due = game.payoff(profile)
        paid = list(due)
        names = ", ".join(game.actions[s][a] for s, a in enumerate(profile))
        for seat, (move, payoff) in enumerate(zip(one.moves, payoffs, strict=True)):
            if payoff is None or abs(payoff - due[seat]) <= CLOSE:
                paid[seat] = due[seat] if payoff is None else payoff
                continue
            column = str(move.columns.payoff)
            why = f"says {payoff:g}, but game {_called(game)} pays {due[seat]:g} for ({names})"
            if not any(row.kind == "action" for row in one.bad):
                self._bad(
                    match, one, move, column, "payoff", why, f"column {column} {why}", payoff, due[seat],
                    "" if self.policy == "keep" else f"payoff {due[seat]:g} as the game pays", fixable=True,
                )  # fmt: skip
            if self.policy == "repair":
                notes[seat] = f"payoff repaired; the file says {payoff:g}"
            else:
                paid[seat] = payoff
                one.differs = True
                notes[seat] = f"payoff as written; the game pays {due[seat]:g}"
        running[:] = [sum + (p if w is None else w) for sum, p, w in zip(running, paid, payoffs, strict=True)]
        if self.mapping.totals == "running" or last:
            self._totals(match, one, running)
        one.paid = tuple(paid)
        one.played = tuple(
            self._shared_rounds.setdefault(seat_round, seat_round)
            for seat_round in (
                SeatRound(game.actions[s][a], one.moves[s].action, notes[s]) for s, a in enumerate(profile)
            )
        )

    def _actions(self, match: Recorded, game: Game, one: _Round) -> list[int | None]:
        places: list[int | None] = []
        for seat, move in enumerate(one.moves):
            place = None if move.action is None else action_of(move, game, seat, self.mapping)
            places.append(None if isinstance(place, str) else place)
            if isinstance(place, str):
                column = str(move.columns.action)
                self._bad(match, one, move, column, "answer", place, f"column {column} {place}", move.action)
        return places

    def _payoffs(self, match: Recorded, one: _Round) -> list[float | None]:
        return [
            None if move.payoff is None else self._number(match, one, move, str(move.columns.payoff))
            for move in one.moves
        ]

    def _number(self, match: Recorded, one: _Round, move: Move, column: str) -> float | None:
        number = number_in(move.row[column])
        if number is None:
            why = f"must be a number (found {move.row[column]!r})"
            self._bad(match, one, move, column, "number", why, f"column {column} {why}", move.row[column])
        return number

    def _profile(
        self, match: Recorded, game: Game, one: _Round, actions: Sequence[int | None],
        payoffs: Sequence[float | None], notes: list[str | None],
    ) -> Profile | None:  # fmt: skip
        """Return the action profile; an action missing in the file must follow from the recorded payoffs."""
        if None not in actions:
            return tuple(a for a in actions if a is not None)
        profiles = list(product(*[range(len(game.actions[s])) if a is None else (a,) for s, a in enumerate(actions)]))
        fitting = [p for p in profiles if _payoff_gap(game, p, payoffs) <= CLOSE]
        if len(fitting) == 1:
            return fitting[0]
        missing = next(s for s, a in enumerate(actions) if a is None)
        problem = "no action" if not fitting else "more than one action"
        numbers = ", ".join(f"{w:g}" for w in payoffs if w is not None) or "none"
        moves = ", ".join(f"{game.actions[s][a]} at seat {s + 1}" for s, a in enumerate(actions) if a is not None)
        why = (
            f"the action of seat {missing + 1} is not in the file, and {problem} of game {_called(game)} fits "
            f"the payoffs written ({numbers})" + (f" and {moves}" if moves else "")
        )
        chosen, note = None, ""
        if not fitting and self.policy == "keep":
            chosen, note = _nearest(game, profiles, payoffs, actions)
        elif not fitting and self.policy == "repair":
            chosen, note = _changed(game, payoffs, actions)
        self._bad(match, one, one.moves[missing], "", "action", why, why, None, None, note, fixable=chosen is not None)
        for seat, action in enumerate(actions):
            if chosen is not None and action != chosen[seat]:  # a missing action too
                notes[seat] = note
        return chosen

    def _totals(self, match: Recorded, one: _Round, running: Sequence[float]) -> None:
        for seat, move in enumerate(one.moves):
            if move.total is None:
                continue
            column = str(move.columns.total)
            stated = self._number(match, one, move, column)
            if stated is not None and abs(stated - running[seat]) > CLOSE * max(1.0, abs(stated)):
                why = f"says {stated:g}, but the payoffs up to here add up to {running[seat]:g}"
                cause = f"column {column} is not the sum of the payoffs up to its row"
                self._bad(match, one, move, column, "total", why, cause, stated, running[seat], fixable=True)


def _called(game: Game) -> str:
    number = game.params.get("number")
    return f"{game.name}:{number}" if game.name == "ordinal_2x2" and number is not None else game.name


def _payoff_gap(game: Game, profile: Profile, written: Sequence[float | None]) -> float:
    return max((abs(w - d) for w, d in zip(written, game.payoff(profile), strict=True) if w is not None), default=0.0)


def _nearest(
    game: Game, profiles: Sequence[Profile], written: Sequence[float | None], actions: Sequence[int | None]
) -> tuple[Profile | None, str]:
    """Return the profile whose payoffs are nearest to the recorded ones; None for a tie."""
    ordered = sorted(profiles, key=lambda p: _payoff_gap(game, p, written))
    first, second = (_payoff_gap(game, p, written) for p in ordered[:2])
    if second - first <= CLOSE:
        return None, ""
    chosen = ", ".join(f"{game.actions[s][a]} for seat {s + 1}" for s, a in enumerate(ordered[0]) if actions[s] is None)
    return ordered[0], f"no action fits the payoffs written; taken: {chosen}, which pays nearest to them"


def _changed(game: Game, payoffs: Sequence[float | None], actions: Sequence[int | None]) -> tuple[Profile | None, str]:
    """Return the only profile that fits when one recorded action is changed; None for none or several."""
    candidates = [
        (profile, seat, action)
        for seat, action in enumerate(actions)
        if action is not None
        for profile in product(
            *(
                [b for b in range(len(game.actions[s])) if b != a] if a is None or s == seat else [a]
                for s, a in enumerate(actions)
            )
        )
        if _payoff_gap(game, profile, payoffs) <= CLOSE
    ]
    if len(candidates) != 1:
        return None, ""
    profile, seat, old = candidates[0]
    names = game.actions[seat]
    return profile, f"action of seat {seat + 1} repaired from {names[old]} to {names[profile[seat]]}"


def action_of(move: Move, game: Game, seat: int, mapping: Mapping) -> int | str:
    """Return the index of the recorded action, or a text that says why there is none."""
    text, names = canonical(str(move.action)), game.actions[seat]
    meanings = action_codes(move, mapping) or {
        **{str(place): place for place in range(1, len(names) + 1)}, **dict(zip(names, names, strict=True)),
    }  # fmt: skip
    if isinstance(meanings, str):
        return meanings
    if text not in meanings:
        return f"is no answer that the mapping knows (found {move.action!r}; allowed: {', '.join(sorted(meanings))})"
    meant = meanings[text]
    if game.has_action(seat, meant) if isinstance(meant, str) else 1 <= meant <= len(names):
        return game.index(seat, meant) if isinstance(meant, str) else meant - 1
    raise StudyError(
        f"the mapping takes {move.action!r} for {meant!r}, which is no action of seat {seat + 1} in game "
        f"{game.name}",
        key="options" if decoded_by_row(move, mapping) else "actions", allowed=names,
    )  # fmt: skip


def decoded_by_row(move: Move, mapping: Mapping) -> dict[str, str | int]:
    """Return the columns whose cells name the actions in this row, with the action of each; empty if none do."""
    return move.columns.options or ({} if move.columns.actions else mapping.options)


def action_codes(move: Move, mapping: Mapping) -> dict[str, str | int] | str:
    """Return the meaning of each recorded answer in this row, or a text that says why it is unknown."""
    options = decoded_by_row(move, mapping)
    if not options:
        return move.columns.actions or mapping.actions
    meanings: dict[str, str | int] = {}
    for column, meant in options.items():
        label = canonical(move.row[column])
        if not label:
            return f"column {column} does not say what the action is called here"
        if label in meanings:
            return f"columns {' and '.join(options)} call two actions {label!r}"
        meanings[label] = meant
    return meanings


def is_illegal(move: Move, game: Game, seat: int, mapping: Mapping) -> bool:
    """Return whether the mapping declares the recorded answer invalid."""
    unreadable = mapping.illegal == "any" and isinstance(action_of(move, game, seat, mapping), str)
    return unreadable or (mapping.illegal != "any" and canonical(str(move.action)) in mapping.illegal)
