"""How wide a drawing is and how large its letters are: what its texts take, and what room its panels have.

A chart is a function of a canvas and gives a specification (Vega-Lite): a page shows one for a wide screen and one for
a phone, a file has the width and the letters that its reader asks for.
"""

import re
from collections.abc import Callable, Iterable, Mapping
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
"""The width of a character of the typeface by its size; any other is taken to be as wide as it is high."""
BOLD = 1.09
BREAKS = re.compile(r"(?<=[\s/_\-·,:;#.|])")
"""Where a name may go on in the next line."""
MOST_LINES = 8
FEW_LINES = 4
"""So many lines of a name are read at a glance: with more, panels and names below an axis get more room."""
NARROWEST_LEVEL = 54
"""Names below an axis stand upright where each has less room."""
UPRIGHT = (130, 180, 260)
"""How long names that stand upright may be, the shortest first."""


def text_width(text: str, size: float = SIZE) -> float:
    """The pixels that a line takes.

    >>> text_width("mill 1") < text_width("MILL 1") < text_width("磨坊磨坊")
    True
    """
    return size * sum(WIDTHS.get(char, 1.0) for char in text)


@dataclass(frozen=True)
class Canvas:
    """The pixels of a drawing from side to side, and of its letters."""

    width: float = 960
    size: float = SIZE

    def text(self, *lines: str) -> float:
        """The pixels of the widest of some lines."""
        return max((text_width(line, self.size) for line in lines), default=0.0)

    def lines(self, text: str, room: float) -> list[str]:
        """A text in lines of a width: broken between words, and within one that is too long for a line.

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
        """The lines of the name that takes most of them."""
        return max((len(self.lines(name, room)) for name in names), default=1)

    def title(self, text: str, room: float, *, bold: bool = False) -> str | list[str]:
        """A title in a room."""
        lines = self.lines(text, room / BOLD if bold else room)
        return lines if len(lines) > 1 else text

    def names(self, names: Iterable[str], room: float, *, centred: bool = False) -> Spec:
        """How an axis or a legend writes names in a room: in several lines where one is too long."""
        lines = {name: self.lines(name, room) for name in names}
        if all(len(of) == 1 for of in lines.values()):
            return {}
        # Lines begin at the middle of their row: those of a label in several lines move up by half of what they add.
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
        """Names to the left of their rows."""
        names = list(names)
        most = max(0.31 * self.width, min(150, 0.42 * self.width))
        lines = [line for name in names for line in self.lines(name, most)]
        high = self.most_lines(names, most)
        return RowLabels(self.text(*lines) + 24, high * (self.size + 3) + 3, self.names(names, most, centred=True))

    def below(self, names: Iterable[str], width: float) -> Spec:
        """The axis of names along a width: beside each other, in lines, or upright where there is no room."""
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
        """A legend that begins ``left`` of the canvas, in as many columns as its longest name leaves."""
        names, room = list(names), self.width - left
        lines = [line for name in names for line in self.lines(name, room - 3 * self.size)]
        longest = self.text(*lines) + 2 * self.size + 8
        return {"columns": max(1, int(room // longest)), **self.names(names, room - 3 * self.size), **look}

    def axis(self, numbers: Iterable[float]) -> float:
        """The pixels of a vertical axis of numbers with its title."""
        return self.text(*(f"{number:,.4g}" for number in numbers)) + self.size + 26

    def panels(self, many: int, least: float, titles: Iterable[str] = (), left: float = 0) -> tuple[int, float]:
        """How many panels stand side by side, each at least so wide, and how wide each is.

        They are fewer where ``titles``, which begin ``left`` of a panel, would have many lines.
        """
        fit, titles = int((self.width + GAP) // (least + GAP)), list(titles)
        for columns in range(max(1, min(preferred_columns(many), fit)), 0, -1):
            width = (self.width - GAP * (columns - 1)) / columns
            if self.most_lines(titles, (width - left) / BOLD) <= FEW_LINES:
                break
        return columns, width


@dataclass(frozen=True)
class RowLabels:
    """Names to the left of rows: their width, the height of the highest, and how the axis writes them."""

    width: float
    height: float
    axis: Mapping[str, Any]


def preferred_columns(panels: int) -> int:
    """How many small multiples stand side by side: few, and without holes where it can be helped.

    >>> [preferred_columns(n) for n in (1, 2, 3, 4, 5, 6, 8, 9, 10, 18)]
    [1, 2, 3, 2, 3, 3, 4, 3, 3, 3]
    """
    if panels <= 2 or panels == 4:
        return min(max(panels, 1), 2)
    return min((3, 4), key=lambda n: (-panels % n, n))


WIDE, PHONE = Canvas(), Canvas(358)
"""The column of a page, and a screen of 390 pixels."""

Drawing = Callable[[Canvas], Spec]
"""A chart that waits for its canvas."""


def drawing(function: Callable[Concatenate[Canvas, P], Spec]) -> Callable[P, Drawing]:
    """A function of a canvas and of what is drawn, as a function of the latter that gives a drawing."""

    @wraps(function)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        return lambda canvas: function(canvas, *args, **kwargs)

    return waiting
