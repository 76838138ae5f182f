"""A short reply that comes again is read as before, and only where it answers the same question."""

from __future__ import annotations

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import AgentFactory, Invalidity, LanguageAgent
from ostrom.answers import Answer, Choice, Invalid
from ostrom.framing import Library, Prompt
from ostrom.ground.streams import Streams
from ostrom.models.base import Reply
from ostrom.models.providers.scripted import ScriptedModel

FORM = Choice(("C", "D"))
LABELS = {"C": "A0", "D": "A1"}


def agent() -> LanguageAgent:
    model = ScriptedModel("scripted/one", "[A0]")
    factory = AgentFactory({model.name: model}, Library(), Invalidity())
    made = factory.agent(AgentConfig(model=model.name), Streams(0, 0))
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


def test_long_replies_are_not_kept() -> None:
    asked, prompt = agent(), Prompt("", LABELS, "")
    long = Reply("I weigh what each of us would gain, and then I choose.\n[A1]")
    first = asked._read(long, prompt, FORM)
    assert value(first) == "D" and asked._read(long, prompt, FORM) is not first
