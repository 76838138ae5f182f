"""Names, numbers and axes of a page: where a format, a label or a tick changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.estimate import Estimate
from ostrom.ground.errors import UsageError
from ostrom.reports.axes import share_ticks, ticks_for, whole_ticks
from ostrom.reports.cells import drawn_values, levels_met, marks_told, rank, spread
from ostrom.reports.chart import chart_spec, is_chart, rests_on
from ostrom.reports.layout import _own, cell_label, named
from ostrom.reports.words import (
    Share,
    column_texts,
    is_bare,
    labels,
    number,
    pretty,
    question,
    share,
    shortened,
)


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
    assert (
        named("a_b", "", 0) == "a b · 0"
        and cell_label({"k": "10", "on": True}, ["k", "on"]) == "k 10 · on yes"
    )
    taken: dict[str, tuple[Any, ...]] = {}
    assert [_own(taken, "a", key) for key in ((1,), (2,), (3,), (1,))] == ["a", "a (2)", "a (3)", "a"]


def test_a_sentence_is_the_question_of_a_study_up_to_a_length() -> None:
    asked = "x" * 179 + "?"
    assert question({"name": "m_n", "about": f"So. {asked} Yes."}) == (asked, "So. Yes.")
    assert question({"name": "m_n", "about": f"So. x{asked}"}) == ("m n", f"So. x{asked}")


@pytest.mark.parametrize(
    ("values", "domain", "cut"),
    [
        ([0.85, 0.95], (0.84, 0.96), True), ([0.85, 0.951], (0.0, 1.0), False), ([0.0, 0.05], (0.0, 1.0), False),
        ([None, float("nan")], (0.0, 1.0), False), ([0.7, 0.7], (0.0, 1.0), False),
    ],
)  # fmt: skip
def test_an_axis_of_shares_is_cut_where_all_lies_in_a_tenth(
    values: list[float | None], domain: tuple[float, float], cut: bool
) -> None:
    ticks, said = share_ticks(values)
    assert (said == " (axis cut)") == cut and (cut or ticks.domain == domain)
    if cut:
        assert ticks.domain[0] <= 0.85 and ticks.domain[1] >= 0.95 and ticks.domain[1] - ticks.domain[0] < 0.3


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


def test_whole_ticks_begin_at_the_first_number() -> None:
    assert whole_ticks([1, 15]) == (1, 2, 4, 6, 8, 10, 12, 14)
    assert ticks_for([None, 1.0, float("inf"), 3.0], 3).values == (1.0, 2.0, 3.0)
    assert whole_ticks([7]) == (7,) and whole_ticks([1, 20], 5) == (1, 5, 10, 15, 20)
    assert whole_ticks([3, 20], 5) == (3, 10, 15, 20) and whole_ticks([2, 20], 5) == (2, 5, 10, 15, 20)


def of(
    value: float, low: float | None, high: float | None, values: tuple[float, ...] = (), **more: Any
) -> Estimate:
    key, n, method = more.get("key", {}), more.get("n", 9), more.get("method", "t")
    return Estimate(key, value, low, high, n, "match", method, "", 0.95, None, values=values)


def test_few_matches_are_drawn_one_by_one_and_the_marks_are_told() -> None:
    many, few, bare = of(0.5, 0.4, 0.6), of(0.5, 0.1, 0.9, (0.0, 1.0)), of(0.5, None, None)
    assert drawn_values(many) == {"mean": 0.5, "low": 0.4, "high": 0.6, "points": None}
    assert drawn_values(few) == {"mean": 0.5, "low": None, "high": None, "points": [0.0, 1.0]}
    assert marks_told([few, few]) == "Rings are single matches and ticks their means."
    assert marks_told([many, few]).endswith(
        "with fewer than five matches rings are single matches and ticks their means."
    )
    assert marks_told([many]) == "Dots are estimates, whiskers 95 % intervals."
    assert marks_told([many, bare]).endswith("; a hollow dot has no interval.")
    assert "hollow" not in marks_told([many, bare], "Bars")
    assert rests_on([many, of(1, 1, 1, n=3, method="exact")]) == (
        "n = 3 to 9 matches each. 1 of 2 are exact: deterministic players have no sampling error."
    )
    assert rests_on([of(1, 1, 1, n=1)]) == "n = 1 match each."


def test_levels_stand_in_the_order_of_the_study_and_unknown_ones_last() -> None:
    data: Any = SimpleNamespace(levels={"k": [3, 1]})
    assert [rank(data, "k", v) for v in (3, 1, 9)] == [0, 1, 2] and rank(data, "j", 1) == 0
    found = [of(0, 0, 0, key={"k": k}) for k in (9, 1, 3, 1)]
    assert levels_met(data, "k", found) == [3, 1, 9]
    assert spread([1, 2, 3, 4, 5], 2) == [1, 5] and spread([1, 2, 3], 1) == [1] and spread([], 3) == []


def test_an_entry_is_a_panel_or_a_chart() -> None:
    assert is_chart({"chart": "curve"}) and not is_chart({"name": "x"}) and not is_chart("chart")
    assert chart_spec({"chart": "curve", "x": "k"}) == {"name": "curve", "x": "k"}
    for spec in ({"chart": "curve", "name": "x"}, "curve"):
        with pytest.raises(UsageError, match="either name"):
            chart_spec(spec)
