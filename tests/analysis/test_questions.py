"""Which word a question gets: by the interval against its value, by the bounds for nearness, and by Holm for all."""

from typing import Any

import numpy as np
import pytest

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import exactly, mean_of
from ostrom.analysis.questions import EVEN, NO, OPEN, YES, QuestionFigure, StudyQuestion, questions_of, verdicts
from ostrom.ground.errors import StudyError

AROUND = np.tile([-0.1, 0.0, 0.1], 4)


def question(**changes: Any) -> StudyQuestion:
    return StudyQuestion(name="Is it so?", measure="cooperation", if_yes="so", if_no="not so", **changes)


def around(middle: float, times: int = 1, bounds: Any = (0.0, 1.0)) -> Estimate:
    values = (middle + np.tile(AROUND, times)).tolist()
    return estimated({}, mean_of(values, bounds=bounds), len(values), "match", compares=True)


def said(asked: StudyQuestion, one: Estimate, *parts: Estimate, levels: tuple[str, ...] = ()) -> tuple[str, str]:
    (verdict,) = verdicts([QuestionFigure(asked, "", one, parts, levels)])
    return verdict.word, verdict.meaning


@pytest.mark.parametrize(
    ("changes", "middle", "words"),
    [
        ({"above": 0.5}, 0.8, (YES, "so")),
        ({"above": 0.5}, 0.2, (NO, "not so")),
        ({"above": 0.5}, 0.5, (OPEN, "")),
        ({"below": 0.5}, 0.2, (YES, "so")),
        ({"below": 0.5}, 0.8, (NO, "not so")),
        ({"above": 0.5, "d": 0.4}, 0.5, (NO, "not so")),
        ({"above": 0.5, "d": 0.4, "if_even": "even"}, 0.5, (EVEN, "even")),
        ({"below": 0.5, "d": 0.4, "if_even": "even"}, 0.5, (EVEN, "even")),
        ({"above": 0.5, "d": 0.4, "if_even": "even"}, 0.2, (NO, "not so")),
        ({"above": 0.5, "d": 0.1, "if_even": "even"}, 0.5, (OPEN, "")),
        ({"near": 0.5, "d": 0.45}, 0.5, (YES, "so")),
        ({"near": 0.5, "d": 0.1}, 0.9, (NO, "not so")),
        ({"near": 0.5, "d": 0.1}, 0.5, (OPEN, "")),
        ({"near": 0.5, "d": 0.1}, 0.61, (OPEN, "")),
    ],
)
def test_a_level_is_held_against_its_value(changes: dict[str, Any], middle: float, words: tuple[str, str]) -> None:
    assert said(question(**changes), around(middle)) == words


def test_what_even_means_needs_two_sides() -> None:
    for changes in ({"near": 0.5}, {"contrast": "k=a-b"}, {"order": "k"}):
        with pytest.raises(ValueError, match="if_even needs above or below"):
            question(if_even="even", **changes)


def test_a_contrast_without_a_bound_says_which_way() -> None:
    asked = StudyQuestion(name="q", measure="cooperation", contrast="k=a-b")
    assert said(asked, around(0.3, bounds=(-1.0, 1.0))) == (YES, "higher")
    assert said(asked, around(-0.3, bounds=(-1.0, 1.0))) == (YES, "lower")
    assert said(asked, around(0.0, bounds=(-1.0, 1.0))) == (OPEN, "")
    assert said(asked, estimated({}, exactly(0.0), 3, "match")) == (NO, "")
    slope = StudyQuestion(name="q", measure="cooperation", over="k")
    assert said(slope, around(-0.3, bounds=(-1.0, 1.0))) == (YES, "falls")


def test_a_sure_effect_that_is_surely_too_small_is_said_to_be_so() -> None:
    asked = question(above=0.0, d=0.6)
    assert said(asked, around(0.2, 4)) == (f"{YES}, smaller than matters", "so")


def test_a_measure_without_bounds_says_no_by_its_interval() -> None:
    """Prices at the equilibrium: a profit gain around 0, which nobody knows bounds of."""
    asked = StudyQuestion(name="q", measure="payoff", above=0.0, d=0.3)
    assert said(asked, around(0.0, bounds=(None, None)))[0] == NO
    assert said(asked, around(0.25, bounds=(None, None)))[0] == YES
    assert (
        said(StudyQuestion(name="q", measure="payoff", above=0.0, d=0.05), around(0.0, bounds=(None, None)))[0] == OPEN
    )


def test_a_range_is_small_only_where_every_pair_is() -> None:
    asked = question(range=("wording",), d=0.1)
    same = estimated({"range": "a - b"}, exactly(0.02), 5, "match")
    far = estimated({"range": "a - c"}, exactly(0.5), 5, "match")
    unknown = around(0.02, bounds=(-1.0, 1.0))
    assert said(asked, same, same, same) == (YES, "so")
    assert said(asked, far, same, far) == (NO, "not so")
    assert said(asked, same, same, unknown) == (OPEN, "")


def test_an_order_holds_where_all_neighbours_differ_and_breaks_where_one_is_turned() -> None:
    asked = question(order="k=a>b>c")
    up, down, flat = (around(middle, bounds=(-1.0, 1.0)) for middle in (0.4, -0.4, 0.0))
    assert said(asked, up, up, up, levels=("a", "b", "c")) == (YES, "so")
    assert said(asked, down, up, down, levels=("a", "b", "c")) == (NO, "not so")
    assert said(asked, flat, up, flat, levels=("a", "b", "c"))[0] == OPEN
    shown = QuestionFigure(question(order="k"), "", flat, (up, flat), ("a", "b", "c"))
    assert shown.text == "a > b ≈ c"
    assert verdicts([shown])[0].word == "", "an order without levels is shown, not judged"


def test_all_questions_of_a_screen_are_corrected_together() -> None:
    weak = around(0.57, bounds=(None, None))
    alone = verdicts([QuestionFigure(question(above=0.5), "", weak)])
    many = verdicts([QuestionFigure(question(above=0.5), "", one) for one in [weak] + [around(0.5)] * 9])
    assert (alone[0].word, many[0].word) == (YES, OPEN)
    assert many[0].adjusted == pytest.approx(10 * alone[0].adjusted)


def test_a_manifest_with_a_wrong_question_is_refused_by_its_place() -> None:
    with pytest.raises(StudyError, match=r"study.answers.0"):
        questions_of({"answers": [{"name": "q", "measure": "cooperation", "why": 1}]}, "run.json")
