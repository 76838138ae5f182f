"""Charts of a finished run as files, by `ostrom report --chart`: own labels, refusals, every kind drawn."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ostrom.features.reporting.command import parse_panels
from ostrom.ground.errors import OstromError
from ostrom.reports import build
from ostrom.reports.build import build_report, draw_charts
from ostrom.reports.canvas import PHONE, WIDE, Canvas, Drawing
from ostrom.reports.figures import TONES, _width, render
from ostrom.reports.marks import bars_with_whiskers, curves, dots, series_colours, tile_maps
from ostrom.reports.theme import DASHES, PALETTE, SHAPES

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


def test_charts_stand_before_the_panels_of_the_study(played: Played) -> None:
    data = played(seeds=2, report={"panels": [{"chart": "heat", "measure": "score", "x": "game", "y": "agent"}]})
    page = build_report(data, added=[{**CURVE, "title": "Mine"}]).path.read_text()
    assert 0 < page.index(">Mine<") < page.index("Score by game and agent") and "Single matches" in page


def test_a_panel_of_several_figures_needs_a_folder(played: Played, tmp_path: Path) -> None:
    data = played(seeds=2, vary={"game": ["prisoners_dilemma", "public_goods"]})
    with pytest.raises(OstromError, match=r"one.pdf: .* has 2 figures; name a folder"):
        draw_charts(data, ["mechanisms_actions"], tmp_path / "one.pdf")
    assert not list(tmp_path.glob("*.pdf"))


def test_eight_agents_stay_apart_on_a_light_and_on_a_dark_page() -> None:
    style = (Path(build.__file__).parent / "page" / "style.css").read_text()
    dark = dict(re.findall(r"--([\w-]+): (#\w{6})", style[style.index("prefers-color-scheme: dark") :]))
    named = {tone: re.search(r"--([\w-]+)", TONES.get(f'="{tone.lower()}"', "")) for tone in PALETTE}
    for page in ([*PALETTE], [tone if name is None else dark[name[1]] for tone, name in named.items()]):
        parts = [[int(tone[i : i + 2], 16) for i in (1, 3, 5)] for tone in page]
        assert min(sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p, q in combinations(parts, 2)) > 80, page
    assert len(PALETTE) == len(SHAPES) == len(DASHES) == len(set(SHAPES)) == 8


def test_titles_of_panels_and_names_below_an_axis_get_more_room_before_they_have_many_lines() -> None:
    titles = ["prompts/variants/only_the_very_last_round_and_nothing_else.md"] * 2
    assert PHONE.panels(2, 165)[0] == 2 and PHONE.panels(2, 165, titles, 60)[0] == 1
    below = PHONE.below(titles, 140)
    lines = json.loads(re.fullmatch(r"\((.*)\)\[.*", below["labelExpr"])[1])  # type: ignore[index]
    assert below["labelAngle"] == -90 and "".join(lines[titles[0]]) == titles[0]
    assert len(lines[titles[0]]) * (PHONE.size + 2) <= 70


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
    ("facets", "agents", "canvas"),
    [
        (1, 2, WIDE), (3, 4, PHONE), pytest.param(8, 7, WIDE, marks=pytest.mark.slow),
        pytest.param(8, 2, Canvas(500, 20), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_kind_draws_long_names_within_its_canvas(facets: int, agents: int, canvas: Canvas) -> None:
    for kind, chart in charts_of(facets, agents).items():
        spec = chart(canvas)
        panels = spec.get("concat", [spec])
        assert len(panels) == facets, kind
        assert all(panel["width"] >= 60 and panel["height"] >= 20 for panel in panels), kind
        svg = render(chart, canvas)[0]
        assert 100 < _width(svg) <= canvas.width + 12, (kind, _width(svg))
        assert "…" not in svg, kind


@pytest.mark.pictures
def test_the_title_of_an_axis_stands_beyond_its_labels() -> None:
    svg = render(charts_of(1, 3)["heat"], WIDE)[0]
    (place,) = re.findall(r"translate\((-[\d.]+),[-\d.]+\) rotate\(-90\)[^>]*>agent<", svg)
    labels = re.findall(r">([^<>]*organisation_[^<>]*)<", svg)
    assert labels and -float(place) > WIDE.text(*labels), place
