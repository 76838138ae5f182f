"""The width of a drawing, the size of its letters and its axes: text widths, the room for panels, and ticks.

A chart is a function of a canvas and gives a specification (Vega-Lite): a page shows one for a wide screen and one for
a phone, a file has the width and the letters that its reader asks for.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import accumulate
from typing import Any, Concatenate, ParamSpec

import orjson

from ostrom.reports.theme import GAP, SIZE

P = ParamSpec("P")
Spec = dict[str, Any]

WIDTHS = {
    char: ems / 1000
    for ems, chars in {
        191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[]\\ft", 334: "(){}-r`", 355: '"', 389: "*", 469: "^",
        500: "cksvxyzJ", 556: "#$0123456789?L_abdeghnopqu", 584: "+<=>~", 611: "FTZ", 667: "ABEKPSVXY&",
        722: "CDHNRUw", 778: "GOQ", 833: "mM", 889: "%", 944: "W", 1015: "@",
    }.items()
    for char in chars
}  # fmt: skip
"""Widths of characters relative to the font size; others count as wide as high."""
BOLD = 1.09
BREAKS = re.compile(r"(?<=[\s/_\-·,:;#.|])")
"""The places where a name may be broken."""
MOST_LINES = 8
FEW_LINES = 4
"""The number of lines of a name that is easily read; beyond it, panels and names get more room."""
NARROWEST_LEVEL = 54
"""The width per name below which names under an axis are vertical."""
UPRIGHT = (130, 180, 260)
"""The allowed lengths of vertical names, the shortest first."""


def text_width(text: str, size: float = SIZE) -> float:
    """Return the width of a line in pixels.

    >>> text_width("mill 1") < text_width("MILL 1") < text_width("磨坊磨坊")
    True
    """
    return size * sum(WIDTHS.get(char, 1.0) for char in text)


@dataclass(frozen=True)
class Canvas:
    """The width of a drawing and its letter size, in pixels."""

    width: float = 960
    size: float = SIZE

    def text(self, *lines: str) -> float:
        """Return the width of the widest line."""
        return max((text_width(line, self.size) for line in lines), default=0.0)

    def lines(self, text: str, room: float) -> list[str]:
        """Break a text into lines of a width, between words and within words that are too long.

        >>> Canvas().lines("public goods · history length 10", 120)
        ['public goods ·', 'history length 10']
        >>> Canvas().lines("a" * 30, 110)
        ['aaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaa']
        """
        room, lines = max(room, 4 * self.size), [""]
        for word in BREAKS.split(text):
            if self.text((lines[-1] + word).rstrip()) > room:
                lines.append("")
            while self.text(word.rstrip()) > room:
                fit = sum(wide <= room / self.size for wide in accumulate(WIDTHS.get(char, 1.0) for char in word))
                lines[-1:], word = [word[:fit], ""], word[fit:]
            lines[-1] += word
        lines = [line.strip() for line in lines if line.strip()] or [""]
        return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 2], "…", lines[-1]]

    def most_lines(self, names: Iterable[str], room: float) -> int:
        """Return the number of lines of the name that needs most."""
        return max((len(self.lines(name, room)) for name in names), default=1)

    def title(self, text: str, room: float, *, bold: bool = False) -> str | list[str]:
        """A title broken into lines of this width; the plain text if one line is enough."""
        lines = self.lines(text, room / BOLD if bold else room)
        return lines if len(lines) > 1 else text

    def names(self, names: Iterable[str], room: float, *, centred: bool = False) -> Spec:
        """Return how an axis or a legend writes names in a width: in several lines if needed."""
        lines = {name: self.lines(name, room) for name in names}
        if all(len(of) == 1 for of in lines.values()):
            return {}
        # Lines start at the middle of their row: labels of several lines move up by half of their extra height.
        some = {most: [name for name, of in lines.items() if len(of) == most] for most in {*map(len, lines.values())}}
        up = [
            {
                "test": f"indexof({orjson.dumps(of).decode()}, datum.label) >= 0",
                "value": -(self.size + 2) * (most - 1) / 2,
            }
            for most, of in some.items()
        ]
        return {
            "labelExpr": f"({orjson.dumps(lines).decode()})[datum.label] || datum.label",
            **({"labelOffset": {"condition": up, "value": 0}} if centred else {}),
        }

    def row_labels(self, names: Iterable[str]) -> "RowLabels":
        """Return the labels to the left of rows."""
        names = list(names)
        most = max(0.31 * self.width, min(150, 0.42 * self.width))
        lines = [line for name in names for line in self.lines(name, most)]
        return RowLabels(
            self.text(*lines) + 24,
            self.most_lines(names, most) * (self.size + 3) + 3,
            self.names(names, most, centred=True),
        )

    def below(self, names: Iterable[str], width: float) -> Spec:
        """Return the axis of names along a width: side by side, in lines, or vertical."""
        names = list(names)
        room = width / max(len(names), 1) - 6
        if self.text(*names) <= room:
            return {"labelOverlap": False, "labelAngle": 0}
        if room < NARROWEST_LEVEL or self.most_lines(names, room) > FEW_LINES:
            fits = [long for long in UPRIGHT if self.most_lines(names, long) * (self.size + 2) <= room + 6]
            return {
                "labelOverlap": room < self.size - 6,
                "labelAngle": -90,
                "labelAlign": "right",
                **self.names(names, min(fits, default=2 * max(UPRIGHT)), centred=True),
            }
        return {"labelOverlap": False, "labelAngle": 0, **self.names(names, room)}

    def legend(self, names: Iterable[str], left: float = 0, **look: Any) -> Spec:
        """Return a legend that begins ``left`` pixels from the edge, with as many columns as its names allow."""
        names, room = list(names), self.width - left
        lines = (line for name in names for line in self.lines(name, room - 3 * self.size))
        return {
            "columns": max(1, int(room // (self.text(*lines) + 2 * self.size + 8))),
            **self.names(names, room - 3 * self.size),
            **look,
        }

    def axis(self, numbers: Iterable[float]) -> float:
        """Return the width of a vertical axis of numbers with its title."""
        return self.text(*(f"{number:,.4g}" for number in numbers)) + self.size + 26

    def panels(self, many: int, least: float, titles: Iterable[str] = (), left: float = 0) -> tuple[int, float]:
        """Return how many panels of a least width fit side by side, and the width of each.

        They are fewer where ``titles``, which begin ``left`` pixels into a panel, would have many lines.
        """
        fit, titles = int((self.width + GAP) // (least + GAP)), list(titles)
        for columns in range(max(1, min(preferred_columns(many), fit)), 0, -1):
            width = (self.width - GAP * (columns - 1)) / columns
            if self.most_lines(titles, (width - left) / BOLD) <= FEW_LINES:
                break
        return columns, width


@dataclass(frozen=True)
class RowLabels:
    """Labels to the left of rows: their width, the height of the tallest, and the axis settings."""

    width: float
    height: float
    axis: Mapping[str, Any]


def preferred_columns(panels: int) -> int:
    """Return the number of columns of small multiples: few, and without gaps if possible.

    >>> [preferred_columns(n) for n in (1, 2, 3, 4, 5, 6, 8, 9, 10, 18)]
    [1, 2, 3, 2, 3, 3, 4, 3, 3, 3]
    """
    return min(max(panels, 1), 2) if panels <= 2 or panels == 4 else min((3, 4), key=lambda n: (-panels % n, n))


WIDE, PHONE = Canvas(), Canvas(358)
"""The column of a page, and a screen of 390 pixels."""

Drawing = Callable[[Canvas], Spec]
"""A function from a canvas to a chart specification."""


def drawing(function: Callable[Concatenate[Canvas, P], Spec]) -> Callable[P, Drawing]:
    """Turn a function of a canvas and data into a function of the data that returns a drawing."""

    @wraps(function)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        return lambda canvas: function(canvas, *args, **kwargs)

    return waiting


SAME = 1e-9
"""The relative difference below which values count as one on an axis."""


@dataclass(frozen=True)
class Ticks:
    """The range of an axis, its ticks, and their format."""

    domain: tuple[float, float]
    values: tuple[float, ...]
    format: str


SHARES = Ticks((0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0), ".2~f")
NARROW_RANGE = 0.1
"""The width of the range below which an axis of shares is cut, with a note."""
CUT = " (axis cut)"


def share_ticks(values: Iterable[float | None]) -> tuple[Ticks, str]:
    """Return the axis of shares, 0 to 1 unless all values lie within a tenth, and its note.

    >>> share_ticks([0.2, 0.9])[1], share_ticks([0.91, 0.97])[1], share_ticks([0.91, 0.97])[0].domain
    ('', ' (axis cut)', (0.9, 0.98))
    >>> share_ticks([0.97, 1.0])[0].domain, share_ticks([0.5, 0.5])[1], share_ticks([0.0, 0.05])[1]
    ((0.97, 1.0), '', '')
    """
    finite = [v for v in values if v is not None and math.isfinite(v)]
    # From 0 on, or for a single value, a cut axis shows nothing more than the whole one.
    if not finite or min(finite) < SAME or not SAME < max(finite) - min(finite) <= NARROW_RANGE + SAME:
        return SHARES, ""
    return ticks_for(finite, 5), CUT


def ticks_for(values: Iterable[float | None], most: int = 6, *, zero: bool = False) -> Ticks:
    """Return an axis for some values: a single value is in the middle, and ticks are unabbreviated.

    >>> ticks_for([2.5, 3.0]).values, ticks_for([2.5, 3.0]).format
    ((2.5, 2.6, 2.7, 2.8, 2.9, 3.0), '.1f')
    >>> ticks_for([8 / 3, 8 / 3 + 1e-16]).values
    (2.0, 2.5, 3.0, 3.5)
    >>> ticks_for([0.0, 10.0], 5).format, ticks_for([0.0, 10.0], 5).values
    ('.1f', (0.0, 2.5, 5.0, 7.5, 10.0))
    >>> ticks_for([0.0, 0.0]).domain
    (0.0, 1.0)
    """
    finite = [v for v in values if v is not None and math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= SAME * size or size == 0:
        reach = 0.25 * size or 0.5
        low, high = (low - reach, high + reach) if size else (0.0, 1.0)
    step = _round_step((high - low) / max(most - 1, 1))
    first, last = math.floor(low / step + SAME), math.ceil(high / step - SAME)
    if last == first:
        last += 1
    places = next((p for p in range(12) if abs(round(step, p) - step) <= SAME * step), 12)
    marks = tuple(round(i * step, places + 2) for i in range(first, last + 1))
    return Ticks((marks[0], marks[-1]), marks, f",.{places}f" if marks[-1] >= 1000 else f".{places}f")


def whole_ticks(values: Sequence[float], most: int = 8) -> tuple[int, ...]:
    """Return ticks at whole numbers, for rounds and other counts.

    >>> whole_ticks([1, 2, 3]), whole_ticks([1, 500])
    ((1, 2, 3), (1, 100, 200, 300, 400, 500))
    """
    low, high = math.ceil(min(values)), math.floor(max(values))
    step = max(1, round(_round_step((high - low) / max(most - 1, 1)))) if high > low else 1
    return tuple(dict.fromkeys([low, *(mark for mark in range(0, high + 1, step) if mark - low >= step / 2)]))


def _round_step(raw: float) -> float:
    """Return the next larger step of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * k for k in (1.0, 2.0, 2.5, 5.0, 10.0) if power * k >= raw * (1 - SAME))
