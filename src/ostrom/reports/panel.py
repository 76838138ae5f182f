"""The panel interface: a title and a function that draws one aspect of a run."""

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
    """A function of a canvas that returns a Vega-Lite specification (``ostrom.reports.marks``), or an Altair chart."""
    caption: str
    alt: str
    """A text alternative of the chart."""
    canvas: Canvas = WIDE
    """The width of its files, and their letter size."""


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
    """The output of a panel; notes alone are valid output."""

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    html: Sequence[Markup] = field(default=())
    """Safe HTML fragments: build them with ``Markup``, so that values are escaped."""


class Panel(ABC):
    """One aspect of a run, drawn from its tables. Parameters come from the study through ``__init__``."""

    title: str

    @abstractmethod
    def draw(self, data: RunData) -> Drawn:
        """Draw the panel; without data, return a note that says why."""
