"""A dialogue: one chat per match, in which memory decides which earlier turns stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ostrom.agents.turn import Turn, turn_of, with_turn
from ostrom.answers import Answer, Choice, Form, Text, read
from ostrom.framing import Prompt
from ostrom.framing.dialogue import DialogueRenderer
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory import Shown
from ostrom.models.base import Message

if TYPE_CHECKING:
    from ostrom.agents.base import DecisionContext
    from ostrom.agents.language import LanguageAgent


class Chat:
    """The chat that ends with one question, and the turn that it becomes once it is answered."""

    def __init__(
        self, agent: LanguageAgent, decision: Decision, context: DecisionContext, shown: Shown
    ) -> None:
        self.agent, self.decision, self._earlier = agent, decision, context.earlier_turns()
        order = context.draw("order") if agent.config.framing.order == "shuffled" else None
        words = DialogueRenderer(agent.renderer, decision, shown, order, agent.config.facts)
        self.prompt, self._stays = words.prompt, words.stays
        self.messages = [Message("system", self.prompt.system)] if self.prompt.system else []
        begun = False
        for rounds, answer in self._turns(shown):
            turn = None if answer is None else turn_of(answer)
            text = self.prompt.text if turn is None else turn.asked
            if begun:
                self.messages.append(Message("user", words.next(text, rounds)))
            else:
                self.messages.append(Message("user", words.opening(text, rounds)))
                begun = True
            if turn is not None:
                kept = agent.config.earlier_reasoning == "kept"
                self.messages.append(Message("assistant", turn.said if kept else turn.answer))

    @property
    def lasting(self) -> int:
        """How many of the messages begin the next chat too."""
        if self.agent.memory.grows or not self.decision.view.facts.get("repeated"):
            return len(self.messages) - (self.prompt.text != self._stays)
        return len(self.messages[:1]) if self.prompt.system else 0

    def _turns(self, shown: Shown) -> list[tuple[list[Round], Answer | None]]:
        """Every turn that stays, after the rounds that are told before it; the last one is the question itself.

        A turn of the present round stays, and one of a round that memory shows and in which the player did
        what is shown. All other rounds that memory shows are told in words.
        """
        view = self.decision.view
        real = {played.number: played for played in view.history}
        by_round: dict[int, list[Answer]] = {}
        for answer in self._earlier:
            turn = turn_of(answer)
            if turn is not None and turn.bout == _bout(view) and self._same_labels(answer, view):
                by_round.setdefault(turn.round, []).append(answer)
        turns: list[tuple[list[Round], Answer | None]] = []
        told: list[Round] = []
        for played in shown.rounds:
            if played.number != view.round and _as_played(view, played, real.get(played.number)):
                for answer in by_round.get(played.number, ()):
                    turns.append((told, answer))
                    told = []
            told.append(played)
        for answer in by_round.get(view.round, ()):
            turns.append((told, answer))
            told = []
        return [*turns, (told, None)]

    def _same_labels(self, answer: Answer, view: View) -> bool:
        """Whether a turn calls the actions what they are called now: a branch may have changed that."""
        facts = answer.facts or {}
        seat = int(facts.get("target", view.seat))
        now = dict(zip(view.game.actions[seat], self.agent.renderer.labels(view.game)[seat], strict=True))
        return all(now.get(option, label) == label for option, label in facts.get("labels", {}).items())

    def kept(self, answer: Answer, said: str) -> Answer:
        """The answer with the turn that it leaves; questions on which nothing depends leave none."""
        view = self.decision.view
        if view.facts.get("aside"):
            return answer
        renderer = self.agent.renderer
        if answer.reading in ("policy", "refused"):
            alone = renderer.library.fill("dialogue/no_answer.txt", {})
        else:
            alone = answer_alone(self.decision.form, said, answer, self.prompt)
        said = said.strip() or renderer.nothing()
        nth = len(self._earlier)
        return with_turn(answer, Turn(nth, _bout(view), view.round, self._stays, said, alone))


def _bout(view: View) -> int:
    return int(view.facts.get("bout", 0))


def _as_played(view: View, shown: Round, real: Round | None) -> bool:
    """Whether a player did in a round what it is shown to have done; rounds drawn for a sham were not played."""
    if real is None or view.facts.get("sham") or shown.void != real.void:
        return False
    if shown.void or view.facts.get("observer"):
        return True
    return shown.actions[view.seat] == real.actions[view.seat]


def answer_alone(form: Form, said: str, answer: Answer, prompt: Prompt) -> str:
    """The answer without the reasons that were written before it: the reply's last line, or else as JSON.

    >>> prompt = Prompt("", {"cooperate": "A0", "defect": "A1"}, "")
    >>> answer_alone(Choice(("cooperate", "defect")), "They will.\\n[A0]", Answer("cooperate", "exact"), prompt)
    '[A0]'
    """
    if isinstance(form, Text):
        return said.strip()
    last = said.strip().rpartition("\n")[2].strip()
    again = read(form, last, prompt.labels)
    if isinstance(again, Answer) and again.value == answer.value:
        return last
    if isinstance(form, Choice):
        return f"[{prompt.labels.get(answer.value, answer.value)}]"
    return orjson.dumps(_labelled(answer.value, prompt.labels)).decode()


def _labelled(value: Any, labels: Any) -> Any:
    """A value with the labels of options in place of their keys."""
    if isinstance(value, dict):
        return {labels.get(key, key): _labelled(each, labels) for key, each in value.items()}
    if isinstance(value, list):
        return [_labelled(each, labels) for each in value]
    return labels.get(value, value) if isinstance(value, str) else value
