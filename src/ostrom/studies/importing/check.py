"""Hold a recorded match against the game it is said to be of; what disagrees is found row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from ostrom.errors import StudyError
from ostrom.games.game import Game
from ostrom.studies.importing.mapping import Mapping, SeatColumns, canonical
from ostrom.studies.importing.moves import Move, Recorded, number_in

CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A payoff or a total in the file that the game contradicts."""

    file: str
    line: int
    column: str
    round: int
    found: float
    expected: float
    why: str

    def __str__(self) -> str:
        return f"{self.file}: line {self.line}, column {self.column}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Played:
    """One seat in one round, in the words of the game."""

    action: str
    written: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class CheckedMatch:
    """A match in the words of the game; ``paid`` is what the file says, or else what the game pays."""

    rounds: tuple[tuple[Played, ...], ...]
    paid: tuple[tuple[float, ...], ...]
    differs: bool
    """Whether something was paid that the game does not pay."""
    disagreements: tuple[Disagreement, ...]
    illegal: str | None
    """Why the match breaks off, where a player gave no valid answer."""


def check_match(match: Recorded, game: Game, mapping: Mapping) -> CheckedMatch:
    """Translate the moves of a match and compare every payoff and total with the game's."""
    if len(match.players) != game.seats:
        raise StudyError(
            f"game {game.name} has {game.seats} seats, this match has {len(match.players)} players",
            file=match.file, key=match.lines,
        )  # fmt: skip
    rounds: list[tuple[Played, ...]] = []
    paid: list[tuple[float, ...]] = []
    found: list[Disagreement] = []
    differs = False
    running = [0.0] * game.seats
    for number, moves in enumerate(match.rounds, 1):
        illegal = _illegal(match, moves, number, mapping)
        if illegal is not None:
            return CheckedMatch(tuple(rounds), tuple(paid), differs, tuple(found), illegal)
        actions = [_action(match, move, game, seat, mapping) for seat, move in enumerate(moves)]
        written = [_payoff(match, move) for move in moves]
        profile = _completed(match, moves, game, actions, written)
        due = game.payoff(profile)
        notes: list[str | None] = [None if a is not None else "follows from the payoffs" for a in actions]
        for seat, move in enumerate(moves):
            stated = written[seat]
            if stated is not None and abs(stated - due[seat]) > CLOSE:
                names = ", ".join(game.actions[s][a] for s, a in enumerate(profile))
                why = f"says {stated:g}, but game {game.name} pays {due[seat]:g} for ({names})"
                assert move.columns.payoff is not None
                found.append(
                    Disagreement(match.file, move.line, move.columns.payoff, number, stated, due[seat], why)
                )
                notes[seat] = f"payoff as written; the game pays {due[seat]:g}"
                differs = True
        kept = tuple(d if w is None else w for d, w in zip(due, written, strict=True))
        running = [r + k for r, k in zip(running, kept, strict=True)]
        found += _totals(match, moves, number, running, mapping)
        paid.append(kept)
        rounds.append(
            tuple(Played(game.actions[s][a], moves[s].action, notes[s]) for s, a in enumerate(profile))
        )
    return CheckedMatch(tuple(rounds), tuple(paid), differs, tuple(found), None)


def _illegal(match: Recorded, moves: Sequence[Move], number: int, mapping: Mapping) -> str | None:
    for move in moves:
        if move.action is not None and _is_illegal(canonical(move.action), move.columns, mapping):
            where = f"line {move.line}, column {move.columns.action}"
            if mapping.on_illegal == "refuse":
                raise StudyError(
                    "is no valid answer (on_illegal: skip-match imports the match as skipped)",
                    file=match.file, key=where, found=move.action,
                )  # fmt: skip
            return f"{match.file}: {where}: no valid answer in round {number} (found {move.action!r})"
    return None


def _is_illegal(text: str, columns: SeatColumns, mapping: Mapping) -> bool:
    if mapping.illegal == "any":
        return text not in (columns.actions or mapping.actions)
    return text in mapping.illegal


def _action(match: Recorded, move: Move, game: Game, seat: int, mapping: Mapping) -> int | None:
    if move.action is None:
        return None
    meanings = move.columns.actions or mapping.actions
    text = canonical(move.action)
    where = f"line {move.line}, column {move.columns.action}"
    if text not in meanings:
        raise StudyError(
            "is no answer that the mapping knows", file=match.file, key=where, found=move.action,
            allowed=sorted(meanings),
        )  # fmt: skip
    meant = meanings[text]
    names = game.actions[seat]
    if isinstance(meant, str) and meant in names:
        return names.index(meant)
    if isinstance(meant, int) and 1 <= meant <= len(names):
        return meant - 1
    raise StudyError(
        f"the mapping takes {move.action!r} for {meant!r}, which is no action of seat {seat + 1} in game "
        f"{game.name}",
        file=match.file, key=where, allowed=names,
    )  # fmt: skip


def _payoff(match: Recorded, move: Move) -> float | None:
    if move.payoff is None:
        return None
    assert move.columns.payoff is not None
    return number_in(match.file, move.line, move.columns.payoff, move.payoff)


def _completed(
    match: Recorded,
    moves: Sequence[Move],
    game: Game,
    actions: Sequence[int | None],
    written: Sequence[float | None],
) -> tuple[int, ...]:
    """The profile; an action that the file does not hold must follow from the payoffs that it does hold."""
    if None not in actions:
        return tuple(a for a in actions if a is not None)
    options = [range(len(game.actions[s])) if a is None else (a,) for s, a in enumerate(actions)]
    fitting = [
        profile
        for profile in product(*options)
        if all(
            w is None or abs(w - due) <= CLOSE for w, due in zip(written, game.payoff(profile), strict=True)
        )
    ]
    if len(fitting) == 1:
        return fitting[0]
    missing = next(s for s, a in enumerate(actions) if a is None)
    problem = "no action" if not fitting else "more than one action"
    shown = ", ".join(f"{w:g}" for w in written if w is not None) or "none"
    raise StudyError(
        f"the action of seat {missing + 1} is not in the file, and {problem} of game {game.name} fits the "
        f"payoffs written ({shown})",
        file=match.file, key=f"line {moves[missing].line}",
    )  # fmt: skip


def _totals(
    match: Recorded, moves: Sequence[Move], number: int, running: Sequence[float], mapping: Mapping
) -> list[Disagreement]:
    if mapping.totals == "final" and number < len(match.rounds):
        return []
    found = []
    for seat, move in enumerate(moves):
        if move.total is None:
            continue
        columns: SeatColumns = move.columns
        assert columns.total is not None
        stated = number_in(match.file, move.line, columns.total, move.total)
        if abs(stated - running[seat]) > CLOSE * max(1.0, abs(stated)):
            why = f"says {stated:g}, but the payoffs up to here add up to {running[seat]:g}"
            found.append(
                Disagreement(match.file, move.line, columns.total, number, stated, running[seat], why)
            )
    return found
