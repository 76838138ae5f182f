"""The blocks of a prompt's fixed part (persona, payoffs, rules and aim), and the labels of its actions and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ostrom.answers import Form
from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import HistoryRenderer, Labels
from ostrom.framing.library import Library
from ostrom.framing.payoffs import OwnPayoffs, by_payoff, cells
from ostrom.framing.rules import NEUTRAL, OBSERVER, game_file, rules_text, story_file
from ostrom.games.amounts import Amounts
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.game import Game
from ostrom.games.steps import named_sets
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Decision, View


class Labelling:
    """The labels of a match: for each seat's actions, or for the named options of a game by a rule."""

    def __init__(self, framing: Framing, style: str, draw: np.random.Generator | None) -> None:
        self.framing, self.style, self._draw = framing, style, draw
        self._labels: dict[int, Labels] = {}
        self._of_rule: RuleLabels | None = None

    def labels(self, game: Game) -> Labels:
        """The labels of every seat's actions."""
        entry = self._labels.get(id(game))
        if entry is None and not game.has_table:
            entry = self._labels[id(game)] = game.actions
        if entry is None:
            entry = self.framing.drawn_labels([len(names) for names in game.actions], self._draw) or tuple(
                self.framing.labels_for(game.named_actions(s), self.style == "logprob") for s in range(game.seats)
            )
            if self.framing.counterbalance and self._draw is not None:
                shuffled = {n: self._draw.permutation(n) for n in sorted({len(k) for k in entry})}
                entry = tuple(tuple(seat[i] for i in shuffled[len(seat)]) for seat in entry)
            self._labels[id(game)] = entry
        return entry

    def of_rule(self, game: Game) -> RuleLabels:
        """Return the labels of named options of a game by a rule."""
        if self._of_rule is None or self._of_rule.game is not game:
            self._of_rule = RuleLabels(self.framing, self.style, game, self._draw)
        return self._of_rule

    def order_of(self, decision: Decision, rng: np.random.Generator | None) -> tuple[int, ...]:
        """Return the order of a seat's actions, drawn if shuffled."""
        view, framing = decision.view, self.framing
        if not view.game.has_table:
            return self.of_rule(view.game).ordered(
                decision.form, int(view.facts.get("target", view.seat)), framing, rng
            )
        if framing.order == "shuffled" and rng is not None:
            return tuple(int(i) for i in rng.permutation(len(view.game.actions[view.seat])))
        return naming(framing, view.game, view.seat)

    def named(self, decision: Decision, seat: int, order: tuple[int, ...]) -> dict[str, str]:
        """Return the labels of a seat's options in a decision, in the order of the prompt."""
        game = decision.view.game
        if not game.has_table:
            labels = self.of_rule(game)
            all_labels = labels.labels_for(of_form := labels.names(decision.form, seat))
            return {of_form[i]: all_labels[of_form[i]] for i in order}
        names, own = game.actions[seat], self.labels(game)[seat]
        return {names[i]: own[i] for i in (order if len(names) == len(order) else range(len(names)))}


def naming(framing: Framing, game: Game, seat: int) -> tuple[int, ...]:
    """Return the order in which prompts name a seat's actions: that of the game's words, or the reverse."""
    own_names = game.words.naming(seat, game.actions[seat])
    return own_names[::-1] if framing.order == "reversed" else own_names


class RuleLabels:
    """The labels of named options of a game by a rule in one match, or their own names.

    Labels belong to a number of options, so that stages that ask among equally many of them share their labels.
    """

    def __init__(self, framing: Framing, style: str, game: Game, draw: np.random.Generator | None) -> None:
        self.game, self._by_count = game, dict[int, tuple[str, ...]]()
        one_token = style == "logprob"
        if framing.labels == "actions" or (framing.labels is None and not one_token):
            return
        for count in sorted({len(options) for options in named_sets(game)}):
            drawn = framing.drawn_labels([count], draw)
            label_set = drawn[0] if drawn else framing.labels_for(("",) * count, one_token)
            if framing.counterbalance and draw is not None:
                label_set = tuple(label_set[i] for i in draw.permutation(count))
            self._by_count[count] = label_set

    def names(self, form: Form, seat: int) -> tuple[str, ...]:
        """Return the named options of a form in the order of the game; empty for amounts or no move."""
        options, actions = getattr(form, "options", ()), self.game.actions[seat]
        return tuple(name for name in (actions.also if isinstance(actions, Amounts) else actions) if name in options)

    def labels_for(self, names: Sequence[str]) -> dict[str, str]:
        """Return the label of each of these options, given in the order of the game."""
        return dict(zip(names, self._by_count.get(len(names), names), strict=True))

    def ordered(self, form: Form, seat: int, framing: Framing, rng: np.random.Generator | None) -> tuple[int, ...]:
        """Return the order of a form's named options."""
        count = len(self.names(form, seat))
        if framing.order == "shuffled" and rng is not None:
            return tuple(int(i) for i in rng.permutation(count))
        return tuple(range(count))[:: -1 if framing.order == "reversed" else 1]


class Blocks:
    """Renders the blocks of one player's prompts in one match."""

    def __init__(
        self,
        framing: Framing,
        library: Library,
        persona: str | None,
        history_renderer: HistoryRenderer,
        labels: Callable[[Game], Labels],
        draw_rows: Callable[[int], np.random.Generator] | None,
        introduces: bool = True,
    ) -> None:
        self.framing, self.library, self.persona = framing, library, persona
        self.history_renderer, self.labels, self._draw_rows = history_renderer, labels, draw_rows
        self._introduces = introduces

    def all(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the blocks of the fixed part; a game by a rule has its own texts and no payoff table."""
        framing, library, table = self.framing, self.library, view.game.has_table
        labels = self.labels(view.game)
        others = [s for s in range(view.game.seats) if s != view.seat or values["observer"]]
        return {
            "story": self.opening(values) if table else self._rule_story(view.game, values),
            "persona": self.introduction(values) if self._introduces else None,
            "meanings": self._meanings(view, view.seat, order) if table else [],
            "same_options": not table or all(seat == labels[view.seat] for seat in labels),
            "other_seats": [{"name": values["names"][s], "actions": self._listed(view, s)} for s in others if table],
            "payoffs": self._payoffs(view, order, values) if table else "",
            "chances": framing.chances and table,
            "rules": rules_text(library, view, framing.wording, values),
            "hint": library.fill(f"hints/{framing.hint}.txt", values) if framing.hint else "",
            "goal": library.fill(f"goals/{framing.goal}.txt", values) if framing.goal else "",
        }

    def _rule_story(self, game: Game, values: Mapping[str, Any]) -> str:
        """Return the text of a game by a rule, as an observer is told it if one is asked."""
        values = {**values, "params": game.params}
        story = (
            self.library.fill(game_file(game), values)
            if self.framing.story == NEUTRAL
            else self.library.open_story(story_file(self.framing, game), values)
        )
        return self.library.fill(OBSERVER, {**values, "told": story}) if values["observer"] else story

    def _payoffs(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> str:
        """Return the payoffs as the framing presents them, from a player's own side."""
        name, observer, game = self.framing.payoffs, bool(values["observer"]), view.game
        if name is None:
            return ""
        file, seat = f"payoffs/{name}.txt", 0 if observer else view.seat
        variables = self.library.variables_of(file)
        if observer and "own" in variables:
            raise StudyError(
                f"payoffs: {name} tells a player its own payoffs; an observer has none",
                key="agent.framing.payoffs", actual=name,
            )  # fmt: skip
        labels, names, history_renderer = self.labels(game), values["names"], self.history_renderer
        describe = history_renderer.paid, history_renderer.reader(observer)
        payoffs = (
            cells(game, seat, self._orders(view, order), labels, names, *describe)
            if "cells" in variables  # their number grows exponentially with the number of players
            else []
        )
        arranged = partial(self._arranged, view.seat)
        return self.library.fill(
            file,
            {**values, "cells": arranged(payoffs), "own": OwnPayoffs(game, view.seat, order, labels, names, arranged)},
        )

    def _orders(self, view: View, order: Sequence[int]) -> list[Sequence[int]]:
        """Return the order of actions at every seat for one reader."""
        game, seats = view.game, range(view.game.seats)
        if game.words.order:
            return [order if s == view.seat else naming(self.framing, game, s) for s in seats]
        return [order if count == len(order) else range(count) for count in [len(game.actions[s]) for s in seats]]

    def equilibria(self, game: Game, names: Sequence[str], labels: Labels) -> list[list[dict[str, Any]]] | None:
        """Return the pure equilibria by seat, for a hint about them."""
        hint = self.framing.hint
        if hint is None or "equilibria" not in self.library.variables_of(f"hints/{hint}.txt"):
            return None
        return [
            [{"seat": s, "name": names[s], "label": labels[s][a]} for s, a in enumerate(equilibrium.profile)]
            for equilibrium in pure_equilibria(game)
        ]

    def opening(self, values: Mapping[str, Any]) -> str:
        """The story's opening paragraph."""
        return self.library.open_story(story_file(self.framing, None), values)

    def introduction(self, values: Mapping[str, Any]) -> str | None:
        """Return the persona: a file in personas/, which may use the game's words, or a text."""
        return self.persona if not self.has_persona() else self.library.fill(f"personas/{self.persona}.txt", values)

    def has_persona(self) -> bool:
        """Return whether the persona is a file."""
        return self.persona is not None and self.library.has(f"personas/{self.persona}.txt")

    def _meanings(self, view: View, seat: int, order: Sequence[int]) -> list[dict[str, str]]:
        if not self.framing.meanings:
            return []
        labels, meanings = self.labels(view.game)[seat], view.game.words.actions[seat]
        return [{"label": labels[i], "meaning": meanings[i]} for i in order]

    def _listed(self, view: View, seat: int) -> list[dict[str, str]]:
        """Return the actions of a seat as others are told of them."""
        labels, places = self.labels(view.game)[seat], view.game.words.naming(seat, view.game.actions[seat])
        return self._meanings(view, seat, places) or [{"label": labels[i], "meaning": ""} for i in places]

    def _arranged(self, seat: int, rows: list[Any]) -> list[Any]:
        """Return rows in display order; a seat sees the same order throughout a match."""
        if self.framing.rows == "sorted":
            return by_payoff(rows)
        return (
            rows
            if self.framing.rows == "given" or self._draw_rows is None
            else [rows[int(i)] for i in self._draw_rows(seat).permutation(len(rows))]
        )
