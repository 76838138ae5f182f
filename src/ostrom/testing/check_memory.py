"""Conformance checks for memories; run them on your own too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ostrom.answers import Form, Record
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.memory import Memory, MemoryView, Note, memories
from ostrom.memory.base import Draw


def play_rounds(game: Game, profiles: Sequence[Sequence[int]]) -> list[Round]:
    """Finished rounds from action profiles, numbered from 1."""
    return [Round(n, tuple(p), game.payoff(p)) for n, p in enumerate(profiles, 1)]


def view_after(game: Game, rounds: Sequence[Round], seat: int = 0) -> View:
    """Return a seat's view after these rounds of a repeated game."""
    return View(game, seat, "repetition", len(rounds) + 1, History(list(rounds)), {"repeated": True})


def draws(seed: int = 0, player: int = 0) -> Draw:
    """Return keyed random draws as a match gives them to a player."""
    streams = Streams(seed, 7)
    return lambda number, purpose: streams.generator(number, player, f"memory:{purpose}")


def check_memory(memory: str | Mapping[str, Any] | Memory, *, histories: int = 6, seed: int = 0) -> None:
    """Raise AssertionError with one line if a memory breaks the contract.

    ``memory`` is a name, a specification or the object. It is shown random pasts of a game in both seats.
    """
    part = memory if isinstance(memory, Memory) else memories.build(memory)
    game = build_game("prisoners_dilemma")
    rng = np.random.default_rng(seed)
    for length in range(histories):
        rounds = play_rounds(game, rng.integers(0, 2, size=(3 * length, 2)).tolist())
        for seat in range(2):
            check_view(part, game, rounds, seat, seed)


def check_view(memory: Memory, game: Game, rounds: Sequence[Round], seat: int = 0, seed: int = 0) -> MemoryView:
    """Check what a memory shows after these rounds, and return it.

    The same draws must show the same past, which must not depend on later rounds or on private facts. Shown rounds
    must come in order, pay what the game pays, and be no more than the memory forecasts.
    """
    view, notes = view_after(game, rounds, seat), _notes(memory, view_after(game, rounds, seat))
    past = memory.show(view, draws(seed, seat), notes)
    assert _plain(memory.show(view, draws(seed, seat), notes)) == _plain(past), "shows another past each time"
    cut = replace(
        view,
        history=History(
            [*rounds, *(replace(r, number=len(rounds) + i) for i, r in enumerate(rounds[:3], 1))], len(rounds)
        ),
    )
    assert _plain(memory.show(cut, draws(seed, seat), notes)) == _plain(past), "knows rounds to come"
    altered = [replace(r, facts={"private": seat + i}) for i, r in enumerate(rounds)]
    assert _plain(memory.show(view_after(game, altered, seat), draws(seed, seat), notes)) == _plain(past), (
        "depends on private facts"
    )
    numbers = [r.number for r in past.rounds]
    assert numbers == sorted(set(numbers)), "shows rounds out of order or twice"
    assert all(1 <= n < view.round + past.before for n in numbers), "shows a round that cannot be past"
    for r in past.rounds:
        assert r.payoffs == game.payoff(r.actions), "shows payoffs that the game does not pay"
    assert len(past.rounds) <= memory.most_lines(len(rounds)), "shows more than it forecasts"
    return past


def _notes(memory: Memory, view: View) -> list[Note]:
    """Return notes as a player would have written them, round by round."""
    notes: list[Note] = []
    for length in range(len(view.history) + 1):
        due = memory.due(replace(view, round=length + 1, history=History(view.history[:length])), notes)
        if due is not None:
            notes.append(Note(f"the first {due.covers} rounds", due.covers, _named(due.form)))
    return notes


def _named(form: Form) -> tuple[int, ...]:
    """Return rounds as a player could name them: every second one."""
    if not isinstance(form, Record):
        return ()
    rounds = form.schema["properties"]["rounds"]
    allowed = rounds["items"].get("enum") or range(1, rounds["items"]["maximum"] + 1)
    return tuple(allowed[::2][: rounds["maxItems"]])


def _plain(shown: MemoryView) -> tuple[object, ...]:
    rounds = [(r.number, r.actions, r.payoffs) for r in shown.rounds]
    return (rounds, shown.span, shown.note, shown.gaps, shown.counts, shown.before)
