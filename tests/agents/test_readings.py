"""A short reply that comes again is read as before, and only where it answers the same question."""

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import Chat, Turn, with_turn
from ostrom.agents.language import AgentFactory, Invalidity, LanguageAgent
from ostrom.answers import Answer, Choice, Invalid
from ostrom.framing import Library, Prompt
from ostrom.games import build_game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import Decision, View
from ostrom.memory import MemoryView
from ostrom.models.base import Model, Reply, Request
from ostrom.models.providers.scripted import ScriptedModel

FORM = Choice(("C", "D"))
LABELS = {"C": "A0", "D": "A1"}


def agent(**config: Any) -> LanguageAgent:
    model = ScriptedModel("scripted/one", "[A0]")
    factory = AgentFactory({model.name: model}, Library(), Invalidity())
    made = factory.agent(AgentConfig(model=model.name, **config), Streams(0, 0))
    assert isinstance(made, LanguageAgent)
    return made


def value(found: Answer | Invalid) -> object:
    return found.value if isinstance(found, Answer) else None


def test_a_short_reply_to_the_same_question_is_the_same_answer() -> None:
    asked, prompt = agent(), Prompt("", LABELS, "")
    first = asked._read(Reply("[A0]"), prompt, FORM)
    assert value(first) == "C"
    assert asked._read(Reply("[A0]"), prompt, FORM) is first


def test_other_labels_forms_and_ends_of_the_same_reply_are_read_anew() -> None:
    asked, prompt = agent(), Prompt("", LABELS, "")
    assert value(asked._read(Reply("[A0]"), prompt, FORM)) == "C"
    assert value(asked._read(Reply("[A0]"), Prompt("", {"C": "A1", "D": "A0"}, ""), FORM)) == "D"
    three = Choice(("C", "D", "E"))
    assert value(asked._read(Reply("[A0]"), Prompt("", {"E": "A0", "C": "A1", "D": "A2"}, ""), three)) == "E"
    bound = asked._read(Reply("[A0]"), prompt, FORM, constrained=True)
    assert isinstance(bound, Answer) and bound.reading == "constrained"
    assert isinstance(asked._read(Reply("<think>A0", finish="length"), prompt, FORM), Invalid)


def test_an_answer_has_the_facts_of_the_prompt_that_it_answers() -> None:
    asked, answer = agent(), Answer("C", "exact")
    one, two = (Prompt("", LABELS, "", facts={"order": order}) for order in (["A0", "A1"], ["A1", "A0"]))
    first = asked.with_facts(answer, one)
    assert first.facts == one.facts and asked.with_facts(answer, one) is first
    assert asked.with_facts(answer, two).facts == two.facts


class Replying:
    """Answers calls from a list, and keeps what was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = iter(replies), list[tuple[str, Request]]()

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        return np.random.default_rng(1)

    async def call(self, model: Model, request: Request, part: str = "") -> Reply:
        self.asked.append((part, request))
        return Reply(next(self.replies))


def test_an_end_is_forced_in_few_tokens_and_a_seed_of_the_study_stays() -> None:
    params = {"temperature": 0, "max_tokens": 2000, "seed": 3}
    made, context = agent(params=params, style="reasoned"), Replying("I weigh it.", "[A1]")
    decision = act(View(build_game("prisoners_dilemma"), 0, "none"))
    found = asyncio.run(made.answer(decision, context))  # type: ignore[arg-type]
    assert (found.value, found.reading) == ("defect", "constrained")
    (first, asked), (second, more) = context.asked
    assert (first, second) == ("try0", "try0.end") and asked.params == params and asked.constraint is None
    assert more.params == {**params, "max_tokens": 300} and more.messages[-1].content == "I weigh it.\n"
    assert more.constraint is not None and more.constraint.choices == ("[A0]", "[A1]")
    assert made.params(context, "x") == params  # type: ignore[arg-type]
    assert agent(params={}).params(context, "x").keys() == {"seed"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("They cheated.\n[A1]", "exact"),
        ("They cheated, so I choose [A1].", "loose"),
        ("A reply that ends like this is an answer. [A1]", "loose"),
        ("I choose [A1] since they cheated.", "constrained"),
        ("I choose A1.", "constrained"),
        ("It is [A0] or [A1].", "constrained"),
        ("This gives me more than choosing [A1].", "constrained"),
    ],
)
def test_a_reply_that_ends_with_its_answer_is_not_asked_for_another(reply: str, reading: str) -> None:
    """A second call may contradict the first: it is made only where the reply does not end with an answer."""
    made, context = agent(style="reasoned"), Replying(reply, "[A0]")
    answer = asyncio.run(made.answer(act(View(build_game("prisoners_dilemma"), 0, "none")), context))  # type: ignore[arg-type]
    assert answer.reading == reading and len(context.asked) == 1 + (reading == "constrained")
    assert answer.value == ("cooperate" if reading == "constrained" else "defect")


@pytest.mark.parametrize("game", ["prisoners_dilemma", "ultimatum"])
@pytest.mark.parametrize("crossed", [False, True])
def test_a_turn_stays_in_a_chat_as_long_as_actions_are_called_what_they_were(game: str, crossed: bool) -> None:
    built = build_game(game)
    facts = (
        {} if built.has_table else {"stage": "reply", "moves": [{"seat": 0, "stage": "offer", "value": 5}], "offer": 5}
    )
    options = built.named_actions(1)
    view = View(built, 1, "none", facts=facts)
    shown = dict(zip(options, "FJ" if crossed else "JF", strict=True))
    answer = Answer(options[0], "exact", facts={"labels": shown})
    earlier = with_turn(answer, Turn(0, 0, 1, "What now?", "I like it: [J]", "[J]"))
    made = agent(conversation="dialogue", framing={"labels": "JF"})
    context: Any = SimpleNamespace(earlier_turns=lambda: [earlier])
    chat = Chat(made, Decision(1, "act", view, Choice(options)), context, MemoryView())
    assert ("I like it: [J]" in [message.content for message in chat.messages]) is not crossed
