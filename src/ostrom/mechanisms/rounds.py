"""Playing one round of a game that says itself who decides when: the bridge from its turns to decisions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from ostrom.answers import Answer, Choice, Form, Number
from ostrom.games.amounts import IDLE, Amounts, Options
from ostrom.games.function import Due, End, FunctionGame, Now
from ostrom.ground.streams import Streams
from ostrom.mechanisms.missing import Missing, void_round
from ostrom.mechanisms.protocol import Decision, History, Round, View

RoundPlay: TypeAlias = Generator[list[Decision], Sequence[Answer], tuple[Round, End | None]]


@lru_cache(maxsize=1024)
def form_of(options: Options) -> Form:
    """The form of an answer among these options: the same object every time, as it is asked for in every turn."""
    if isinstance(options, Amounts):
        return Number(options.low, options.high, options.step, options.few)
    return Choice(options)


def play_round(
    game: FunctionGame,
    mechanism: str,
    number: int,
    history: History,
    told: Mapping[str, Any],
    streams: Streams,
    missing: Missing | None = None,
) -> RoundPlay:
    """Play a round: its decisions are of the kind ``act`` and carry their ``stage``; what was done is in the facts.

    A round that somebody misses is void where the rules say so, or where what they play instead is no option at that
    stage. It leaves behind what the round before did.
    """
    state = history[-1].facts.get("state", {}) if history else {}
    stages = game.begin(Now(number, state, lambda seat, purpose: streams.chance(number, seat, purpose)))
    moves: list[dict[str, Any]] = []
    late: list[int] = []
    due = next(stages)
    while True:
        answers = yield [_decision(game, mechanism, number, history, told, turn, moves) for turn in due]
        missed = [turn for turn, answer in zip(due, answers, strict=True) if answer.reading == "missed"]
        late += [turn.seat for turn in missed]
        default = None if missing is None else missing.default
        if any(default not in turn.options for turn in missed):
            facts = {"state": dict(state)} if state else {}
            return void_round(game, number, tuple(sorted(set(late))), facts=facts), None
        done = [
            _value(default if a.reading == "missed" else a.value, turn)
            for turn, a in zip(due, answers, strict=True)
        ]
        moves = moves + [
            {"seat": turn.seat, "stage": turn.stage, "value": value}
            for turn, value in zip(due, done, strict=True)
        ]
        try:
            due = stages.send(done)
        except StopIteration as stop:
            return _round(game, number, moves, stop.value, tuple(sorted(set(late)))), stop.value


def now_of(view: View, chance: Callable[[int, str], float]) -> Now:
    """Where the round of a view began, as far as its seat knows; ``chance`` stands for what it does not know."""
    known = {
        (view.seat, name): value for name, value in view.facts.items() if isinstance(value, int | float | str)
    }
    state = view.history[-1].facts.get("state", {}) if view.history else {}
    return Now(view.round, state, chance, known)


def due_with(view: View) -> list[Due]:
    """The turns that are due at the same time as the one that a view is about, that one included.

    None of them where what was done so far does not lead there without knowing what chance brought.
    """
    game = view.game
    assert isinstance(game, FunctionGame)
    stages = game.begin(now_of(view, Now().chance))
    left = [move["value"] for move in view.facts.get("moves", ())]
    due = next(stages)
    try:
        while left:
            due, left = stages.send(left[: len(due)]), left[len(due) :]
    except (StopIteration, LookupError, TypeError, ValueError):
        return []
    own = [turn for turn in due if (turn.seat, turn.stage) == (view.seat, view.facts["stage"])]
    return list(due) if own else []


def otherwise(game: FunctionGame, played: Round, seat: int) -> Round | None:
    """The round as if the last move of a seat had been another one, and all others had moved as they did.

    An amount becomes the end of its range that lies further away, an option the next one. None where nobody can say
    what would have followed: the round leaves something behind, chance decides in it, the seat did not move, or others
    could not have moved so.
    """
    moves = [dict(move) for move in played.facts.get("moves", ())]
    changed = max((i for i, move in enumerate(moves) if move["seat"] == seat), default=None)
    if game.stateful or played.void or changed is None:
        return None
    stages, at = game.begin(Now(played.number, chance=_refused)), 0
    try:
        due = next(stages)
        while True:
            for turn in due:
                move = moves[at]
                if at == changed:
                    move["value"] = _other(turn.options, move["value"])
                if (turn.seat, turn.stage) != (move["seat"], move["stage"]) or move[
                    "value"
                ] not in turn.options:
                    return None
                at += 1
            due = stages.send([move["value"] for move in moves[at - len(due) : at]])
    except (IndexError, _ByChance):
        return None
    except StopIteration as stop:
        if at < len(moves) or moves[changed]["value"] == played.facts["moves"][changed]["value"]:
            return None
        found = _round(game, played.number, moves, stop.value, played.missed)
        return replace(found, players=played.players, facts={**played.facts, **found.facts})


class _ByChance(Exception):
    """The rule asks for chance."""


def _refused(seat: int, purpose: str) -> float:
    raise _ByChance(f"{seat} {purpose}")


def _other(options: Options, value: Any) -> Any:
    if isinstance(options, Amounts):
        return options.high if value - options.low <= options.high - value else options.low
    return options[(options.index(value) + 1) % len(options)]


def hidden_facts(ends: Sequence[End | None]) -> dict[str, Any]:
    """What the rounds of a match keep from everybody, for the facts of its outcome: nothing, where there is nothing."""
    kept = [dict(end.hidden) if end is not None else {} for end in ends]
    return {"hidden": kept} if any(kept) else {}


def _decision(
    game: FunctionGame,
    mechanism: str,
    number: int,
    history: History,
    told: Mapping[str, Any],
    turn: Due,
    moves: list[dict[str, Any]],
) -> Decision:
    facts = {**told, **turn.facts, "stage": turn.stage, "moves": moves}
    return Decision(
        turn.seat, "act", View(game, turn.seat, mechanism, number, history, facts), form_of(turn.options)
    )


def _value(answer: Any, turn: Due) -> Any:
    """An answer as the game reads it: an amount of the turn, or the name of an option."""
    options = turn.options
    if isinstance(options, Amounts):
        return options.value(options.index(answer))
    return options[options.index(answer)]


def _round(
    game: FunctionGame, number: int, moves: list[dict[str, Any]], end: End, missed: tuple[int, ...]
) -> Round:
    """The round as the past holds it: the last move of every seat as its action, and every move among the facts."""
    last: dict[int, Any] = {move["seat"]: move["value"] for move in moves}
    actions = tuple(game.index(seat, last.get(seat, IDLE)) for seat in range(game.seats))
    facts: dict[str, Any] = {"moves": moves, **end.facts}
    if end.state:
        facts["state"] = dict(end.state)
    return Round(number, actions, tuple(float(x) for x in end.payoffs), facts=facts, missed=missed)
