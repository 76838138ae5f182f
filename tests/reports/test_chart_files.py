"""Charts of a finished run as files, by `ostrom report --chart`: own labels, refusals, every kind drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ostrom.features.reporting.command import parse_panels
from ostrom.ground.errors import OstromError
from ostrom.reports.build import draw_charts
from ostrom.reports.canvas import PHONE, WIDE, Canvas, Drawing
from ostrom.reports.figures import _width, render
from ostrom.reports.marks import bars_with_whiskers, curves, dots, series_colours, tile_maps

from .conftest import Played

CURVE = {"chart": "curve", "measure": "cooperation", "x": "game", "colour": "agent", "width": 360, "font_size": 9}


def words_of(pdf: bytes) -> str:
    """The characters that a PDF maps its glyphs to: what a reader can search for."""
    return "".join(chr(int(code, 16)) for code in re.findall(rb"<[0-9A-F]{4}> <([0-9A-F]{4})>", pdf))


@pytest.mark.pictures
def test_a_pdf_has_the_labels_that_were_asked_for(played: Played, tmp_path: Path) -> None:
    data = played(seeds=5)
    spec = {**CURVE, "labels": {"kind": "QXZ", "cooperation": "JKW"}}
    (file,) = draw_charts(data, [spec], tmp_path / "figure.pdf")
    pdf = file.read_bytes()
    assert pdf.startswith(b"%PDF") and {*"QXZJKW"} <= {*words_of(pdf)}
    wide = re.search(rb"MediaBox \[0 0 ([\d.]+)", pdf)
    assert wide and float(wide[1]) <= 370


def test_a_folder_has_every_kind_of_file_and_nothing_lies_beside_it(played: Played, tmp_path: Path) -> None:
    files = draw_charts(played(seeds=2), [CURVE, "strips"], tmp_path / "out")
    assert {file.parent for file in files} == {tmp_path / "out"}
    assert {file.suffix for file in files} == {".pdf", ".svg", ".png", ".csv"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{chart: pie, measure: score}", "unknown chart 'pie' .known: bars, curve, dots"),
        ("{chart: dots, measure", "--chart: line 1, column 22: is not valid YAML"),
        ("{chart: dots, measure: score, colr: agent}", "unknown key of chart dots 'colr' .did you mean colour"),
        ("{chart: dots, measure: score, width: 3}", "width must be a number of pixels from 200 to 4000"),
        ("{chart: dots, measure: score, file: ../x}", "file must be a name .* without a folder"),
        ("{chart: dots, measure: score, labels: [a]}", "labels must map names to texts"),
        ("[1]", "--chart: must be {chart: KIND"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(OstromError, match=why) as caught:
        parse_panels([text])
    assert "\n" not in str(caught.value)


def charts_of(facets: int, agents: int) -> dict[str, Drawing]:
    """Every kind with small multiples, with names that are far too long for them."""
    names = [f"http://a.host/organisation_{i}/a-model-with-a-long_name" for i in range(agents)]
    titles = [f"prompts/some_long_file_name_{i}.md · history length {i}" for i in range(facets)]
    levels = [f"a level of a long name {i}" for i in range(4)]
    rows: list[dict[str, Any]] = [
        {"x": x, "y": s, "series": s, "label": x, "facet": f, "mean": 0.5, "low": 0.4, "high": 0.6}
        for x in levels for s in names for f in titles
    ]  # fmt: skip
    series = series_colours(names)
    return {
        "curve": curves(rows, x="k", y="share", facets=titles, series=series, legend="agent", levels=levels),
        "bars": bars_with_whiskers(rows, x="k", y="v", levels=levels, facets=titles, series=series, shares=True),
        "heat": tile_maps(rows, legend="share", titles=("k", "agent")),
        "dots": dots({f: [r for r in rows if r["facet"] == f] for f in titles}, axis="v", series=series, domain=(0, 1)),
    }


@pytest.mark.pictures
@pytest.mark.parametrize(
    ("facets", "agents", "canvas"), [(1, 2, WIDE), (8, 7, WIDE), (3, 4, PHONE), (8, 2, Canvas(500, 20))]
)
def test_every_kind_draws_long_names_within_its_canvas(facets: int, agents: int, canvas: Canvas) -> None:
    for kind, chart in charts_of(facets, agents).items():
        spec = chart(canvas)
        panels = spec.get("concat", [spec])
        assert len(panels) == facets, kind
        assert all(panel["width"] >= 60 and panel["height"] >= 20 for panel in panels), kind
        svg = render(chart, canvas)[0]
        assert 100 < _width(svg) <= canvas.width + 12, (kind, _width(svg))
        assert "…" not in svg, kind
