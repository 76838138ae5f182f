"""A chart is drawn once, with no more measuring of its labels than it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ostrom.reports.figures import _drawn, render, spec_of
from ostrom.reports.marks import curves, heat, inline
from ostrom.reports.narrow import without_limits


def _named(labels: list[str]) -> Any:
    rows = [{"label": label, "start": 0.5, "end": 1.5, "mean": 0.5} for label in labels]
    return heat(rows, labels=labels, x="round", legend="cooperation")


@pytest.mark.pictures
def test_a_limit_of_labels_is_left_out_only_where_none_of_them_reaches_it() -> None:
    fit, cut = spec_of(_named(["a short name"])), spec_of(_named(["a short name", "W" * 60]))
    assert without_limits(fit)["encoding"]["y"]["axis"]["labelLimit"] == 0
    assert "labelLimit" not in without_limits(cut)["encoding"]["y"]["axis"]
    assert "…" in render(_named(["W" * 60]))[0]


@pytest.mark.pictures
def test_without_its_limit_a_chart_is_drawn_the_same() -> None:
    import vl_convert

    spec = spec_of(_named([f"prisoners dilemma · history length {n}" for n in range(3)]))
    one, other = (vl_convert.vegalite_to_svg(some, vl_version="6.4") for some in (spec, without_limits(spec)))
    assert re.sub(r"gradient_\d+", "", one) == re.sub(r"gradient_\d+", "", other)


def test_a_chart_takes_its_rows_as_they_are() -> None:
    rows = [{"label": "a", "start": 0.5, "end": 1.5, "mean": 0.5}]
    data = inline(rows)
    assert data.to_dict()["values"][0] is rows[0]
    assert data.copy().to_dict()["values"][0] is rows[0]


def test_the_same_curves_are_drawn_once_whatever_else_their_rows_hold_and_in_which_order() -> None:
    place = {"x": 1.0, "mean": 0.5, "low": 0.4, "high": 0.6, "points": None, "series": "a", "facet": "g"}
    rows = [place, {**place, "facet": "h", "mean": 0.6}]
    svgs = [
        render(
            curves(of, x="round", y="cooperation", facets=["g", "h"], series={"a": "#0072B2"}, legend="agent")
        )[0]
        for of in (rows, [{"label": "", **row} for row in reversed(rows)])
    ]
    assert svgs[0] == svgs[1] and _drawn.cache_info().misses == 1
