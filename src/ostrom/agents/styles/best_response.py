"""Compute the best response first, then choose."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ostrom.agents.base import DecisionContext
from ostrom.agents.style import Asker, Style
from ostrom.answers import Answer, Form
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.rounds import due_with, form_of


class ComputedFirst(Style):
    """Ask which action pays most against what is expected; then state that result and ask for the choice.

    The result is journaled as a part of the decision and shown nowhere else. Questions that are no action are
    asked directly.
    """

    name: ClassVar[str] = "best_response"
    calls: ClassVar[int] = 2
    questions: ClassVar[tuple[str, ...]] = ("best_response",)

    async def answer(self, agent: Asker, decision: Decision, context: DecisionContext) -> Answer:
        """One call for the best response, and one for the choice."""
        if decision.kind != "act":
            return await agent.ask(decision, context)
        view, game = decision.view, decision.view.game
        form: Form = decision.form
        if own := [turn for turn in due_with(view) if turn.seat == view.seat]:
            form = form_of(own[0].options)
        question = Decision(decision.player, self.name, view, form)

        async def compute() -> Answer:
            return await agent.ask(question, context, part=f"{self.name}.")

        computed = await context.answer_once(self.name, compute)
        # Only this prompt contains the result: the view of the rules is not changed.
        said = game.index(view.seat, str(computed.value)) if game.has_table else computed.value
        told = {**view.facts, "computed": said}
        return await agent.ask(replace(decision, view=replace(view, facts=told)), context)


STYLE = ComputedFirst
