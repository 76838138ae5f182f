"""The labels of actions and options in one match, and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostrom.answers import Form
from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import Labels
from ostrom.games.amounts import Amounts
from ostrom.games.game import Game
from ostrom.games.steps import named_sets
from ostrom.mechanisms.protocol import Decision


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
