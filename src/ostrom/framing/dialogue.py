"""The texts of a dialogue: its first turn, and what later turns say about the rounds between."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ostrom.framing.prompt_renderer import PromptRenderer
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory import MemoryView


class DialogueRenderer:
    """Renders the turns of a chat that ends with a decision."""

    def __init__(
        self,
        renderer: PromptRenderer,
        decision: Decision,
        shown: MemoryView,
        rng: np.random.Generator | None,
        extra: Mapping[str, Any],
    ) -> None:
        self.renderer, self.shown = renderer, shown
        self.decision = decision = renderer.with_titles(decision)
        view, fill = decision.view, renderer.library.fill
        order = renderer.labelling.order_of(decision, rng)
        live = {"round": view.round, "span": shown.span, "gaps": shown.gaps, "note": shown.note}
        page = renderer.page_of(decision, order, shown.note, extra)
        self._values = renderer.live_values(page, decision, live, None)
        if view.names and renderer.framing.names == "numbers":
            # Partners change from round to round: the rules, which are said once, name nobody.
            general = replace(decision, view=replace(view, names=self._unnamed(view)))
            overview = renderer.page_of(general, order, shown.note, extra)
            self._values["setup"] = renderer.live_values(overview, general, {**live, "unnamed": True}, None)["setup"]
        self.prompt = renderer.prompt_of(page, decision.form, self._values, self._values["turn"])
        """The question with its instruction; the rules and the past are in the chat."""
        later = {**self._values, "earlier": True}
        later["question"] = renderer.question(decision, later)
        self.stays = fill("turn.txt", later)
        """The question for later chats, without what it tells about earlier rounds."""

    def _unnamed(self, view: View) -> tuple[str, ...]:
        """Return names of players for rules that hold for any partner."""
        file = "names/other.txt" if view.game.seats == 2 else "names/seat.txt"
        words = self.renderer.words
        return tuple(
            name if s == view.seat else self.renderer.library.fill(file, {"words": words, "number": s + 1})
            for s, name in enumerate(view.names)
        )

    def opening(self, turn: str, leading: Sequence[Round], _at: int) -> str:
        """Return the first user message: the rules, the memory's text, and the first question."""
        past = None
        if self.decision.view.facts.get("repeated"):
            history, labels = self.renderer.history_renderer, self.renderer.labels(self.decision.view.game)
            past = history.past(
                self.decision, replace(self.shown, rounds=leading), labels, self._values, "dialogue/past.txt"
            )
        return self._fill("prompt.txt", turn=self._turn(turn, past))

    def next(self, turn: str, rounds: Sequence[Round], at: int) -> str:
        """Return a later user message: results of finished rounds, and the question of round ``at``."""
        if not rounds:
            return self._turn(turn, None)
        lines = "\n".join(self.renderer.line(self.decision.view, played) for played in rounds)
        numbers = [played.number for played in rounds]
        return self._turn(turn, self._fill("dialogue/results.txt", rounds=lines, numbers=numbers, at=at))

    def _turn(self, turn: str, past: str | None) -> str:
        return self._fill("dialogue/turn.txt", past=past, turn=turn)

    def _fill(self, file: str, **more: Any) -> str:
        return self.renderer.library.fill(file, {**self._values, **more})
