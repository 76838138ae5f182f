"""Build the report of a run: draw the panels, write figures and tables, then the page."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.files import refuse_link, write_whole
from ostrom.reports.card import card, headline, reproduce, warnings
from ostrom.reports.chart import Spec
from ostrom.reports.choose import chosen_panels
from ostrom.reports.declared import panel_name, panel_of
from ostrom.reports.figures import for_page, need_extras, render
from ostrom.reports.files import as_csv, as_latex, as_markdown, file_name
from ostrom.reports.findings import findings, first_chart
from ostrom.reports.page import Section, ShownFigure, render_page, shown_table
from ostrom.reports.panel import Drawn, Table
from ostrom.reports.provenance import calls_table, made_of
from ostrom.reports.words import pretty


@dataclass(frozen=True)
class Report:
    """A report on disk; ``failures`` names the panels that could not be drawn and why."""

    path: Path
    failures: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def build_report(data: RunData, wanted: Sequence[Spec] | None = None, *, safe: bool = False) -> Report:
    """Write ``report/index.html`` with figures and tables beside it.

    ``wanted`` are panels as the study names them; without it, those of the study. A panel that fails leaves
    an error box on the page and its reason in the result. With ``safe`` no text in a CSV file can be taken for a
    formula by a spreadsheet.
    """
    need_extras()
    if wanted is None:
        wanted = (data.study.get("report") or {}).get("panels") or ()
    context = ReportFiles(data, safe=safe)
    first = context.first()
    sections = [context.section(spec) for spec in chosen_panels(wanted)]
    page = render_page(data, first, sections, warnings(data), card(data), reproduce(data), findings(data))
    path = context.write(page)
    return Report(path, tuple(f"{s.title}: {s.error}" for s in sections if s.error))


class ReportFiles:
    """Collects the files of a report and writes them at the end."""

    def __init__(self, data: RunData, *, safe: bool, folder: str = "report") -> None:
        self.data, self.safe, self.folder, self.home = data, safe, folder, data.folder
        self.made_of = made_of(data)
        self.files: dict[str, str | bytes] = {}
        self._names: dict[str, set[str]] = {
            "figures": set(),
            "tables": set(),
            "ids": {"manifest", "reproduce"},
        }

    def take(self, data: RunData, *, named: bool) -> None:
        """Draw from another run now; captions say which where it is ``named``."""
        self.data, self.made_of = data, made_of(data) + (f" Run: {data.folder.name}." if named else "")

    def first(self) -> Section:
        """The results in numbers."""
        section = Section(self._name("ids", "results"), "Results at a glance")
        table = headline(self.data)
        if table is None:
            section.notes.append("No finished match, so there are no results yet.")
            return section
        chart = first_chart(self.data)
        if chart is not None:
            drawn = chart.draw(self.data)
            self.fill(
                section, "results", replace(drawn, tables=(), notes=drawn.notes if drawn.figures else ())
            )
        section.tables.append(self._table(table, always_open=False))
        if (calls := calls_table(self.data)) is not None:
            section.tables.append(self._table(calls, always_open=False))
        return section

    def begin(self, name: str, title: str) -> Section:
        """An empty section."""
        return Section(self._name("ids", name), title)

    def add(self, section: Section, table: Table) -> None:
        """Put a table into a section."""
        section.tables.append(self._table(table, always_open=False))

    def section(self, spec: Spec) -> Section:
        """One panel, drawn; whatever goes wrong in it stays in it."""
        name = panel_name(spec)
        section = Section(self._name("ids", name), pretty(name).capitalize())
        try:
            panel = panel_of(spec)
            section.title = panel.title
            self.fill(section, name, panel.draw(self.data))
        except OstromError as error:
            section.error = str(error)
        except Exception as error:
            section.error = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return section

    def fill(self, section: Section, name: str, drawn: Drawn, prefix: str = "") -> None:
        """Put what a panel drew into a section; ``prefix`` begins the names of its files."""
        section.notes += drawn.notes
        section.html += drawn.html
        for figure in drawn.figures:
            svg, png = render(figure.chart)
            file = self._name("figures", f"{prefix} {figure.name}")
            self.files[f"figures/{file}.svg"], self.files[f"figures/{file}.png"] = svg, png
            shown = Markup(for_page(svg, f"{section.id}-{file}"))
            caption = f"{figure.caption} {self.made_of}"
            section.figures.append(ShownFigure(shown, caption, figure.alt, file))
        for table in drawn.tables:
            named = replace(table, name=f"{prefix} {table.name}".strip())
            section.tables.append(self._table(named, always_open=not drawn.figures))
        if not (drawn.notes or drawn.figures or drawn.tables or drawn.html):
            section.notes.append(f"The panel {name} has nothing to show for this run.")

    def _table(self, table: Table, *, always_open: bool) -> dict[str, Any]:
        table = replace(table, caption=f"{table.caption} {self.made_of}".strip())
        file = self._name("tables", table.name)
        self.files[f"tables/{file}.csv"] = as_csv(table, safe=self.safe)
        self.files[f"tables/{file}.md"] = as_markdown(table)
        self.files[f"tables/{file}.tex"] = as_latex(table)
        return shown_table(table, file, always_open=always_open)

    def _name(self, kind: str, wish: str) -> str:
        return file_name(wish, self._names[kind])

    def write(self, page: str) -> Path:
        """Write everything; the page comes last, so an old page never points to missing files for long."""
        folder = self.home
        for part in self.folder.split("/"):
            folder = refuse_link(folder / part)
        study = yaml.safe_dump(self.data.study, sort_keys=False, allow_unicode=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for kind in ("figures", "tables"):
                draft = folder / f".{kind}.tmp"
                for place in (draft, folder / kind):
                    refuse_link(place)
                shutil.rmtree(draft, ignore_errors=True)
                draft.mkdir()
                for name, content in self.files.items():
                    if name.startswith(f"{kind}/"):
                        _write(draft / name.split("/", 1)[1], content)
                shutil.rmtree(folder / kind, ignore_errors=True)
                draft.rename(folder / kind)
            _write(folder / "study.yaml", study)
            _write(folder / "index.html", page)
        except OSError as error:
            raise RunError(f"{folder}: cannot be written ({error.strerror or error})") from None
        return folder / "index.html"


def _write(path: Path, content: str | bytes) -> None:
    write_whole(path, content.encode("utf-8", errors="replace") if isinstance(content, str) else content)
