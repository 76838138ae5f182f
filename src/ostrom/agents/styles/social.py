"""Predict what the others will do, then choose (social chain of thought: Akata et al. 2025)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ostrom.agents.style import Style
from ostrom.answers import Answer, Choice
from ostrom.mechanisms.protocol import Decision

if TYPE_CHECKING:
    from ostrom.agents.base import DecisionContext
    from ostrom.agents.language import LanguageAgent


class Social(Style):
    """Ask for a prediction first; then state it as the player's belief and ask for its best option.

    The prediction is journaled as a part of the decision and shown nowhere else: no history holds it, and the
    next round's prompts know nothing of it. Questions that are no action are asked directly.
    """

    name: ClassVar[str] = "social"
    calls: ClassVar[int] = 2
    questions: ClassVar[tuple[str, ...]] = ("predict",)

    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """One call per other player, and one for the choice."""
        if decision.kind != "act":
            return await agent.ask(decision, context)
        view = decision.view
        belief: list[dict[str, Any]] = []
        others = [seat for seat in range(view.game.seats) if seat != view.seat]
        for seat in others:
            part = "predict" if len(others) == 1 else f"predict{seat + 1}"
            predicted = await self._predict(agent, decision, context, seat, part)
            belief.append({"seat": seat, "action": view.game.index(seat, predicted.value)})
        # Only this prompt contains the belief: the view of the rules is not changed.
        told = replace(view, facts={**view.facts, "belief": belief})
        return await agent.ask(replace(decision, view=told), context)

    async def _predict(
        self, agent: LanguageAgent, decision: Decision, context: DecisionContext, seat: int, part: str
    ) -> Answer:
        view = decision.view
        asked = replace(view, facts={**view.facts, "target": seat})
        question = Decision(decision.player, "predict", asked, Choice(view.game.named_actions(seat)))

        async def ask() -> Answer:
            answer = await agent.ask(question, context, part=f"{part}.")
            return replace(answer, facts={**(answer.facts or {}), "target": seat})

        return await context.answer_once(part, ask)


STYLE = Social
