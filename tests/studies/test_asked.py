"""Questions of a study: names are checked when it is loaded, and nothing is averaged over silently."""

from typing import Any

import pytest

from ostrom.ground.errors import OstromError
from ostrom.studies.load import load_study

STUDY: dict[str, Any] = {
    "name": "asked", "game": "prisoners_dilemma", "agent": {"strategy": "tit_for_tat"},
    "mechanism": {"name": "repetition", "rounds": 2},
    "vary": {
        "k": {"set": "mechanism.rounds", "to": [2, 4]},
        "style": {"set": "agent.strategy", "to": ["tit_for_tat", "defector"]},
    },
    "presets": {"short": {"vary": {"k": None}}},
}  # fmt: skip
GOOD: dict[str, Any] = {"name": "Does it help?", "measure": "cooperation", "contrast": "k=4-2", "pools": ["style"]}


def loaded(*questions: dict[str, Any], **options: Any) -> Any:
    return load_study({**STUDY, "answers": list(questions)}, **options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measure": "cooperaton"}, "answers.0.measure: unknown measure 'cooperaton'"),
        ({"contrast": "kk=4-2"}, "answers.0.contrast: unknown key 'kk'"),
        ({"contrast": "k=5-2"}, "answers.0.contrast: must be two of its levels"),
        ({"where": {"style": "grim"}}, "answers.0.where.style: unknown level 'grim'"),
        ({"by": ["stile"]}, "answers.0.by: unknown key 'stile'"),
        ({"contrast": "", "order": "k=2>3"}, "answers.0.order: unknown level '3'"),
        ({"measure": "payoff"}, "answers.0.d: payoff is no share"),
        ({"above": 0, "below": 1}, "answers.0: above and below exclude each other"),
        ({"over": "k"}, "answers.0: contrast and over exclude each other"),
        ({"range": ["style"]}, "answers.0: contrast and range exclude each other"),
        ({"pools": []}, "answers.0: averages over style, which is varied"),
    ],
)
def test_a_wrong_question_is_refused_in_one_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(OstromError) as caught:
        loaded({**GOOD, **change})
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"pools": [], "where": {"style": "defector"}},
        {"pools": [], "by": ["style"]},
        {"pools": [], "balance": ["style"]},
    ],
)
def test_a_factor_is_pooled_fixed_shown_or_balanced(change: dict[str, Any]) -> None:
    assert loaded({**GOOD, **change}).answers[0].name == "Does it help?"


def test_a_preset_that_leaves_a_factor_out_leaves_its_question_unasked() -> None:
    """The other factor is not averaged over then, and a name that no design has is a mistake all the same."""
    assert loaded({**GOOD, "pools": ["style"]}, preset="short").answers
    assert loaded({**GOOD, "pools": []}, preset="short").answers
    with pytest.raises(OstromError, match="unknown key 'kk'"):
        loaded({**GOOD, "contrast": "kk=4-2"}, preset="short")


def test_a_preset_that_adds_a_factor_must_name_it() -> None:
    presets = {"more": {"vary": {"again": {"a": {"mechanism.rounds": 3}, "b": {}}}}}
    with pytest.raises(OstromError, match="averages over again"):
        load_study({**STUDY, "presets": presets, "answers": [GOOD]}, preset="more")


def test_a_factor_of_the_command_line_is_named_in_the_output_and_not_refused() -> None:
    assert loaded(GOOD, changes=["vary.again={a: {mechanism.rounds: 3}, b: {mechanism.rounds: 5}}"]).answers
