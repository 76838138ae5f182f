"""A quick stand-in for the renderer of charts: real pictures only where a test looks at one.

Rendering takes most of the time of a report, and few tests are about a picture: they carry the marker ``pictures``.
The stand-in writes an SVG of the right form that holds every text of the chart, so that links, names and titles can be
found in it; what a chart says is tested in its specification and in its tables.
"""

import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from xml.sax.saxutils import escape

import pytest

NAME = "vl_convert"
ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)
"""The smallest PNG: one white pixel."""


def texts(part: Any) -> Iterator[str]:
    """Every text in a specification."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            if key != "$schema":  # an address, which no page may hold
                yield from texts(value)


def to_svg(spec: str | dict[str, Any], **_options: object) -> str:
    """A chart as a list of its texts; Altair's own ``save`` passes options that a list has no use for."""
    chart = json.loads(spec) if isinstance(spec, str) else spec
    words = "".join(f"<text>{escape(text)}</text>" for text in dict.fromkeys(texts(chart)))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="0 0 300 200">'
        f'<rect width="300" height="200" fill="white"/>{words}</svg>'
    )


def to_png(svg: str, **_: Any) -> bytes:
    """One pixel."""
    return ONE_PIXEL


def to_pdf(svg: str, **_: Any) -> bytes:
    """The head of a PDF with the texts of the chart, which no reader opens."""
    return b"%PDF-1.7 " + svg.encode()


STAND_IN = ModuleType(NAME, __doc__)
STAND_IN.__dict__.update(vegalite_to_svg=to_svg, svg_to_png=to_png, svg_to_pdf=to_pdf)


class Pictures:
    """Puts the stand-in in the place of the renderer, or the renderer back, before each test and its fixtures."""

    def __init__(self) -> None:
        self._real: ModuleType | None = None
        """The renderer, once a test has loaded it: it cannot be loaded twice."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Choose by the marker; what the other one drew is forgotten."""
        if figures := sys.modules.get("ostrom.reports.figures"):
            figures._drawn.cache_clear()
            figures._png.cache_clear()
        module = sys.modules.get(NAME)
        if module is not None and module is not STAND_IN:
            self._real = module
        if item.get_closest_marker("pictures") is None and "browser" not in item.path.parts:
            sys.modules[NAME] = STAND_IN
        elif self._real is not None:
            sys.modules[NAME] = self._real
        else:
            sys.modules.pop(NAME, None)
