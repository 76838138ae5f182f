"""What a panel is: a title and a way to draw one aspect of a run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ostrom.data.rundata import RunData
from ostrom.reports.canvas import WIDE, Canvas


@dataclass(frozen=True)
class Figure:
    """A chart: on the page as SVG, beside it as SVG, PNG and PDF."""

    name: str
    chart: Any
    """A function of a canvas that gives a specification of Vega-Lite (``ostrom.reports.marks``), or an Altair chart."""
    caption: str
    alt: str
    """What the chart shows, for people who cannot see it."""
    canvas: Canvas = WIDE
    """How wide its files are, and how large their letters."""


@dataclass(frozen=True)
class Table:
    """A table: on the page, and beside it as CSV and Markdown."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    shown: int = 400
    """At most so many rows on the page; the files hold all."""
    levels: Sequence[str] = ()
    """Columns that are named after levels, which keep their underscores on the page."""


@dataclass(frozen=True)
class Drawn:
    """What a panel has to say. Nothing but notes is an honest answer."""

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    html: Sequence[Markup] = field(default=())
    """Fragments that are safe to put into the page: build them with ``Markup`` so that values are escaped."""


class Panel(ABC):
    """One aspect of a run, drawn from its tables. Parameters come from the study through ``__init__``."""

    title: str

    @abstractmethod
    def draw(self, data: RunData) -> Drawn:
        """Draw the panel; where there is nothing to draw, say why in a note."""
