"""One player's voice in one match: turns its decisions into prompts and keeps what need not be said anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson

from ostrom.answers import Choice, Form, Mixture, Record, Text
from ostrom.errors import StudyError
from ostrom.framing.chronicle import Chronicle, seat_name
from ostrom.framing.config import Framing
from ostrom.framing.library import Library, mark, put_in, split_marks
from ostrom.framing.outcomes import by_payoff, cells
from ostrom.framing.own_payoffs import OwnPayoffs
from ostrom.framing.page import Page, Prompt
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory import Shown


class Voice:
    """Renders the decisions of one player. Built per match: labels may be drawn for it."""

    def __init__(
        self,
        framing: Framing,
        library: Library,
        style: str,
        persona: str | None = None,
        draw_labels: np.random.Generator | None = None,
        draw_rows: Callable[[int], np.random.Generator] | None = None,
    ) -> None:
        self.framing, self.library, self.style = framing, library, style
        self.story = library.story(framing.story)
        self.words = self.story.words
        self.chronicle = Chronicle(framing, library, self.words)
        self.persona = persona
        self._draw_labels, self._draw_rows = draw_labels, draw_rows
        self._labels: dict[int, tuple[tuple[str, ...], ...]] = {}
        self._setup: tuple[tuple[Any, ...], Mapping[str, Any], str] | None = None
        self._fixed: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._instructions: dict[tuple[Any, ...], str] = {}
        self._around: dict[tuple[Any, ...], list[str]] = {}
        self._pages: dict[str, Page] = {}

    _fixed_names = frozenset(
        ("words", "units", "you", "others", "options", "labels", "common", "amount", "names", "seat", "role")
        + ("game", "carried", "mechanism")
    )

    def prompt(
        self, decision: Decision, shown: Shown, rng: np.random.Generator | None, extra: Mapping[str, Any]
    ) -> Prompt:
        """The whole prompt of a decision; ``rng`` draws the order of the options where it is shuffled."""
        decision = self._titled(shifted(decision, shown.before))
        view = decision.view
        order = self._order(view.game, view.seat, rng)
        page = self._pages.get(decision.kind)
        if page is None or not page.fits(decision, order, shown.note, extra):
            page = self._pages[decision.kind] = self._page(decision, order, shown.note, extra)
        past = None
        if view.facts.get("repeated"):
            past = self.chronicle.past(decision, shown, self.labels(view.game))
        return Prompt(self._text(page, view.round, past), page.options, page.instruction, page.facts)

    def _page(
        self, decision: Decision, order: tuple[int, ...], note: str | None, extra: Mapping[str, Any]
    ) -> Page:
        view, form = decision.view, decision.form
        labels = self.labels(view.game)
        asked = int(view.facts.get("target", view.seat))  # a prediction names another seat's options
        names = view.game.actions[asked]
        named = {
            names[i]: labels[asked][i] for i in (order if len(names) == len(order) else range(len(names)))
        }
        options = _options(form, named)
        values = self._values(view, order, {**extra, "kind": decision.kind, "target": seat_name(view, asked)})
        instruction = self.instruction(form, options, values)
        setup = self._setup_text(view, order, values)
        return Page(decision, order, note, extra, options, instruction, setup, {**values, "note": note})

    def _text(self, page: Page, number: int, past: str | None) -> str:
        """The text of a page in some round. What surrounds the round and the past is made once."""
        page.uses += 1
        if page.uses == 2:
            page.pieces = self._pieces(page, past)
        if page.pieces is not None and past != "":
            return put_in(page.pieces, {"round": number, "past": past})
        question = self.library.fill(self._question_file(page.decision), {**page.values, "round": number})
        holes = {"question": question, "instruction": page.instruction}
        if past is not None:
            holes["past"] = past
        turn = self.library.fill_around(
            self._around, ("turn", past is None), "turn.txt", holes, lambda: {"past": None}
        )
        return f"{page.setup}\n\n{turn}"

    def _pieces(self, page: Page, past: str | None) -> list[str] | None:
        """The text of a page around its round and its past; None where the prompt files ask for more."""
        library, form = self.library, page.decision.form
        if not (isinstance(form, Choice) and library.steady(self._answer_file(form))):
            return None
        question = library.marked(self._question_file(page.decision), page.values, ("round",))
        if question is None:
            return None
        holes = {"question": question} if past is None else {"question": question, "past": mark("past")}
        turn = library.marked("turn.txt", {"instruction": page.instruction, "past": None}, holes)
        if turn is None:
            return None
        pieces = split_marks(f"{page.setup}\n\n{put_in(split_marks(turn), holes)}")
        return pieces if set(pieces[1::2]) <= {"round", "past"} else None

    def labels(self, game: Game) -> tuple[tuple[str, ...], ...]:
        """The labels of every seat's actions."""
        known = self._labels.get(id(game))
        if known is None:
            drawn = self.framing.drawn_labels([len(names) for names in game.actions], self._draw_labels)
            known = drawn or tuple(
                self.framing.labels_for(names, self.style == "logprob") for names in game.actions
            )
            if self.framing.counterbalance and self._draw_labels is not None:
                shuffled = {n: self._draw_labels.permutation(n) for n in sorted({len(k) for k in known})}
                known = tuple(tuple(seat[i] for i in shuffled[len(seat)]) for seat in known)
            self._labels[id(game)] = known
        return known

    def instruction(self, form: Form, options: Mapping[str, str], values: Mapping[str, Any]) -> str:
        """How the answer has to be given."""
        file = self._answer_file(form)
        key = None
        if isinstance(form, Choice) and self.library.steady(file):
            key = (file, *options.values(), values.get("kind"), values.get("target"))
            if (known := self._instructions.get(key)) is not None:
                return known
        text = self._instruct(form, options, values, file)
        if key is not None:
            self._instructions[key] = text
        return text

    def _answer_file(self, form: Form) -> str:
        name = type(form).__name__.lower()
        own = f"answers/{name}_{self.style}.txt"
        return own if self.library.has(own) else f"answers/{name}_direct.txt"

    def _instruct(self, form: Form, options: Mapping[str, str], values: Mapping[str, Any], file: str) -> str:
        shown = list(options.values())
        more: dict[str, Any] = {
            "options": shown,
            "bracketed": [f"[{label}]" for label in shown],
            "quoted": [f'"{label}"' for label in shown],
            "most_words": self.framing.words,
            "caps": "",
            "record": "",
            "text_words": form.words if isinstance(form, Text) else 0,
        }
        if isinstance(form, Record):
            about = {**values, "schema": form.schema, "most_words": self.framing.words}
            more["record"] = self.library.fill(f"records/{form.name}.txt", about)
        if isinstance(form, Mixture) and form.caps:
            bounds = [f"{options[key]} at most {cap}" for key, cap in form.caps.items()]
            more["caps"] = f"Bounds that you are committed to: {', '.join(bounds)}."
        return self.library.fill(file, {**values, **more})

    def correction(self, reason: str, instruction: str) -> str:
        """What is said after a reply that could not be read."""
        return self.library.fill("answers/correction.txt", {"reason": reason, "instruction": instruction})

    def _order(self, game: Game, seat: int, rng: np.random.Generator | None) -> tuple[int, ...]:
        """The places of a seat's actions in the order of naming; ``given`` is the game's own order."""
        given = game.words.naming(seat, game.actions[seat])
        if self.framing.order == "reversed":
            return given[::-1]
        if self.framing.order == "shuffled" and rng is not None:
            return tuple(int(i) for i in rng.permutation(len(given)))
        return given

    def _orders(self, view: View, order: Sequence[int]) -> list[Sequence[int]]:
        """The order of naming at every seat, as one reader sees it."""
        game, seats = view.game, range(view.game.seats)
        if game.words.order:
            return [order if s == view.seat else self._order(game, s, None) for s in seats]
        counts = [len(game.actions[s]) for s in seats]
        return [order if count == len(order) else range(count) for count in counts]

    def _values(self, view: View, order: Sequence[int], extra: Mapping[str, Any]) -> dict[str, Any]:
        key = (id(view.game), view.seat, view.mechanism, view.names, *order)
        fixed = self._fixed.get(key)
        if fixed is None:
            fixed = self._fixed[key] = self._fixed_values(view, order)
        return {**fixed, "facts": view.facts, "round": view.round, **extra}

    def _fixed_values(self, view: View, order: Sequence[int]) -> dict[str, Any]:
        """What stays the same for a seat all through a match."""
        labels = self.labels(view.game)
        return {
            "words": self.words,
            "units": self.framing.units,
            "you": seat_name(view, view.seat),
            "others": [seat_name(view, s) for s in range(view.game.seats) if s != view.seat],
            "options": [labels[view.seat][i] for i in order],
            "labels": labels,
            "common": _common(view, labels),
            "amount": self.chronicle.amount,
            "names": [seat_name(view, s) for s in range(view.game.seats)],
            "seat": view.seat,
            "role": view.game.roles[view.seat],
            "game": view.game,
            "carried": view.game.words.at(view.seat),
            "mechanism": view.mechanism,
        }

    def _question_file(self, decision: Decision) -> str:
        own = f"turns/{decision.view.mechanism}_{decision.kind}.txt"
        return own if self.library.has(own) else f"turns/{decision.kind}.txt"

    def _setup_text(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> str:
        key = (id(view.game), view.seat, view.mechanism, tuple(order), view.names)
        if self._setup is None or self._setup[0] != key or self._setup[1] is not view.facts:
            self._setup = (key, view.facts, self._shared_setup(view, order, values))
        return self._setup[2]

    def _shared_setup(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> str:
        """The fixed part, made once for all matches in which a seat is told the same."""
        if self.framing.rows == "shuffled":
            return self._render_setup(view, order, values)
        varying = {name: v for name, v in values.items() if name not in self._fixed_names and name != "round"}
        try:
            told = orjson.dumps(varying, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        except TypeError:
            return self._render_setup(view, order, values)
        labels = self.labels(view.game)
        key = (
            self.framing,
            self.persona,
            id(view.game),
            view.seat,
            view.mechanism,
            view.names,
            *order,
            labels,
            told,
        )
        return self.library.kept(key, view.game, lambda: self._render_setup(view, order, values))

    def _render_setup(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> str:
        framing, library = self.framing, self.library
        labels = self.labels(view.game)
        same = all(seat == labels[view.seat] for seat in labels)
        others = [
            {"options_line": f"The {self.words['options']} of {seat_name(view, s)}: {self._listed(view, s)}."}
            for s in range(view.game.seats)
            if s != view.seat
        ]
        observer = bool(view.facts.get("observer"))
        payoffs = ""
        if framing.payoffs is not None:
            told = cells(
                view.game, 0 if observer else view.seat, self._orders(view, order), labels, values["names"],
                self.chronicle.amount,
            )  # fmt: skip
            file = "observer/payoffs.txt" if observer else f"payoffs/{framing.payoffs}.txt"
            arranged = partial(self._arranged, view.seat)
            own = OwnPayoffs(view.game, view.seat, order, labels, values["names"], arranged)
            payoffs = library.fill(file, {**values, "cells": arranged(told), "own": own})
        return library.fill(
            "observer/setup.txt" if observer else "setup.txt",
            {
                **values,
                "story": self.opening(values),
                "persona": self.introduction(values),
                "meanings": self._meanings(view, order),
                "same_options": same,
                "other_seats": others,
                "payoffs": payoffs,
                "rules": library.fill(f"mechanisms/{view.mechanism}.txt", values),
                "hint": library.fill(f"hints/{framing.hint}.txt", values) if framing.hint else "",
                "goal": library.fill(f"goals/{framing.goal}.txt", values) if framing.goal else "",
            },
        )

    def opening(self, values: Mapping[str, Any]) -> str:
        """The story's opening paragraph."""
        return self.library.open_story(self.framing.story, values)

    def introduction(self, values: Mapping[str, Any]) -> str | None:
        """Who the player is: a file in personas/, which may speak of the game's words, or a text."""
        if self.persona is None or not self.library.has(f"personas/{self.persona}.txt"):
            return self.persona
        return self.library.fill(f"personas/{self.persona}.txt", values)

    def lacks(self, game: Game) -> str | None:
        """What the framing wants to tell and the game has no words for, in words."""
        words = game.words
        if self.framing.names == "titles" and not words.titles:
            return "names: titles needs a game that carries titles"
        if self.framing.meanings and not words.actions:
            return "meanings needs a game that says what its actions mean"
        for seat in range(game.seats):
            view = self._titled(
                Decision(seat, "act", View(game, seat, "none"), Choice(game.actions[seat]))
            ).view
            values = self._values(view, range(len(game.actions[seat])), {})
            try:
                self.opening(values), self.introduction(values)
                if self.framing.hint is not None:
                    self.library.fill(f"hints/{self.framing.hint}.txt", values)
            except StudyError as error:
                return f"{error} (the game carries no such words)"
        return None

    def _titled(self, decision: Decision) -> Decision:
        """The decision with seats called by the titles that the game carries, where the framing wants it."""
        view = decision.view
        if self.framing.names != "titles" or view.names:
            return decision
        return replace(decision, view=replace(view, names=tuple(f"the {t}" for t in view.game.words.titles)))

    def _meanings(self, view: View, order: Sequence[int]) -> list[dict[str, str]]:
        if not self.framing.meanings:
            return []
        labels, meanings = self.labels(view.game)[view.seat], view.game.words.actions[view.seat]
        return [{"label": labels[i], "meaning": meanings[i]} for i in order]

    def _listed(self, view: View, seat: int) -> str:
        labels, words = self.labels(view.game)[seat], view.game.words
        naming = words.naming(seat, view.game.actions[seat])
        if not self.framing.meanings:
            return ", ".join(labels[i] for i in naming)
        return ", ".join(f"{labels[i]} ({words.actions[seat][i]})" for i in naming)

    def _arranged(self, seat: int, rows: list[Any]) -> list[Any]:
        """Rows in the order in which they are shown; a seat sees the same order all through a match."""
        if self.framing.rows == "sorted":
            return by_payoff(rows)
        if self.framing.rows == "given" or self._draw_rows is None:
            return rows
        return [rows[int(i)] for i in self._draw_rows(seat).permutation(len(rows))]

    def line(self, view: View, played: Round) -> str:
        """One round of the past as this seat reads it."""
        return self.chronicle.line(view, played, self.labels(view.game))


def shifted(decision: Decision, before: int) -> Decision:
    """The decision in a match that pretends to have had so many rounds before its first."""
    if not before:
        return decision
    view = decision.view
    facts = view.facts
    if "rounds" in facts:
        facts = {**facts, "rounds": facts["rounds"] + before}
    return replace(decision, view=replace(view, round=view.round + before, facts=facts))


def _common(view: View, labels: Sequence[Sequence[str]]) -> list[str]:
    """What the k-th action of every seat is called, for rules that speak of all seats at once."""
    named = []
    for same in zip(*labels, strict=False):
        if len(set(same)) == 1:
            named.append(same[0])
        else:
            each = [f"{label} ({seat_name(view, s)})" for s, label in enumerate(same)]
            named.append(" or ".join(each))
    return named


def _options(form: Form, named: Mapping[str, str]) -> dict[str, str]:
    """Labels of a form's options in the order of naming; an option that is no action is its own label."""
    if isinstance(form, Text):
        return {}
    known = {key: label for key, label in named.items() if key in form.options}
    return {**known, **{key: key for key in form.options if key not in known}}
