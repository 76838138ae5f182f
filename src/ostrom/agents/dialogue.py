"""Dialogues: one chat per match, in which memory selects the earlier turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import orjson

from ostrom.agents.base import DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer, Choice, Form, Number, Text, read
from ostrom.framing import Prompt, PromptRenderer
from ostrom.framing.dialogue import DialogueRenderer
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory import Memory, MemoryView
from ostrom.models.base import Message


class ChatAgent(Protocol):
    """The attributes of an agent that a chat uses."""

    config: AgentConfig
    renderer: PromptRenderer
    memory: Memory


class Chat:
    """The chat that ends with one question, which becomes a turn of later chats when it is answered."""

    def __init__(self, agent: ChatAgent, decision: Decision, context: DecisionContext, memory: MemoryView) -> None:
        self.agent, self._earlier = agent, context.earlier_turns()
        turns, rounds_in_words = self._turns(decision.view, memory)
        heard = {place for turn in turns for place in turn.heard}
        new = {place: message for place, message in _numbered(decision.view).items() if place not in heard}
        self._new, self.decision = list(new), _saying(decision, new)
        order = context.draw("order") if agent.config.framing.order == "shuffled" else None
        words = DialogueRenderer(agent.renderer, self.decision, memory, order, agent.config.facts)
        self.prompt, self._stays = words.prompt, words.stays
        self.messages = [Message("system", self.prompt.system)] if self.prompt.system else []
        keeps_reasoning = agent.config.earlier_reasoning == "kept"
        for nth, turn in enumerate([*turns, _ChatTurn(rounds_in_words, self.prompt.text, decision.view.round)]):
            say = words.next if nth else words.opening
            self.messages.append(Message("user", say(turn.asked, turn.rounds, turn.round)))
            if turn.turn is not None:
                self.messages.append(Message("assistant", turn.turn.said if keeps_reasoning else turn.turn.answer))

    @property
    def shared_prefix_length(self) -> int:
        """Return how many messages of this chat the next one will begin with."""
        facts = self.decision.view.facts
        if self.agent.memory.grows if facts.get("repeated") else "records" not in facts:
            return len(self.messages)
        return 1 if self.prompt.system else 0

    def _turns(self, view: View, memory: MemoryView) -> tuple[list[_ChatTurn], list[Round]]:
        """Return the turns that remain, each after the rounds told before it, and the rounds after the last.

        A turn of the present round stays, and one of a round that memory shows and in which the player did
        what is shown. All other rounds that memory shows are told in words. What a turn told about rounds before
        its own stays as long as memory shows all of them.
        """
        real = {played.number: played for played in view.history}
        by_round: dict[int, list[Turn]] = {}
        for answer in self._earlier:
            turn = turn_of(answer)
            if turn is not None and turn.bout == _bout(view) and self._same_labels(answer, view):
                by_round.setdefault(turn.round, []).append(turn)
        exact = {played.number for played in memory.rounds if _same(played, real.get(played.number))}
        missing = min((number for number in real if number not in exact), default=view.round)
        turns: list[_ChatTurn] = []
        rounds_in_words: list[Round] = []
        for played in memory.rounds:
            number = played.number
            if number != view.round and _as_played(view, played, real.get(number)):
                for turn in by_round.get(number, ()):
                    turns.append(_earlier_turn(turn, rounds_in_words, in_full=number <= missing))
                    rounds_in_words = []
            rounds_in_words.append(played)
        for turn in by_round.get(view.round, ()):
            turns.append(_earlier_turn(turn, rounds_in_words, in_full=True))
            rounds_in_words = []
        return turns, rounds_in_words

    def _same_labels(self, answer: Answer, view: View) -> bool:
        """Return whether a turn uses the present action labels: a branch may have changed them."""
        facts = answer.facts or {}
        seat = int(facts.get("target", view.seat))
        earlier_labels, renderer, game = facts.get("labels", {}), self.agent.renderer, view.game
        if not game.has_table:
            labels = renderer.labelling.of_rule(game)
            now = labels.labels_for(labels.names(Choice(tuple(earlier_labels)), seat))
        else:
            now = dict(zip(game.actions[seat], renderer.labels(game)[seat], strict=True))
        return all(now.get(option, label) == label for option, label in earlier_labels.items())

    def with_chat_turn(self, answer: Answer, text: str) -> Answer:
        """Return the answer with its dialogue turn; questions set aside leave none."""
        view = self.decision.view
        if view.facts.get("aside"):
            return answer
        renderer = self.agent.renderer
        if answer.reading in ("policy", "refused"):
            alone = renderer.library.fill("dialogue/no_answer.txt", {})
        else:
            alone = answer_alone(self.decision.form, text, answer, self.prompt)
        if isinstance(self.decision.form, Number) and answer.reading == "constrained":
            # Servers return constrained numbers as JSON; the chat shows the plain answer instead.
            text = text.strip().rpartition("\n")[0] + "\n" + alone
        text = text.strip() or renderer.empty_reply_text()
        full_prompt = None if self.prompt.text == self._stays else self.prompt.text
        return with_turn(
            answer, Turn(len(self._earlier), _bout(view), view.round, self._stays, text, alone, full_prompt, self._new)
        )


@dataclass(frozen=True, slots=True)
class _ChatTurn:
    """A question in the chat, the rounds told before it, and its turn if answered."""

    rounds: list[Round]
    asked: str
    round: int
    turn: Turn | None = None
    heard: Sequence[tuple[int, int]] = ()


def _earlier_turn(turn: Turn, rounds: list[Round], *, in_full: bool) -> _ChatTurn:
    """Return an earlier turn in full, or without what it told about earlier rounds."""
    heard = [(number, place) for number, place in turn.heard if in_full or number == turn.round]
    question = turn.told if in_full and turn.told is not None else turn.asked
    return _ChatTurn(rounds, question, turn.round, turn, heard)


EVENTS = 10**6
"""The offset of the indices of negotiation events, which come after those of messages."""


def _numbered(view: View) -> dict[tuple[int, int], Any]:
    """Return the messages that a view quotes, by round and index."""
    sent = {(view.round, seat): text for seat, text in enumerate(view.facts.get("messages", ()))}
    places: Counter[int] = Counter()
    for message in view.facts.get("talk", {}).get("messages", ()):
        sent[message["round"], len(view.game.actions) + places[message["round"]]] = message
        places[message["round"]] += 1
    return sent | {(event["round"], EVENTS + place): event for place, event in enumerate(view.facts.get("log", ()))}


def _saying(decision: Decision, new: Mapping[tuple[int, int], Any]) -> Decision:
    """Return the decision with only these messages."""
    view = decision.view
    talk = [message for (_, place), message in new.items() if len(view.game.actions) <= place < EVENTS]
    parts = {
        "messages": [text for (_, place), text in new.items() if place < len(view.game.actions)],
        "talk": {**view.facts.get("talk", {}), "messages": talk},
        "log": [event for (_, place), event in new.items() if place >= EVENTS],
    }
    facts = {**view.facts, **{key: part for key, part in parts.items() if key in view.facts}}
    return replace(decision, view=replace(view, facts=facts))


def _bout(view: View) -> int:
    return int(view.facts.get("bout", 0))


def _same(remembered: Round, real: Round | None) -> bool:
    """Return whether a round is shown with its real moves."""
    return real is not None and remembered.actions == real.actions


def _as_played(view: View, remembered: Round, real: Round | None) -> bool:
    """Return whether a player did what it is shown to have done; rounds drawn for a sham were not played."""
    if real is None or view.facts.get("sham") or remembered.void != real.void:
        return False
    unseen = remembered.void or bool(view.facts.get("observer"))
    return unseen or remembered.actions[view.seat] == real.actions[view.seat]


def answer_alone(form: Form, text: str, answer: Answer, prompt: Prompt) -> str:
    """Return the answer without the reasons before it: the reply's last line, or JSON.

    >>> prompt = Prompt("", {"cooperate": "A0", "defect": "A1"}, "")
    >>> answer_alone(Choice(("cooperate", "defect")), "They will.\\n[A0]", Answer("cooperate", "exact"), prompt)
    '[A0]'
    """
    last = text.strip().rpartition("\n")[2].strip()
    again = None if isinstance(form, Text) else read(form, last, prompt.labels)
    match form:
        case Text():
            return text.strip()
        case Number() if last.startswith("{"):  # a bound reply
            return f"[{answer.value}]"
        case _ if isinstance(again, Answer) and again.value == answer.value:
            return last
        case Number():
            return f"[{answer.value}]"
        case Choice():
            return f"[{prompt.labels.get(answer.value, answer.value)}]"
    return orjson.dumps(_labelled(answer.value, prompt.labels)).decode()


def _labelled(value: Any, labels: Any) -> Any:
    """Return a value with option keys replaced by their labels."""
    match value:
        case dict():
            return {labels.get(key, key): _labelled(each, labels) for key, each in value.items()}
        case list():
            return [_labelled(each, labels) for each in value]
    return labels.get(value, value) if isinstance(value, str) else value


TURN = "turn"
"""The key of the turn in an answer's facts."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its reply, without the result: memory decides whether that is told."""

    nth: int
    """The number of earlier turns of the dialogue."""
    bout: int
    """The number of the meeting within the match; each has its own rounds and chat."""
    round: int
    asked: str
    """The question for later chats: without what it told about earlier rounds."""
    said: str
    """The reply as written."""
    answer: str
    """The answer part of the reply."""
    told: str | None = None
    """The question as it was asked, if it told more than ``asked``."""
    heard: Sequence[Sequence[int]] = ()
    """The messages that the question quoted, by round and index."""


def with_turn(answer: Answer, turn: Turn) -> Answer:
    """The answer with its turn among its facts."""
    return replace(answer, facts={**(answer.facts or {}), TURN: asdict(turn)})


def turn_of(answer: Answer) -> Turn | None:
    """Return the turn of an answer; None outside of dialogues."""
    data: Mapping[str, Any] | None = (answer.facts or {}).get(TURN)
    return None if data is None else Turn(**data)
