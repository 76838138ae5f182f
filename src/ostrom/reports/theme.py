"""The look of charts: one typeface, few lines, and colours that are distinct for all readers and in grey print.

The qualitative colours are those of Okabe & Ito (2008) without yellow, which is lost on white paper; violet
stays apart from them for colour-blind readers too. The typeface is one that the renderer brings along, with its metric
twins as the next choices of a browser.
"""

from collections.abc import Sequence
from typing import Any

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
INK, QUIET, RULE, LINE = "#1d232b", "#5b6570", "#e3e7ec", "#9aa4ae"
MAIN = "#0072B2"
ON_LIGHT, ON_DARK = "#10151b", "#fefefe"
"""The colours of text on heat map tiles, which look the same on light and dark pages."""
SIZE = 13
"""The size of all chart text in pixels, equal to that of notes on the page."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D", "#8B5CF6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
"""The shapes of points, one per series; no shape is a line, which would be lost on the line of an interval."""
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4], [1, 4], [6, 2, 1, 2, 1, 2])
SEQUENCE = ("#e8f1f7", "#a9cbe2", "#5f9dc7", "#2b6ea6", "#0d3355")
"""Light to dark, for ordered levels and shares."""
GAP = 22
"""Pixels between panels."""
STEPS = 11
"""The number of shades of a heat map: one for each tenth."""
COOPERATES, DEFECTS = "#0072B2", "#E69F00"

MOST_COLOURS = len(PALETTE)


def colours(levels: Sequence[Any], *, ordered: bool = False) -> list[str]:
    """Return a colour for every level: distinct ones, or one hue from light to dark if ``ordered``.

    >>> colours(["a", "b"])
    ['#0072B2', '#D55E00']
    >>> colours([1, 2, 3], ordered=True)
    ['#7baed1', '#4d8dbb', '#2969a0']
    """
    if ordered and len(levels) > 1:
        # The lightest tones are invisible as thin lines on a light page. No tone is one of a heat map's,
        # whose tiles keep their colours on a dark page, while lines become lighter there.
        return [_blend(0.405 + 0.365 * i / (len(levels) - 1)) for i in range(len(levels))]
    return [MAIN] * len(levels) if len(levels) > MOST_COLOURS else list(PALETTE[: len(levels)])


def shades(steps: int = STEPS) -> list[str]:
    """The tones of a heat map from light to dark."""
    return [_blend(i / (steps - 1)) for i in range(steps)]


def _blend(share: float) -> str:
    """A tone of the sequence, 0 for its light end and 1 for its dark end."""
    place = min(share, 1.0) * (len(SEQUENCE) - 1)
    low = min(int(place), len(SEQUENCE) - 2)
    left, right = ([int(tone[i : i + 2], 16) for i in (1, 3, 5)] for tone in (SEQUENCE[low], SEQUENCE[low + 1]))
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(left, right, strict=True))


def config(size: float = SIZE) -> dict[str, Any]:
    """The Vega-Lite configuration that every chart gets, with letters of a size."""
    return {
        "background": "white",
        "font": FONT,
        # Marks need no labels of their own: the figure has one text alternative.
        "aria": False,
        "padding": 4,
        "view": {"stroke": None, "continuousWidth": 320, "continuousHeight": 200},
        "axis": {
            "labelColor": QUIET,
            "labelFontSize": size,
            "labelLimit": 0,
            "maxExtent": 2000,  # otherwise a title overlaps labels of more than 200 pixels
            "titleColor": INK,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainColor": LINE,
            "tickColor": LINE,
            "tickSize": 4,
            "gridColor": RULE,
            "gridWidth": 1,
        },
        "axisY": {"domain": False, "ticks": False, "labelPadding": 10},
        "axisX": {"labelAngle": 0, "labelPadding": 3, "labelFlush": False, "labelSeparation": 4},
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "titleColor": QUIET,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "labelFontSize": size,
            "labelLimit": 0,
            "symbolSize": 60,
            "symbolStrokeWidth": 2,
            "titleOrient": "top",
            "offset": 10,
        },
        "title": {"color": INK, "fontSize": size, "fontWeight": "bold", "anchor": "start", "offset": 8},
        "line": {"strokeWidth": 2, "strokeCap": "round", "strokeJoin": "round"},
        "concat": {"spacing": GAP},
        "text": {"fontSize": size},
    }
