"""Styles that ask a question first: predict what the others do (social chain of thought, Akata et al. 2025), or compute
the best response; then choose."""

from dataclasses import replace
from typing import Any, ClassVar

from ostrom.agents.base import DecisionContext
from ostrom.agents.language import LanguageAgent, Style
from ostrom.answers import Answer, Form
from ostrom.mechanisms.protocol import Decision, View
from ostrom.mechanisms.rounds import due_with, form_of


class Social(Style):
    """Ask for a prediction first; then state it as the player's belief and ask for its best option.

    The prediction is journaled as a part of the decision and shown nowhere else: no history holds it, and the
    next round's prompts know nothing of it. Questions that are no action are asked directly, as is a move of
    a game by a rule that nobody else makes at the same time.
    """

    name: ClassVar[str] = "social"
    calls: ClassVar[int] = 2
    questions: ClassVar[tuple[str, ...]] = ("predict",)

    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """Answer with one call per other player, and one for the choice."""
        if decision.kind != "act":
            return await agent.ask(decision, context)
        view, table = decision.view, decision.view.game.has_table
        belief: list[dict[str, Any]] = []
        others = _others(view)
        if not others:
            return await agent.ask(decision, context)
        for seat, form, extra_facts in others:
            part = "predict" if len(others) == 1 else f"predict{seat + 1}"
            predicted = await self._predict(agent, decision, context, seat, form, extra_facts, part)
            belief_value = view.game.index(seat, predicted.value) if table else predicted.value
            belief.append({"seat": seat, "action" if table else "value": belief_value})
        # Only this prompt contains the belief: the view of the rules is unchanged.
        return await agent.ask(replace(decision, view=replace(view, facts={**view.facts, "belief": belief})), context)

    async def _predict(
        self,
        agent: LanguageAgent,
        decision: Decision,
        context: DecisionContext,
        seat: int,
        form: Form,
        extra_facts: dict[str, Any],
        part: str,
    ) -> Answer:
        view = decision.view
        question = Decision(
            decision.player, "predict", replace(view, facts={**view.facts, **extra_facts, "target": seat}), form
        )

        async def ask() -> Answer:
            answer = await agent.ask(question, context, part=f"{part}.")
            return replace(answer, facts={**(answer.facts or {}), "target": seat})

        return await context.answer_once(part, ask)


def _others(view: View) -> list[tuple[int, Form, dict[str, Any]]]:
    """Return the others who decide at the same time: seat, answer form, and more facts for a question about it."""
    return [
        (turn.seat, form_of(turn.options), {} if view.game.has_table else {"target_stage": turn.stage})
        for turn in due_with(view)
        if turn.seat != view.seat
    ]


class ComputedFirst(Style):
    """Ask which action pays most against what is expected; then state that result and ask for the choice.

    The result is journaled as a part of the decision and shown nowhere else. Questions that are no action are
    asked directly.
    """

    name: ClassVar[str] = "best_response"
    calls: ClassVar[int] = 2
    questions: ClassVar[tuple[str, ...]] = ("best_response",)

    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """One call for the best response, and one for the choice."""
        if decision.kind != "act":
            return await agent.ask(decision, context)
        view, game = decision.view, decision.view.game
        own = [form_of(turn.options) for turn in due_with(view) if turn.seat == view.seat]
        question = Decision(decision.player, self.name, view, own[0] if own else decision.form)

        async def compute() -> Answer:
            return await agent.ask(question, context, part=f"{self.name}.")

        computed = await context.answer_once(self.name, compute)
        # Only this prompt contains the result: the view of the rules is unchanged.
        computed_action = game.index(view.seat, str(computed.value)) if game.has_table else computed.value
        return await agent.ask(
            replace(decision, view=replace(view, facts={**view.facts, "computed": computed_action})), context
        )


STYLE = Social
