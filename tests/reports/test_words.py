"""Names, numbers and axes of a page: where a format, a label or a tick changes."""

from typing import Any

import pytest

from ostrom.analysis.estimate import Estimate
from ostrom.reports.canvas import ticks_for
from ostrom.reports.layout import cell_label, named
from ostrom.reports.words import Share, column_texts, is_bare, labels, number, pretty, question, share, shortened


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"), (0.00099, "0.00099"), (0.0, "0.000"), (-0.0005, "-0.0005"), (99.9994, "99.999"),
        (100.0, "100.0"), (9999.96, "10,000.0"), (10_000.0, "10,000"), (-12_345.6, "-12,346"), (False, "no"),
        (float("nan"), "–"), ("Stag_Hunt", "Stag_Hunt"), ("a b", "a b"), (1000, "1,000"),
    ],
)  # fmt: skip
def test_a_number_of_a_table(value: Any, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([99.0, 1.0], ["99.000", "1.000"]),
        ([-100.0, 1.0], ["-100.0", "1.0"]),
        ([10_000.0, 1.0], ["10,000", "1"]),
        ([9_999.0, None], ["9,999.0", "–"]),
        ([100.0, 1], ["100.0", "1"]),
        ([100.0, float("nan")], ["100.0", "–"]),
    ],
)
def test_numbers_of_a_column_have_the_same_digits(values: list[Any], texts: list[str]) -> None:
    assert column_texts(values) == texts


def test_shares_names_and_labels() -> None:
    assert [share(v) for v in (0.001, 0.00099, 1.0)] == ["0.1 %", "< 0.1 %", "100.0 %"]
    assert number(Share(0.5)) == "50.0 %" and [pretty(v) for v in (False, 2.0, "a_b")] == ["no", "2", "a b"]
    assert shortened("abcde", 5) == "abcde" and shortened("abcdef", 5) == "ab…ef"
    assert labels(["https://h/v1#", "http://h/v1"])["https://h/v1#"] == "https://h/v1#"
    assert labels(["http://h#m", "http://i#m"]) == {"http://h#m": "http://h#m", "http://i#m": "http://i#m"}
    assert labels([3, "a#b", "http://h#m"]) == {3: "3", "a#b": "a#b", "http://h#m": "m"}
    assert [is_bare(v) for v in (False, 1.5, "1e3", "")] == [False, True, True, False]
    assert named("a_b", "", 0) == "a_b · 0" and cell_label({"k": "10", "on": True}, ["k", "on"]) == "k 10 · on yes"


def test_a_sentence_is_the_question_of_a_study_up_to_a_length() -> None:
    asked = "x" * 179 + "?"
    declared = {"name": "m_n", "answers": [{"name": "q"}]}
    assert question({**declared, "about": f"So. {asked} Yes."}) == (asked, "So. Yes.")
    assert question({**declared, "about": f"So. x{asked}"}) == ("m n", f"So. x{asked}")


def test_a_title_is_no_question_where_nothing_is_declared_that_answers_it() -> None:
    assert question({"name": "m_n", "title": "Is it so?", "about": "So. Why? Yes."}) == ("M n", "So. Why? Yes.")
    assert question({"name": "m_n", "title": "Memory"}) == ("Memory", "")


@pytest.mark.parametrize(
    ("values", "more", "marks", "form"),
    [
        ([1.0, 3.0], {"zero": True}, (0.0, 1.0, 2.0, 3.0), ".0f"),
        ([-3.0, -1.0], {"zero": True}, (-3.0, -2.0, -1.0, 0.0), ".0f"),
        ([0.0, 1000.0], {"most": 3}, (0.0, 500.0, 1000.0), ",.0f"),
        ([0.0, 999.0], {"most": 3}, (0.0, 500.0, 1000.0), ",.0f"),
        ([4.0], {"most": 3}, (3.0, 4.0, 5.0), ".0f"),
        ([], {"most": 3}, (0.0, 0.5, 1.0), ".1f"),
    ],
)
def test_ticks_hold_all_values(values: list[float], more: Any, marks: tuple[float, ...], form: str) -> None:
    ticks = ticks_for(values, **more)
    assert (ticks.values, ticks.domain, ticks.format) == (marks, (marks[0], marks[-1]), form)


def of(value: float, low: float | None, high: float | None, values: tuple[float, ...] = (), **more: Any) -> Estimate:
    key, n, method = more.get("key", {}), more.get("n", 9), more.get("method", "t")
    return Estimate(key, value, low, high, n, "match", method, "", 0.95, None, values=values)
