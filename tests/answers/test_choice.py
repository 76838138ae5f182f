"""Choices: what holds for every label and every reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.answers import Answer, Invalid, check_labels, read_choice
from ostrom.answers.choice import normal
from ostrom.answers.forms import Choice
from ostrom.answers.read import concludes
from ostrom.ground.errors import UsageError

LABELS = {"C": "A0", "D": "A1"}
visible = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
label_sets = st.lists(visible, min_size=2, max_size=5, unique_by=lambda label: normal(label).casefold())


def as_labels(shown: list[str]) -> dict[str, str]:
    return {f"k{i}": label for i, label in enumerate(shown)}


@given(label_sets, st.data())
def test_any_label_alone_is_read_as_itself_exactly(shown: list[str], data: st.DataObject) -> None:
    labels = as_labels(shown)
    key = data.draw(st.sampled_from(sorted(labels)))
    found = read_choice(f"Some thoughts first.\n{labels[key]}\n", labels)
    assert found == Answer(key, "exact")


@given(st.text(max_size=300))
def test_whatever_was_said_before_a_last_line_in_brackets_changes_nothing(before: str) -> None:
    found = read_choice(f"{before}</think>\nso:\n[A1]", LABELS)
    assert found == Answer("D", "exact")


@given(st.text(max_size=200) | st.text("A01 []\"'.,!?\n*_`-=notifso", max_size=60), label_sets)
def test_no_reply_crashes_and_a_reason_is_one_short_line(reply: str, shown: list[str]) -> None:
    for labels in (LABELS, as_labels(shown)):
        for strict in (False, True):
            found = read_choice(reply, labels, strict=strict)
            if isinstance(found, Invalid):
                assert "\n" not in found.reason and 0 < len(found.reason) < 400
            else:
                assert found.value in labels and found.reading in ("exact", "loose")


@given(st.text("A01 []\"'.,!?\n*_`-=notifso", max_size=60))
def test_a_strict_answer_is_also_the_answer_that_is_not_strict(reply: str) -> None:
    if isinstance(found := read_choice(reply, LABELS, strict=True), Answer):
        assert found == read_choice(reply, LABELS)


@given(st.text("A01 []\"'.,!?\n*_`-=notifso", max_size=60))
def test_an_answer_is_always_written_in_the_last_line_that_says_anything(reply: str) -> None:
    if isinstance(found := read_choice(reply, LABELS), Answer):
        last = [line for line in reply.splitlines() if any(c.isalnum() for c in line)][-1]
        assert LABELS[found.value].lower() in last.lower()


@given(st.sampled_from(["[A0] {} [A1]", "A0 {} A1", '"A1" {} A0', "I take A1 {} (A0)"]), st.text(max_size=40))
def test_two_options_in_one_sentence_are_never_an_answer(frame: str, between: str) -> None:
    words = "".join(c for c in between if c.isalnum() or c == " ")
    assert isinstance(read_choice(frame.format(words), LABELS), Invalid)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply is empty"),
        ("<think>A0?</think>\n<think>or\n[A1]", "the reply ends inside its reasoning"),
        ("[A7]", "'[A7]' is not one of the options [A0] or [A1]"),
        ("A0 or A1", "the last sentence names more than one option: [A0] and [A1]"),
        ("[A0]\n[A1]", "the reply ends with two options, [A0] and [A1]; give only one"),
        ("I will not choose A1.", "the last sentence is negated: 'I will not choose A1.'"),
        ("No idea.", "the last sentence names none of the options [A0] or [A1]: 'No idea.'"),
    ],
)
def test_the_reason_says_what_was_wrong(reply: str, reason: str) -> None:
    assert read_choice(reply, LABELS) == Invalid(reason)


def test_a_cut_reply_is_no_answer_even_when_it_looks_like_one() -> None:
    assert read_choice("[A0]", LABELS, cut=True) == Invalid("the reply was cut off before its end")


def test_the_value_is_the_key_of_the_option_even_when_labels_and_keys_are_crossed() -> None:
    assert read_choice("[A1]", {"A0": "A1", "A1": "A0"}) == Answer("A0", "exact")


@pytest.mark.parametrize("labels", [{}, {"C": ""}, {"C": " x"}, {"C": "a\nb"}, {"C": "x", "D": "x"}, {"C": "x" * 201}])
def test_labels_that_cannot_be_read_back_are_refused(labels: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"^labels: .*$"):
        check_labels(labels)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("They cheated.\nA1", True),
        ("so I choose [A1].", True),
        ("I choose A1 since they cheated.", False),
        ("I choose [my option A1].", False),
    ],
)
def test_a_reply_is_whole_that_ends_with_its_answer(text: str, whole: bool) -> None:
    found = read_choice(text, LABELS)
    assert isinstance(found, Answer) and found.value == "D"
    assert concludes(Choice(("C", "D")), text, LABELS, found) == whole
