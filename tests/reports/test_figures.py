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
from ostrom.reports.narrow import without_limits


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
        render(
            curves(of, x="round", y="cooperation", facets=["g", "h"], series={"a": "#0072B2"}, legend="agent")
        )[0]
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
