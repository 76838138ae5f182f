"""Colours of lines can be seen on light and on dark pages, and those of tiles stay as they are."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from ostrom.reports.figures import for_page
from ostrom.reports.theme import MAIN, colours, shades

PAGES = ("reports/page/style.css", "web/static/view.css")
PAPER = {"reports/page/style.css": "#14181d", "web/static/view.css": "#1a1f25"}


def luminance(colour: str) -> float:
    """As WCAG 2 computes it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("page", PAGES)
def test_every_blue_line_has_a_lighter_tone_on_a_dark_page(page: str) -> None:
    css = files("ostrom").joinpath(page).read_text(encoding="utf-8")
    dark = dict(re.findall(r"--(blue|tone-\d): (#[0-9a-f]{6})", css))
    lines = [MAIN, *(tone for n in range(2, 13) for tone in colours(range(n), ordered=True))]
    for tone in lines:
        (name,) = re.findall(rf'stroke="var\(--(\S+), {tone}\)"', for_page(f'<path stroke="{tone}"/>', "p"))
        assert (luminance(dark[name]) + 0.05) / (luminance(PAPER[page]) + 0.05) >= 4.5
    assert len(dark) == 11


def test_ordered_levels_stay_apart_in_the_dark_and_tiles_keep_their_tone() -> None:
    assert [for_page(f'<rect fill="{tone}"/>', "p") for tone in colours(range(3), ordered=True)] == [
        f'<rect fill="var(--tone-{place}, {tone})"/>'
        for place, tone in zip((0, 4, 9), colours(range(3), ordered=True), strict=True)
    ]
    for tone in shades():
        assert for_page(f'<rect fill="{tone}"/>', "p") == f'<rect fill="{tone}"/>'
