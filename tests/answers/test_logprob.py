"""Reading choices from log-probabilities, and the one door to all readers."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.answers import Answer, Choice, Form, Invalid, Mixture, Record, Text, constraint_of, read, read_logprobs
from ostrom.ground.errors import UsageError

LETTERS = {"C": "J", "D": "F"}


def logs(**probabilities: float) -> dict[str, float]:
    return {token: math.log(p) for token, p in probabilities.items()}


@given(st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_odds_are_renormalised_and_the_mass_is_kept(j: float, f: float) -> None:
    found = read_logprobs(logs(J=j, F=f), LETTERS)
    assert isinstance(found, Answer) and found.reading == "logprob"
    assert found.probabilities is not None and found.facts is not None
    assert math.isclose(sum(found.probabilities.values()), 1.0)
    assert math.isclose(found.probabilities["C"], j / (j + f))
    assert math.isclose(found.facts["mass"], j + f)
    assert found.value == ("C" if j >= f else "D")


def test_tokens_of_the_same_label_add_up() -> None:
    tokens = {"J": 0.2, " J": 0.2, "[J": 0.05, '"J"': 0.05, "J.": 0.05, "▁J": 0.05, "F": 0.3, "Just": 0.1}
    found = read_logprobs(logs(**tokens), LETTERS)
    assert isinstance(found, Answer) and found.facts is not None and found.probabilities is not None
    assert math.isclose(found.facts["mass"], 0.9) and math.isclose(found.probabilities["C"], 2 / 3)


def test_the_beginning_of_one_label_alone_counts_for_it() -> None:
    found = read_logprobs(logs(Co=0.5, D=0.3, x=0.1), {"C": "Cooperate", "D": "Defect"})
    assert isinstance(found, Answer) and found.value == "C"


@pytest.mark.parametrize(
    ("tokens", "labels", "word"),
    [
        ({}, LETTERS, "no option is among"),
        ({"The": 0.9}, LETTERS, "no option is among"),
        ({"j": 0.9}, LETTERS, "no option is among"),
        ({"[": 0.9}, LETTERS, "no option is among"),
        ({"J": 0.04, "F": 0.03, "The": 0.9}, LETTERS, "0.1 is required"),
        ({"A": 0.9, "A0": 0.05}, {"C": "A0", "D": "A1"}, "tell the options apart"),
        ({"A1": 0.9, "A10": 0.05}, {"C": "A1", "D": "A10"}, "tell the options apart"),
        ({"I": 0.9}, {"C": "Invest", "D": "Keep"}, "no option is among"),
        ({"J": 0.2, "The": 0.3}, LETTERS, "'F' is not reported and may be likelier"),
        ({"J": 0.9, "F": 0.9}, LETTERS, "more than one"),
    ],
)
def test_no_choice_is_read_where_the_tokens_do_not_show_one(
    tokens: dict[str, float], labels: dict[str, str], word: str
) -> None:
    found = read_logprobs(logs(**tokens), labels)
    assert isinstance(found, Invalid) and word in found.reason


def test_an_option_that_is_not_reported_is_bounded_openly() -> None:
    found = read_logprobs(logs(J=0.9, The=0.02), LETTERS)
    assert isinstance(found, Answer) and found.facts is not None
    assert found.probabilities == {"C": 1.0, "D": 0.0}
    assert math.isclose(found.facts["bound"], 0.02)
    assert found.note == "mass 0.9000; not reported, each at most 0.0200: F"


def test_a_tie_is_said() -> None:
    found = read_logprobs(logs(J=0.5, F=0.5), LETTERS)
    assert isinstance(found, Answer) and found.value == "C" and "tie" in (found.note or "")


@pytest.mark.parametrize("wrong", [math.nan, 0.5])
def test_a_number_that_is_no_log_probability_is_refused(wrong: float) -> None:
    assert isinstance(read_logprobs({"J": wrong, "F": -1.0}, LETTERS), Invalid)


@given(st.dictionaries(st.text(max_size=6), st.floats(), max_size=8))
def test_no_report_crashes_the_reading(tokens: dict[str, float]) -> None:
    assert isinstance(read_logprobs(tokens, LETTERS), Answer | Invalid)


LABELS = {"C": "A0", "D": "A1"}
RECORD = Record("vote", {"type": "object", "properties": {"C": {"type": "integer"}}, "required": ["C"]})


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (Choice(("C", "D")), "[A1]", "D"),
        (Choice(("D",)), "[A1]", "D"),
        (Mixture(("C", "D"), {"C": 50}), '{"A0": 40, "A1": 60}', {"C": 40, "D": 60}),
        (RECORD, '{"A0": 3}', {"C": 3}),
        (Text(), " hello ", "hello"),
    ],
)
def test_one_door_reads_every_form(form: Form, text: str, value: Any) -> None:
    found = read(form, text, LABELS)
    assert isinstance(found, Answer) and (found.value, found.reading) == (value, "exact")
    assert isinstance(read(form, text, LABELS, cut=True), Invalid)
    if not isinstance(form, Text):
        held = read(form, text, LABELS, constrained=True)
        assert isinstance(held, Answer) and held.reading == "constrained"


def test_without_labels_options_are_shown_by_key() -> None:
    assert read(Choice(("C", "D")), "[D]") == Answer("D", "exact")


def test_an_option_without_label_is_refused() -> None:
    with pytest.raises(UsageError, match="option 'E' has none"):
        read(Choice(("C", "E")), "[A0]", LABELS)


def test_a_constrained_reply_must_be_exact() -> None:
    assert isinstance(read(Choice(("C", "D")), "I take [A0]", LABELS, constrained=True), Invalid)


def test_constraints_speak_in_labels() -> None:
    assert constraint_of(Choice(("C", "D")), LABELS) == {"choices": ("[A0]", "[A1]")}
    assert constraint_of(Text(), LABELS) == {}
    mixture = constraint_of(Mixture(("C", "D"), {"D": 30}), LABELS)
    assert mixture["schema"]["properties"]["A1"] == {"type": "integer", "minimum": 0, "maximum": 30}
    assert mixture["schema"]["required"] == ["A0", "A1"]
    record = constraint_of(RECORD, LABELS)
    assert record["name"] == "vote" and record["schema"]["required"] == ["A0"]


@given(st.sampled_from(["C", "D"]))
def test_every_choice_that_a_model_is_held_to_is_read_back(key: str) -> None:
    form = Choice(("C", "D"))
    choices = dict(zip(form.options, constraint_of(form, LABELS)["choices"], strict=True))
    assert read(form, choices[key], LABELS, constrained=True) == Answer(key, "constrained")
