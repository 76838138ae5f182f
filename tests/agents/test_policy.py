"""What stands in for an answer that never came: drawn evenly, stated as such, and only where it is declared."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from ostrom.agents.policy import SkipMatch, apply_policy, check_policy
from ostrom.answers import Choice, Form, Mixture, Number, Record, Text
from ostrom.ground.errors import InvalidAnswers, StudyError

OPTIONS = ("a", "b", "c", "d")


def drawn(form: Form, policy: str = "uniform", seed: int = 0) -> Any:
    return apply_policy(policy, form, "no", np.random.default_rng(seed))


def test_uniform_draws_every_option_equally_often_and_says_the_odds() -> None:
    answers = [drawn(Choice(OPTIONS), seed=seed) for seed in range(2000)]
    counts = Counter(answer.value for answer in answers)
    # 500 expected of each, with a standard deviation of 19.4.
    assert set(counts) == set(OPTIONS) and all(410 < n < 590 for n in counts.values())
    assert answers[0].probabilities == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}
    assert (answers[0].reading, answers[0].note) == ("policy", "uniform: no")


def test_uniform_takes_its_draw_from_the_given_stream() -> None:
    assert [drawn(Choice(OPTIONS), seed=s).value for s in range(20)] == [
        OPTIONS[int(np.random.default_rng(s).integers(4))] for s in range(20)
    ]


@pytest.mark.parametrize(
    ("form", "shares"),
    [
        (Mixture(("a", "b")), {"a": 50, "b": 50}),
        (Mixture(("a", "b", "c")), {"a": 34, "b": 33, "c": 33}),
        (Mixture(("a", "b", "c"), caps={"a": 10}), {"a": 10, "b": 45, "c": 45}),
        (Mixture(("a", "b"), caps={"a": 0}), {"a": 0, "b": 100}),
    ],
)
def test_uniform_mixtures_are_as_even_as_whole_percentages_allow(form: Mixture, shares: dict[str, int]) -> None:
    answer = drawn(form)
    assert answer.value == shares and answer.probabilities is None


def test_uniform_records_draw_every_part_from_what_is_allowed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "sign": {"type": "boolean"},
            "amount": {"type": "integer", "minimum": 2, "maximum": 4},
            "to": {"type": "string", "enum": ["x", "y"]},
            "votes": {"type": "array", "items": {"type": "string", "enum": ["K1", "K2"]}},
            "why": {"type": "string"},
        },
    }
    found = [drawn(Record("deal", schema), seed=seed).value for seed in range(300)]
    assert {r["sign"] for r in found} == {True, False}
    assert {r["amount"] for r in found} == {2, 3, 4}
    assert {r["to"] for r in found} == {"x", "y"}
    assert {tuple(r["votes"]) for r in found} == {(), ("K1",), ("K2",), ("K1", "K2")}
    assert {r["why"] for r in found} == {""}
    for name in ("sign", "to"):
        assert 100 < sum(r[name] in (True, "x") for r in found) < 200
    assert drawn(Text()).value == ""
    for unbounded in ({"type": "number"}, {"type": "integer", "minimum": 1}):
        with pytest.raises(InvalidAnswers, match="cannot draw"):
            drawn(Record("deal", {"type": "object", "properties": {"x": unbounded}}))


def test_a_default_is_the_named_action_or_all_of_a_mixture() -> None:
    choice = drawn(Choice(OPTIONS), "default:c")
    assert (choice.value, choice.reading, choice.probabilities) == ("c", "policy", None)
    assert drawn(Mixture(("a", "b", "c")), "default:b").value == {"a": 0, "b": 100, "c": 0}
    for form in (Choice(OPTIONS), Mixture(OPTIONS), Text()):
        with pytest.raises(InvalidAnswers, match="gives none"):
            drawn(form, "default:nothing")


def test_fail_and_skip_end_the_match() -> None:
    with pytest.raises(InvalidAnswers, match="no valid answer: no"):
        drawn(Choice(OPTIONS), "fail")
    with pytest.raises(SkipMatch, match="no valid answer: no"):
        drawn(Choice(OPTIONS), "skip-match")


@pytest.mark.parametrize("policy", ["fail", "skip-match", "uniform", "default:cooperate"])
def test_policies_that_exist(policy: str) -> None:
    check_policy(policy)


@pytest.mark.parametrize("policy", ["", "default", "default:", "random", "skip_match"])
def test_policies_that_do_not(policy: str) -> None:
    with pytest.raises(StudyError, match="no such policy"):
        check_policy(policy)


def test_amounts_are_drawn_and_named_like_options() -> None:
    amounts = Number(0, 10, 5)
    assert {drawn(amounts, seed=seed).value for seed in range(30)} == {0, 5, 10}
    assert drawn(amounts, "default:5").value == 5
    with pytest.raises(InvalidAnswers, match="and the policy default:4 gives none"):
        drawn(amounts, "default:4")
    part = {"n": {"type": "integer", "minimum": 1, "maximum": 3}}
    record = Record("r", {"type": "object", "properties": part, "required": ["n"]})
    assert {drawn(record, seed=seed).value["n"] for seed in range(40)} == {1, 2, 3}
    for bound in ("minimum", "maximum"):
        loose = {"n": {key: value for key, value in part["n"].items() if key != bound}}
        with pytest.raises(InvalidAnswers, match="cannot draw"):
            drawn(Record("r", {"type": "object", "properties": loose, "required": ["n"]}))


@pytest.mark.parametrize("policy", ["uniform", "default:a", "fail", "skip-match"])
def test_a_refusal_is_told_from_an_answer_that_could_not_be_read(policy: str) -> None:
    try:
        answer = apply_policy(policy, Choice(OPTIONS), "why", np.random.default_rng(0), refused=True)
    except (InvalidAnswers, SkipMatch) as error:
        assert str(error) == "refused: why"
    else:
        assert (answer.reading, answer.note) == ("refused", f"{policy}: why")
