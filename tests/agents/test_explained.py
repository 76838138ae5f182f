"""Answers with a reason, and mixed strategies over named actions or a few amounts."""

import pytest

from ostrom.agents.explained import bare, explained, is_explained, mixed, taken
from ostrom.answers import Answer, Choice, Mixture, Number, Record, Text
from ostrom.ground.errors import OstromError


def test_an_amount_in_a_record_is_a_range_or_a_list_and_comes_back_as_it_was() -> None:
    whole, steps = explained(Number(0, 10), None), explained(Number(0, 1, 0.25), 20)
    assert whole.schema["properties"]["action"] == {"type": "integer", "minimum": 0, "maximum": 10}
    assert whole.schema["properties"]["rationale"] == {"type": "string"}
    assert steps.schema["properties"]["action"] == {"type": "number", "enum": [0, 0.25, 0.5, 0.75, 1]}
    assert steps.schema["properties"]["rationale"] == {"type": "string", "maxLength": 200}
    assert explained(Number(0, 499, 1.0), 1).name == explained(Number(0, 49.9, 0.1), 1).name == "explained"
    halves = {"type": "number", "enum": [0.5, 1.5, 2.5]}
    assert explained(Number(0.5, 2.5), 1).schema["properties"]["action"] == halves
    tenths = Number(0.3, 0.9, 0.1)  # 0.4 - 0.3 is not 0.1
    for form in (Number(0, 10), Number(0, 1, 0.25), Number(5, 5, 0.5), tenths, Choice(("a", "b"))):
        found = bare(explained(form, 9))
        assert type(found) is type(form)
        if isinstance(form, Number) and isinstance(found, Number):
            assert (found.low, found.high) == (form.low, form.high)
            assert form.low == form.high or found.step == form.step
    assert is_explained(whole) and not is_explained(Record("other", {"type": "object"})) and not is_explained(Text())
    assert mixed(Choice(("a", "b"))) == Mixture(("a", "b"))
    said = Answer({"action": "a", "rationale": "why"}, "exact", facts={"k": 1})
    assert taken(said, Choice(("a",))).facts == {"k": 1, "rationale": "why"}


def test_too_many_amounts_for_a_list_are_refused() -> None:
    with pytest.raises((OstromError, ValueError), match=r"1001 in steps of 0\.1 are more than 500"):
        explained(Number(0, 100, 0.1), 10)
    with pytest.raises((OstromError, ValueError), match="over named actions, or over a few amounts"):
        mixed(Number(0, 10))
