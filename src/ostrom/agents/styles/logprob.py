"""Compare the options' log-probabilities: one call, one token."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ostrom.agents.base import DecisionContext
from ostrom.agents.language import LanguageAgent, Style
from ostrom.agents.policy import RefusedReply
from ostrom.answers import Answer, Choice, Form, Invalid
from ostrom.answers.logprob import read_logprobs
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Abilities, Message, Request


class Logprob(Style):
    """Take the option with the highest probability as next token (Akata et al. 2025, equation 4).

    With temperature 0 the most probable option is taken; otherwise one is drawn from the probabilities,
    renormalised over the options and sharpened by the temperature.
    """

    name: ClassVar[str] = "logprob"

    def missing_ability(self, abilities: Abilities) -> str | None:
        """The ability that the model lacks, in words, if it reports no log-probabilities."""
        if abilities.logprobs:
            return None
        return "report log-probabilities (where its server does, say so by settings.dialect, the kind of server)"

    def most_tokens(self, form: Form, most: int | None) -> int | None:
        """1 for a choice; for any other form, the limit ``most``."""
        return 1 if isinstance(form, Choice) else most

    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """Answer with one call; questions that are no choice are asked directly."""
        if not isinstance(decision.form, Choice):
            return await agent.ask(decision, context)
        chat = agent.chat(decision, context)
        prompt = agent.prompt(decision, context) if chat is None else chat.prompt
        messages = agent.opening(prompt) if chat is None else [*chat.messages]
        if agent.model.abilities.prefill and prompt.stub:
            messages.append(Message("assistant", prompt.stub))
        temperature = float(agent.config.params.get("temperature", 0.0))
        request = Request(
            tuple(messages),
            {**agent.params(context, "logprob"), "temperature": 1.0, "max_tokens": 1},
            top_logprobs=20,
            lasting=0 if chat is None else chat.shared_prefix_length,
        )
        try:
            reply = await agent.call(context, request, "logprob")
        except RefusedReply as refusal:
            refused = agent.give_up(decision, context, str(refusal), refused=True)
            return refused if chat is None else chat.with_chat_turn(refused, str(refusal))
        read = read_logprobs(reply.logprobs or {}, prompt.labels)
        if isinstance(read, Invalid):
            context.count_invalid(read.reason)
            fallback = agent.give_up(decision, context, read.reason)
            return fallback if chat is None else chat.with_chat_turn(fallback, reply.text)
        if temperature > 0 and read.probabilities is not None:
            keys = list(read.probabilities)
            weights = np.array([read.probabilities[k] for k in keys]) ** (1 / temperature)
            weights /= weights.sum()
            odds = {k: float(w) for k, w in zip(keys, weights, strict=True)}
            read = replace(
                read, value=keys[int(context.draw("sample").choice(len(keys), p=weights))], probabilities=odds
            )
        answer = agent.with_facts(read, prompt)
        return answer if chat is None else chat.with_chat_turn(answer, prompt.labels[str(answer.value)])


STYLE = Logprob
