"""Renders the past for a prompt: rounds line by line, a note, or counts of outcomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ostrom.framing.access import callable_in_templates, number
from ostrom.framing.config import Framing
from ostrom.framing.library import Library
from ostrom.framing.payoffs import standing
from ostrom.framing.rules import past_file
from ostrom.games.amounts import Options
from ostrom.games.game import Game
from ostrom.games.parameters import shown as shown_exactly
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory import Frequency, MemoryView

Labels: TypeAlias = tuple[Options, ...]
"""The labels of every seat's actions."""
_OF_PAST = frozenset(("kind", "newest_first", "span", "note", "gaps", "counts", "rounds"))
"""Values that a history file may use without being rendered anew for every prompt."""


class HistoryRenderer:
    """Renders the past for one player in one match; caches rendered lines."""

    def __init__(self, framing: Framing, library: Library, words: Mapping[str, str]) -> None:
        self.framing, self.library, self.words = framing, library, words
        self._lines: dict[int, tuple[Round, str]] = {}
        """Cache of rendered lines by round number, in the words of ``_view``."""
        self._view: View | None = None
        self._game: Game | None = None
        self._around: dict[tuple[Any, ...], list[str]] = {}
        self._values: Mapping[str, Any] = {}
        self._apart: dict[str, bool] = {}
        """Whether a history file uses none of ``_values``, by file."""

    def past(
        self, decision: Decision, shown: MemoryView, labels: Labels, values: Mapping[str, Any], file: str = "past.txt"
    ) -> str:
        """Return the text about the past; ``values`` are those of the prompt in every round."""
        view, framing, counts = decision.view, self.framing, None
        if shown.counts is not None:
            counts = self.library.fill(
                "counts.txt",
                {"counts": [self._count(view, count, labels) for count in shown.counts], "played": len(view.history)},
            )
        self._look_from(view)
        written = self._lines
        lines = [
            cached[1]
            if (cached := written.get(played.number)) is not None and cached[0] is played
            else self._write(view, played, labels)
            for played in shown.rounds
        ]
        if framing.newest_first:
            lines.reverse()
        rounds = "\n".join(lines)

        def told() -> dict[str, Any]:
            return {
                **values,
                "round": view.round,
                "kind": decision.kind,
                "newest_first": framing.newest_first,
                "span": shown.span,
                "note": shown.note,
                "gaps": shown.gaps,
                "counts": counts,
            }

        if values is not self._values:
            self._values, self._apart = values, {}
        if file not in self._apart:
            # Other names are set by the file itself, or make it depend on more than the key below.
            self._apart[file] = values.keys().isdisjoint(self.library.variables_of(file) - _OF_PAST)
        if not rounds or shown.note is not None or not self._apart[file]:
            return self.library.fill(file, {**told(), "rounds": rounds})
        return self.library.fill_around(
            self._shelf(view.game, labels),
            (file, decision.kind, shown.span, shown.gaps, counts),
            file,
            {"rounds": rounds},
            told,
        )

    def line(self, view: View, played: Round, labels: Labels) -> str:
        """Return one round of the past for this seat."""
        self._look_from(view)
        cached = self._lines.get(played.number)
        return cached[1] if cached is not None and cached[0] is played else self._write(view, played, labels)

    def _look_from(self, view: View) -> None:
        """Drop cached lines that this view would render differently."""
        if self._view is not None and not _sees_alike(self._view, view):
            self._lines.clear()
        self._view = view

    def _write(self, view: View, played: Round, labels: Labels) -> str:
        line = "" if played.void else self._round_line(view, played, labels)
        if played.missed:
            late = sorted(played.missed, key=lambda seat: (seat != view.seat, seat))
            observes = view.facts.get("observer")
            you = self.library.fill("names/you.txt", {"words": self.words})
            who = [you if s == view.seat and not observes else self.name(view, s) for s in late]
            line = self.library.fill(
                "history/missed.txt", {"number": played.number, "who": who, "void": played.void, "line": line}
            ).strip()
        if len(self._lines) > 4096:
            self._lines.clear()
        self._lines[played.number] = (played, line)
        return line

    def _round_line(self, view: View, played: Round, labels: Labels) -> str:
        """Render what was played in a round as one line."""
        if not view.game.has_table:
            return self.library.fill(
                past_file(self.library, view.game, self.framing.story),
                {**self._line_values(view, played, labels), **self._moves(view, played)},
            ).strip()
        file = f"history/{self.framing.history}.txt"
        return self.library.fill_around(
            self._shelf(view.game, labels),
            (file, played.actions, played.payoffs, view.seat, _names(view, played), bool(view.facts.get("observer"))),
            file,
            {"number": played.number},
            partial(self._line_values, view, played, labels),
        )

    def _moves(self, view: View, played: Round) -> dict[str, Any]:
        """Template values for a round of a game by a rule: its moves with the players' names, its facts."""
        view = replace(view, names=_names(view, played))
        observer = bool(view.facts.get("observer"))
        you = self.library.fill("names/you.txt", {"words": self.words})
        moves = [
            {
                **move,
                "you": (own := move["seat"] == view.seat and not observer),
                "name": you if own else self.name(view, move["seat"]),
                "short": you[:1].upper() + you[1:] if own else self.short(view, move["seat"]),
            }
            for move in played.facts["moves"]
        ]
        move_facts = {"moves": moves, "facts": played.facts, "seat": view.seat, "params": view.game.params}
        return {**move_facts, "amount": self.amount}  # as in the other files of a game

    def _shelf(self, game: Game, labels: Labels) -> dict[tuple[Any, ...], list[str]]:
        """The cache of texts that all matches of a game with the same action labels share."""
        if self._game is not game:
            self._game, self._around = game, self.library.memoize((self.framing, labels, id(game)), game, dict)
        return self._around

    @callable_in_templates
    def amount(self, value: float) -> str:
        """Return a payoff with its unit."""
        return self.library.fill("amount.txt", {"value": value, "units": self.framing.units})

    def paid(self, game: Game, seat: int, payoff: float) -> dict[str, Any]:
        """Return a seat's payoff in every form that prompt files use."""
        better, of = standing(game, seat, payoff) if game.has_table else (0, 1)
        return {
            "value": float(payoff),
            "payoff": shown_exactly(float(payoff)),
            "points": number(payoff),
            "amount": self.amount(payoff),
            "standing": self.library.fill("standing.txt", {"better": better, "of": of}),
        }

    def name(self, view: View, seat: int) -> str:
        """The name of a seat in a prompt: its pseudonym, or else its number."""
        return view.names[seat] if view.names else self._numbered("number", seat)

    def short(self, view: View, seat: int) -> str:
        """The name of a seat in a line of the history: its pseudonym, or else its number."""
        return view.names[seat] if view.names else self._numbered("short", seat)

    def _numbered(self, how: str, seat: int) -> str:
        return self.library.fill(f"names/{how}.txt", {"number": seat + 1, "words": self.words})

    def reader(self, observer: bool) -> Callable[[Sequence[Mapping[str, Any]], int], list[dict[str, Any]]]:
        """Return a function that lists the players of a round as a prompt names them: the reader first, as "you".

        For an observer, who is no player, all are listed by name in the order of the seats. ``choose`` and ``receive``
        are the forms of those verbs that fit the name.
        """
        words, you = self.words, self.library.fill("names/you.txt", {"words": self.words})

        def told(players: Sequence[Mapping[str, Any]], seat: int) -> list[dict[str, Any]]:
            order = [*range(len(players))]
            if not observer:
                order.sort(key=lambda s: s != seat)
            return [
                {
                    **players[s],
                    "you": (own := s == seat and not observer),
                    **({"name": you, "short": you[:1].upper() + you[1:]} if own else {}),
                    "choose": words["choose" if own else "chooses"],
                    "receive": words["receive" if own else "receives"],
                }
                for s in order
            ]

        return told

    def _count(self, view: View, count: Frequency, labels: Labels) -> str:
        """Describe how often an outcome happened, own action first."""
        players = [
            {"you": s == view.seat, "name": self.short(view, s), "label": labels[s][action]}
            for s, action in sorted(enumerate(count.actions), key=lambda pair: (pair[0] != view.seat, pair[0]))
            if action is not None
        ]
        return self.library.fill("count.txt", {"players": players, "times": count.times})

    def _line_values(self, view: View, played: Round, labels: Labels) -> dict[str, Any]:
        view = replace(view, names=_names(view, played))
        players = [
            {
                "name": self.name(view, s),
                "short": self.short(view, s),
                "label": labels[s][played.actions[s]],
                **self.paid(view.game, s, played.payoffs[s]),
            }
            for s in range(view.game.seats)
        ]
        own, observer = players[view.seat], bool(view.facts.get("observer"))
        return {
            "number": played.number,
            "own": own["label"],
            **{name: own[name] for name in ("value", "payoff", "points", "amount", "standing")},
            "others": [p for s, p in enumerate(players) if s != view.seat],
            "players": players,
            "told": self.reader(observer)(players, view.seat),
            "observer": observer,
            "words": self.words,
            "units": self.framing.units,
        }


def _names(view: View, played: Round) -> tuple[str, ...]:
    """Return the names of a round's players, who in a society may differ from the present ones."""
    return tuple(played.facts["names"]) if "names" in played.facts else view.names


def _sees_alike(one: View, other: View) -> bool:
    """Whether a round is rendered in the same words for both views."""
    return (
        one.seat == other.seat
        and one.game is other.game
        and one.names == other.names
        and (one.facts is other.facts or one.facts.get("observer") == other.facts.get("observer"))
    )


def short_name(view: View, seat: int) -> str:
    """The name of a seat in tables for people."""
    return view.names[seat] if view.names else f"P{seat + 1}"
