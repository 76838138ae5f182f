"""Cells of few matches show each of them; tables keep every interval; both widths of a chart fit their screens."""

from itertools import pairwise
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.ground.errors import UsageError
from ostrom.reports.build import build_report
from ostrom.reports.canvas import PHONE, WIDE, share_ticks
from ostrom.reports.cells import drawn_values
from ostrom.reports.declared import panel_of
from ostrom.reports.marks import bars_with_whiskers, curves, dots
from ostrom.reports.theme import MOST_COLOURS

from .conftest import Played

COIN: dict[str, Any] = {"types": {"coin": "random:0.5"}, "vary": {"k": {"set": "agent.memory.k", "to": [1, 2]}}}


def values_of(part: Any) -> list[dict[str, Any]]:
    """Every row of data in a specification."""
    if isinstance(part, dict):
        own = part["values"] if isinstance(part.get("values"), list) and "data" not in part else []
        rows = [row for row in own if isinstance(row, dict)]
        return rows + [row for value in part.values() for row in values_of(value)]
    return [row for value in part for row in values_of(value)] if isinstance(part, list) else []


@pytest.mark.parametrize(("seeds", "few"), [(4, True), (5, False)])
def test_below_five_matches_a_cell_shows_them_and_no_interval(played: Played, seeds: int, few: bool) -> None:
    data = played(seeds=seeds, **COIN)
    drawn = panel_of({"chart": "dots", "measure": "cooperation", "y": ["k"]}).draw(data)
    rows = values_of(drawn.figures[0].chart(WIDE))
    singles = [row["at"] for row in rows if "at" in row]
    means = [row for row in rows if "at" not in row]
    assert len(singles) == (2 * seeds if few else 0)
    assert all((row["low"] is None) == few == row["few"] for row in means)
    assert ("Rings are single matches" in drawn.figures[0].caption) == few
    assert f"n = {seeds} matches each" in drawn.figures[0].caption
    columns = drawn.tables[0].columns
    low, high = (columns.index(name) for name in ("low", "high"))
    assert all(row[low] < row[high] for row in drawn.tables[0].rows), "tables keep every interval"


def test_what_is_certain_is_a_dot_however_few_its_matches(played: Played) -> None:
    data = played(seeds=2, **{**COIN, "types": {"kind": "cooperator"}})
    (one, _) = estimate(data, "cooperation", ["k"])
    assert one.values == () and drawn_values(one)["points"] is None


def row(series: str, x: float, facet: str = "") -> dict[str, Any]:
    return {"x": x, "mean": 0.5, "low": 0.2, "high": 0.8, "series": series, "facet": facet}


@pytest.mark.parametrize(("many", "points", "mark"), [(2, True, "area"), (3, True, "rule"), (3, False, None)])
def test_bands_are_drawn_where_at_most_two_overlap(many: int, points: bool, mark: str | None) -> None:
    names = [f"a{i}" for i in range(many)]
    chart = curves(
        [row(name, x) for name in names for x in (1, 2)], x="x", y="y", facets=[""], legend=None, points=points,
        series=dict.fromkeys(names, "#0072B2"),
    )  # fmt: skip
    drawn = {layer["mark"]["type"] for layer in chart(WIDE)["layer"]}
    assert drawn & {"area", "rule"} == ({mark} if mark else set())


@pytest.mark.parametrize(
    ("types", "word"), [(["random:0.5"], "bands"), (["random:0.5", "random:0.6", "random:0.7"], "whiskers")]
)
def test_a_curve_says_how_its_intervals_are_drawn(played: Played, types: list[str], word: str) -> None:
    named = {f"a{i}": strategy for i, strategy in enumerate(types)}
    data = played(seeds=5, **{**COIN, "types": named, "seating": "self"})
    drawn = panel_of({"chart": "curve", "measure": "cooperation", "x": "k", "colour": "agent"}).draw(data)
    assert drawn.figures[0].caption.startswith(f"Dots are estimates, {word} 95 % intervals. Levels stand")


def test_more_colours_than_can_be_told_apart_are_refused_unless_they_are_numbers(played: Played) -> None:
    names = [str(i) for i in range(MOST_COLOURS)]
    chart = panel_of({"chart": "curve", "measure": "cooperation", "x": "k", "colour": "agent"})
    data = played(seeds=1, **{**COIN, "types": dict.fromkeys([*names, "coin"], "cooperator"), "seating": "self"})
    with pytest.raises(UsageError, match=f"at most {MOST_COLOURS} can be told apart"):
        chart.draw(data)


def test_a_condition_that_no_value_meets_names_the_levels_there_are(played: Played) -> None:
    data = played(seeds=2, **COIN)
    chart = {"chart": "dots", "measure": "joint_cooperation", "y": ["k"], "where": {"seat": 1}}
    assert panel_of(chart).draw(data).notes == ["No value of joint cooperation has seat 1 (there are: 1 + 2)."]
    chart = {"chart": "dots", "measure": "joint_cooperation", "y": ["k"], "where": {"k": 1, "seat": "1 + 2"}}
    assert panel_of(chart).draw(data).figures


def test_a_run_without_a_finished_match_has_no_report(played: Played) -> None:
    with pytest.raises(UsageError, match="small: no match has ended, so there is nothing to report"):
        build_report(played(limit=0), [{"chart": "dots", "measure": "amount", "y": ["agent"]}])


def test_lines_are_named_at_their_ends_and_names_do_not_touch() -> None:
    names = ["one", "two", "three"]
    chart = curves(
        [row(name, x) for name in names for x in (1, 2)], x="x", y="y", facets=[""], legend=None,
        series=dict.fromkeys(names, "#0072B2"),
    )(WIDE)  # fmt: skip
    ends = sorted(r["end"] for r in values_of(chart) if "end" in r)
    assert len(ends) == 3 and all(b - a > 0.05 for a, b in pairwise(ends))
    assert all(
        layer["encoding"]["color"].get("legend") is None for layer in chart["layer"] if "color" in layer["encoding"]
    )


def test_an_axis_of_shares_is_cut_only_where_all_lies_in_a_tenth() -> None:
    assert share_ticks([0.85, 0.95])[1] == " (axis cut)"
    assert share_ticks([0.85, 0.96])[1] == ""
    assert share_ticks([0.0, 0.05])[1] == ""
    assert share_ticks([])[0].domain == (0.0, 1.0)


LONG = "a name of a row that is far too long to stand beside it"


def test_names_of_rows_take_lines_on_a_phone() -> None:
    rows = [{"label": LONG, "series": "", "mean": 0.5, "low": 0.2, "high": 0.9}]
    chart = dots({"a": rows, "b": rows}, axis="cooperation", series={"": "#0072B2"}, domain=(0, 1))
    wide, narrow = chart(WIDE), chart(PHONE)
    assert narrow["columns"] == 1
    axis = narrow["concat"][0]["layer"][0]["encoding"]["y"]["axis"]
    assert "labelExpr" in axis and axis["labelOffset"]["condition"][0]["value"] < 0
    assert narrow["concat"][0]["height"] > wide["concat"][0]["height"]


def test_bounds_are_thin_whiskers_in_curves_and_bars_where_a_caution_stands() -> None:
    """Rows have bounds only where the note says caution; without one the chart has no layer for them."""
    rows = [
        {
            "x": level,
            "series": "a",
            "facet": "",
            "mean": 0.5,
            "low": 0.4,
            "high": 0.6,
            "bound_low": 0.1,
            "bound_high": 0.9,
        }
        for level in ("1", "2")
    ]
    plain = [{name: row[name] for name in row if not name.startswith("bound")} for row in rows]
    for of, many in ((rows, 1), (plain, 0)):
        series = {"a": "#0072B2"}
        curve = curves(of, x="k", y="y", facets=[""], series=series, legend=None, levels=["1", "2"])
        bars = bars_with_whiskers(of, x="k", y="y", levels=["1", "2"], facets=[""], series=series, shares=True)
        for chart in (curve, bars):
            thin = [
                layer for layer in chart(WIDE)["layer"] if layer["encoding"].get("y2", {}).get("field") == "bound_high"
            ]
            assert len(thin) == many and all(layer["mark"]["strokeWidth"] < 1 for layer in thin)
