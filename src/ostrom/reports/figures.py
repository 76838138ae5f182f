"""From charts to files: SVG for the page, SVG and PNG beside it, rendered without a browser or a network."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from ostrom.ground.errors import OstromError
from ostrom.ground.terminal import escaped
from ostrom.reports.theme import INK, LINE, QUIET, RULE, config

SCALE = 2.0
"""Pixels of a PNG per pixel of the chart: sharp on paper and on dense screens."""

TONES: Mapping[str, str] = {
    f'="{INK}"': '="var(--ink)"',
    f'="{QUIET}"': '="var(--quiet)"',
    f'="{RULE}"': '="var(--rule)"',
    f'="{LINE}"': '="var(--line)"',
    '="white"': '="var(--paper)"',
}
"""Colours of text, lines and paper follow the page, so that a chart can be read in light and dark."""

TONE = re.compile("|".join(map(re.escape, TONES)), re.IGNORECASE)
ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
BACKGROUND = re.compile(r'<rect width="[\d.]+" height="[\d.]+" fill="white"\s*/>')

HINT = "a report needs {}: pip install 'ostrom[report]'"


def need_extras() -> None:
    """Say which package is missing before any work is done."""
    for name in ("altair", "vl_convert", "duckdb", "polars"):
        try:
            __import__(name)
        except ImportError:
            raise OstromError(HINT.format(name.replace("_", "-"))) from None


def render(chart: Any) -> tuple[str, bytes]:
    """A chart as SVG text and as PNG bytes, in the house style."""
    import altair as alt
    import vl_convert

    # Altair has checked every part as it was built; checking the whole again doubles the time.
    spec = _printable(chart.to_dict(validate=False))
    spec["config"] = config()
    major, minor, *_ = alt.SCHEMA_VERSION.lstrip("v").split(".")
    svg: str = vl_convert.vegalite_to_svg(orjson.dumps(spec).decode(), vl_version=f"{major}.{minor}")
    return svg, vl_convert.svg_to_png(svg, scale=SCALE)


def _printable(part: Any) -> Any:
    """A specification whose texts hold nothing that XML cannot: an escape character ends the renderer's process."""
    if isinstance(part, str):
        return escaped(part)
    if isinstance(part, dict):
        return {_printable(key): _printable(value) for key, value in part.items()}
    return [_printable(value) for value in part] if isinstance(part, list) else part


def for_page(svg: str, prefix: str) -> str:
    """An SVG that can stand beside others in one page: its ids are its own, and it scales with the page.

    >>> for_page('<svg width="10" height="5" viewBox="0 0 10 5"><g id="a" clip-path="url(#a)"/></svg>', "f1")
    '<svg style="max-width:10px" viewBox="0 0 10 5"><g id="f1-a" clip-path="url(#f1-a)"/></svg>'
    """
    svg = BACKGROUND.sub("", svg)
    # The figure has one text alternative; roles of single marks without a name would be read out as blanks.
    svg = re.sub(r"<[a-z][^>]*>", lambda tag: ROLES.sub("", tag[0]), svg)
    svg = TONE.sub(lambda found: TONES[found[0].lower()], svg)
    svg = re.sub(r'(?<=\sid=")(?=[^"])', f"{prefix}-", svg)
    svg = re.sub(r"(?<=url\(#)", f"{prefix}-", svg)
    svg = re.sub(r'(?<=href="#)', f"{prefix}-", svg)
    return re.sub(
        r'<svg([^>]*?) width="([\d.]+)" height="[\d.]+"', r'<svg\1 style="max-width:\2px"', svg, count=1
    )
