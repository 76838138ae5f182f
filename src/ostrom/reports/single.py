"""A single chart as a file of its own: SVG, PNG, or a page that opens offline."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_whole
from ostrom.reports.figures import for_page, need_extras, render
from ostrom.reports.page import Section, ShownFigure, plain_page, shown_table
from ostrom.reports.panel import Figure, Table

KINDS = (".svg", ".png", ".html")


def check_chart_file(path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path}: must end in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    need_extras()


def write_chart_file(
    path: Path, figure: Figure, table: Table, *, kicker: str, title: str, about: str
) -> None:
    """Write a figure; a page has its table and what it says beside it."""
    svg, png = render(figure.chart)
    data = svg.encode() if path.suffix.lower() == ".svg" else png
    if path.suffix.lower() == ".html":
        section = Section("figure", figure.caption)
        section.figures.append(ShownFigure(Markup(for_page(svg, "f")), figure.caption, figure.alt, ""))
        section.tables.append(shown_table(table, "", always_open=True))
        data = plain_page(kicker, title, [section], about=about).encode()
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
