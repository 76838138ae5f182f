"""Charts and exhibits that contradict themselves are refused in one line, and the headline has every cell."""

from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import FRESHNESS, recorded_answer
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.reports.canvas import WIDE
from ostrom.reports.card import headline, provenance, reproduce, warnings
from ostrom.reports.chart import chart_spec, charts, is_chart
from ostrom.reports.charts._of_estimates import Curve, Dots, Heat, Scatter
from ostrom.reports.exhibits.declared import MODEL, Exhibit

from .conftest import Played

BOTH = {"contrast": {"style": "a - b"}, "trend": {"k": "log"}}


@pytest.mark.parametrize(
    ("kind", "parts", "says"),
    [
        (Dots, {"y": "k", **BOTH}, "differences \\(contrast\\) or slopes \\(trend\\), not both"),
        (Dots, {"y": "k", "contrast": {}}, "contrast must map one factor to two of its levels"),
        (Dots, {"y": "k", "contrast": {"a": "b - c", "d": "e - f"}}, "contrast must map one factor"),
        (Dots, {"y": "k", "colour": ["a"]}, r"colour must be one column \(found \['a'\]\)"),
        (Dots, {"y": "k", "facet": ["a"]}, r"facet must be one column \(found \['a'\]\)"),
        (Dots, {"y": "k", "bands": "sd"}, "bands must be interval or, for curves and bars of means, sd"),
        (Curve, {"x": "k", "bands": "se"}, r"sd \(found 'se'\)"),
        (Curve, {"x": "k", "bands": "sd", "contrast": {"a": "b - c"}}, "bands must be interval"),
        (Heat, {"x": "k", "y": "game", "colour": "agent"}, "the colour of a tile is the measure"),
        (Scatter, {"against": "score", "y": "agent", "facet": "game"}, "a scatter takes measure, against, y and"),
        (Scatter, {"against": "score", "y": "agent", "colour": "game"}, r"must be one of the columns y \(agent\)"),
    ],
)  # fmt: skip
def test_charts_that_contradict_themselves_are_refused(kind: Any, parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind("cooperation", **parts)


@pytest.mark.parametrize("place", ["x", "y", "colour", "facet", "block", "against"])
@pytest.mark.parametrize("name", ["bars", "curve", "dots", "heat", "scatter", "table"])
def test_no_chart_names_its_code_where_a_place_does_not_fit(name: str, place: str) -> None:
    needed = {"bars": "x", "curve": "x", "heat": "xy", "scatter": "y"}.get(name, "")
    parts = {**dict.fromkeys(needed, "k"), **({"against": "score"} if name == "scatter" else {}), place: "score"}
    try:
        charts.build(chart_spec({"chart": name, "measure": "cooperation", **parts}))
    except (StudyError, UnknownName) as error:
        assert "__init__" not in str(error)


def test_charts_that_just_fit_are_made() -> None:
    assert Curve("cooperation", "k", bands="sd").bands == "sd"
    assert Scatter("cooperation", "score", "agent", "agent").tint == "agent"
    assert Heat("cooperation", "k", "game").colour is None


def test_a_panel_is_named_or_declared_as_a_chart() -> None:
    assert chart_spec({"chart": "dots", "measure": "score"}) == {"name": "dots", "measure": "score"}
    assert [is_chart(one) for one in ({"chart": "dots"}, {"name": "x"}, "chart")] == [True, False, False]
    for wrong in ({"chart": "dots", "name": "x"}, "dots"):
        with pytest.raises(UsageError, match=r"write either name \(a panel\) or chart \(a declared chart\), not both"):
            chart_spec(wrong)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"rows": ["a"], "study": "s"}, "a table needs both rows and columns"),
        ({"columns": ["a"], "study": "s"}, "a table needs both rows and columns"),
        ({}, "needs rows and columns"),
        ({"rows": ["a"], "columns": ["b"], "study": "s"}, f"{MODEL} must stand once among rows and columns"),
        ({"rows": [MODEL], "columns": [MODEL], "study": "s"}, f"{MODEL} must stand once"),
        ({"rows": [MODEL], "columns": ["b"]}, "needs study: whose run gives ours"),
    ],
)
def test_exhibits_that_are_incomplete_are_refused(parts: dict[str, Any], says: str) -> None:
    needed = {name: "x" for name, of in Exhibit.model_fields.items() if of.is_required()}
    with pytest.raises(ValidationError, match=says):
        Exhibit.model_validate({**needed, **parts})


def test_the_headline_has_a_row_for_every_cell_and_agent(played: Played) -> None:
    data = played(seeds=1)
    table = headline(data)
    assert table is not None
    columns = ["game", "k", "agent", "matches", "cooperation", "95 % interval", "score", "answers by policy"]
    assert list(table.columns) == columns and len(table.rows) == 2 * 2 * 2
    kind = [row for row in table.rows if row[2] == "kind"]
    assert all(row[4] == 1.0 and row[6] is not None and row[7] == 0 and row[5] for row in kind)
    assert warnings(data) == [] and provenance(data) == "No model was called."
    told = reproduce(data)
    assert told["command"] == "ostrom run study.yaml --name small-again"
    assert told["reproducible"].startswith("No language model took part")


def test_a_game_without_cooperation_has_a_headline_of_scores(played: Played) -> None:
    table = headline(played(seeds=3, game="ultimatum", vary={}, types={"coin": "random"}, seating="self", agent={}))
    assert table is not None
    assert list(table.columns) == ["agent", "matches", "score", "95 % interval", "answers by policy"]
    assert None not in table.rows[0], "no column is empty"


def test_a_scatter_has_the_whole_scale_of_shares_and_a_colour_for_each_level(played: Played) -> None:
    data = played(seeds=1, vary={})
    found = estimate(data, "cooperation", ["agent"])
    spec = Scatter("cooperation", "score", "agent", "agent").chart(data, found, [1.5, 2.5])(WIDE)
    sides = spec["layer"][0]["encoding"]
    assert (sides["y"]["scale"], sides["x"]["scale"]) == ({"domain": [0, 1]}, {"domain": [1.4, 2.6]})
    turned = Scatter("score", "cooperation", "agent").chart(data, found, [0.5, 1.0])(WIDE)["layer"][0]["encoding"]
    assert turned["x"]["scale"] == {"domain": [0, 1]} and turned["y"]["scale"] != {"domain": [0, 1]}
    assert turned["color"]["legend"] is None and sides["color"]["scale"]["domain"] == ["kind", "coin"]
    assert [(row["x"], row["series"]) for row in spec["data"]["values"]] == [(1.5, "kind"), (2.5, "coin")]
    data.parquet("matches")
    beside = data.folder / FRESHNESS
    before = orjson.loads(beside.read_bytes())
    data.keep_result("YES")
    assert orjson.loads(beside.read_bytes()) == {**before, "result": "YES"}
    assert recorded_answer(data.folder, data.entries) == "YES" and recorded_answer(data.folder, data.entries + 1) == ""
