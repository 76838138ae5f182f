"""A chart is drawn once, with no more measuring of its labels than it takes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ostrom.reports.figures import FONT_FILE, _drawn, render, spec_of, with_own_fonts
from ostrom.reports.marks import curves, heat, inline
from ostrom.reports.narrow import LINE, narrow_spec, narrower, without_limits


def _named(labels: list[str]) -> Any:
    rows = [{"label": label, "start": 0.5, "end": 1.5, "mean": 0.5} for label in labels]
    return heat(rows, labels=labels, x="round", legend="cooperation")


@dataclass(frozen=True)
class _Renderer:
    svg_to_png: Callable[[str], Any]


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
        render(curves(of, x="round", y="cooperation", facets=["g", "h"], series={"a": "#0072B2"}, legend="agent"))[0]
        for of in (rows, [{"label": "", **row} for row in reversed(rows)])
    ]
    assert svgs[0] == svgs[1] and _drawn.cache_info().misses == 1


def test_the_renderer_finds_every_installed_font_but_the_one_that_it_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("free/LiberationSans-Regular.ttf", "wide/song.ttf", "free/more/gothic.ttf"):
        (tmp_path / ".fonts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".fonts" / name).touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(FONT_FILE, raising=False)
    found: list[str] = []

    def draw(_svg: str) -> None:
        found.append(Path(os.environ[FONT_FILE]).read_text())

    with_own_fonts(_Renderer(draw))
    folders = re.findall("<dir>(.*?)</dir>", found[0])
    assert {f"{tmp_path}/.fonts/wide", f"{tmp_path}/.fonts/free/more"} <= set(folders)
    assert f"{tmp_path}/.fonts/free" not in folders and FONT_FILE not in os.environ


def test_fonts_that_the_reader_has_configured_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FONT_FILE, "/etc/fonts/own.conf")
    with_own_fonts(_Renderer(pytest.fail))
    assert os.environ[FONT_FILE] == "/etc/fonts/own.conf"


SMALL: dict[str, Any] = {"layer": [], "width": 300, "title": "a"}
NAMED: dict[str, Any] = {"encoding": {"y": {"type": "nominal", "sort": ["a" * 15, "b"]}}, "height": 40}


@pytest.mark.parametrize(
    ("spec", "width"),
    [
        ({"width": 600}, 296),
        ({"width": 200}, 200),
        ({}, 296),
        ({"encoding": {"y": {"type": "nominal", "sort": ["ab", "c"]}}}, 358 - 13 - 24),
        ({"encoding": {"y": {"type": "nominal", "sort": ["a" * 14]}}}, 358 - 94 - 24),
        ({"encoding": {"y": {"type": "nominal", "sort": ["a" * 15]}}}, 358 - 16),
        ({"encoding": {"y": {"type": "nominal", "sort": ["a" * 15]}}, "mark": "bar"}, 358 - 124),
        ({"encoding": {"y": {"type": "quantitative", "sort": ["a" * 15]}}}, 296),
    ],
)
def test_a_view_is_as_wide_as_a_phone_leaves_it(spec: dict[str, Any], width: float) -> None:
    assert narrow_spec(spec)["width"] == width


@pytest.mark.parametrize(
    ("spec", "columns", "width"),
    [
        ({"concat": [SMALL, SMALL], "columns": 2}, 2, 103),
        ({"concat": [SMALL, SMALL], "columns": 1}, 1, 296),
        ({"hconcat": [SMALL, SMALL], "columns": 2}, 1, 296),
        ({"concat": [{**SMALL, "width": 360}, SMALL], "columns": 2}, 2, 103),
        ({"concat": [{**SMALL, "width": 361}, SMALL], "columns": 2}, 1, 296),
        ({"concat": [{"width": 300}, SMALL], "columns": 2}, 1, 296),
        ({"concat": [{**SMALL, "title": "a" * 24}, SMALL], "columns": 2}, 2, 103),
        ({"concat": [{**SMALL, "title": "a" * 25}, SMALL], "columns": 2}, 1, 296),
        ({"facet": {"sort": ["a"]}, "spec": SMALL, "columns": 3}, 2, 103),
        ({"facet": {"sort": ["a" * 25]}, "spec": SMALL, "columns": 3}, 1, 296),
    ],
)
def test_two_views_stand_side_by_side_where_they_are_small_and_their_titles_fit(
    spec: dict[str, Any], columns: int, width: float
) -> None:
    made = narrow_spec(spec)
    assert made["columns"] == columns
    assert (made["spec"] if "spec" in made else made["concat"][0])["width"] == width


def test_names_above_their_rows_make_them_higher_and_leave_marks_below() -> None:
    made = narrow_spec({**NAMED, "encoding": {**NAMED["encoding"], "yOffset": {"field": "series"}}})
    step = 20 + LINE
    assert made["height"] == 2 * step and made["encoding"]["y"]["axis"]["labelOffset"] == 9 - step / 2
    assert made["encoding"]["yOffset"]["scale"] == {"range": [LINE - 3, step - 9]}
    assert narrow_spec({**NAMED, "height": {"step": 20}})["height"] == 2 * step
    filled = narrow_spec({**NAMED, "mark": {"type": "rect"}, "encoding": {"y": {**NAMED["encoding"]["y"],
                          "sort": ["one two three four five", "b"]}}})  # fmt: skip
    axis = filled["encoding"]["y"]["axis"]
    assert '"one two three","four five"' in axis["labelExpr"] and axis["labelLimit"] == 0
    assert filled["height"] == 2 * max(20, 2 * (LINE - 3) + 4)


def test_labels_along_a_phone_are_thinned_turned_and_wrapped() -> None:
    def x(**more: Any) -> Any:
        return narrow_spec({"encoding": {"x": {"title": "round", "axis": {"labelAngle": 0}, **more}}})["encoding"]["x"]

    assert x(axis={"values": [*range(8)]})["axis"]["values"] == [*range(8)]
    assert x(axis={"values": [*range(9)]})["axis"]["values"] == [0, 2, 4, 6, 8]
    assert x(axis={"values": [*range(40)]})["axis"]["values"] == [0, 8, 16, 24, 32]
    assert x(sort=["a" * 22, "b"])["axis"]["labelAngle"] == 0 and x()["title"] == "round"
    assert x(sort=["a" * 23, "b"])["axis"]["labelAngle"] == -40
    assert x(title="word " * 10)["title"] == "word " * 10
    assert x(title="word " * 11)["title"] == ["word " * 9 + "word", "word"]
    colour = {"scale": {"domain": ["abcd", "a"]}, "legend": {"columns": 4, "title": "t"}}
    made = narrow_spec({"encoding": {"color": colour}})
    assert made["encoding"]["color"]["legend"] == {"title": "t"}
    assert made["config"]["legend"] == {"columns": 358 // 56, "labelLimit": 328}


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ({"width": 100}, {"width": 80}),
        ({"width": 70}, {"width": 60}),
        ({"concat": [{"width": 100}] * 2, "columns": 3}, {"concat": [{"width": 90}] * 2, "columns": 3}),
        ({"concat": [{"width": 100}] * 2, "columns": 1}, {"concat": [{"width": 80}] * 2, "columns": 1}),
        ({"hconcat": [{"width": 100}] * 2}, {"hconcat": [{"width": 80}] * 2}),
        ({"spec": {"width": 100}, "columns": 2}, {"spec": {"width": 90}, "columns": 2}),
        ({"spec": {"width": 100}}, {"spec": {"width": 80}}),
    ],
)
def test_what_is_too_wide_is_shared_by_the_views_that_stand_side_by_side(
    spec: dict[str, Any], made: dict[str, Any]
) -> None:
    assert narrower(spec, 20) == made
