"""A chart is drawn once, with no more measuring of its labels than it takes."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ostrom.reports.figures import FONT_FILE, _drawn, render, with_own_fonts
from ostrom.reports.marks import curves


@dataclass(frozen=True)
class _Renderer:
    svg_to_png: Callable[[str], Any]


def test_the_same_curves_are_drawn_once_whatever_else_their_rows_hold() -> None:
    place = {"x": 1.0, "mean": 0.5, "low": 0.4, "high": 0.6, "points": None, "series": "a", "facet": "g"}
    rows = [place, {**place, "facet": "h", "mean": 0.6}]
    svgs = [
        render(curves(of, x="round", y="cooperation", facets=["g", "h"], series={"a": "#0072B2"}, legend="agent"))[0]
        for of in (rows, [{"label": "", **row} for row in rows])
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
