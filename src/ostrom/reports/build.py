"""Builds the report of a run: selects and draws the panels, writes figures and tables, then the page.

A single chart can also be written as a file of its own: PDF, SVG, PNG, or a page that opens offline.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from ostrom.analysis.population import EARLIER, population_words
from ostrom.analysis.registered import RegistrationStatus, standing
from ostrom.data.rundata import RunData, so_far
from ostrom.ground.errors import OstromError, RunError, UsageError
from ostrom.ground.files import refuse_link, write_atomically
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.answers import ReportAnswers, answers, keep_result
from ostrom.reports.card import calls_table, card, first_chart, headline, reproduce, warnings
from ostrom.reports.cells import INTERVALS, unfinished
from ostrom.reports.chart import Spec, is_chart
from ostrom.reports.declared import panel_name, panel_of, shown_with
from ostrom.reports.figures import (
    BINARY_KINDS,
    MANY,
    RenderedChart,
    Renderer,
    as_pdf,
    both_specs,
    both_widths,
    need_extras,
    render,
)
from ostrom.reports.files import as_csv, as_latex, as_markdown, file_name
from ostrom.reports.page import FEW, Section, ShownFigure, page_table, plain_page, render_page
from ostrom.reports.panel import Drawn, Figure, Table
from ostrom.reports.words import pretty


@dataclass(frozen=True)
class Report:
    """A written report; ``failures`` names the panels that could not be drawn, with the reason."""

    path: Path
    failures: tuple[str, ...] = ()
    so_far: str = ""
    """The progress of its unfinished runs."""
    standing: RegistrationStatus = field(default_factory=RegistrationStatus)
    """The registration status."""
    answers: ReportAnswers | None = None
    """The answers of the first screen."""
    population: str = ""
    """Whose values it shows, if earlier versions showed others."""

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def build_report(
    data: RunData,
    wanted: Sequence[Spec] | None = None,
    *,
    safe: bool = False,
    intervals: bool = False,
    home: Path | None = None,
    added: Sequence[Spec] = (),
) -> Report:
    """Write ``report/index.html`` with figures and tables beside it.

    ``wanted`` are panels as the study names them; without it, those of the study; ``added`` stand before them. A
    panel that fails leaves an error box on the page and its reason in the result. With ``safe`` no text in a CSV file
    can be taken for a formula by a spreadsheet. Charts show the single matches of cells with fewer than five; with
    ``intervals`` they show intervals there too. The folder ``report`` lies in ``home``, or else in that of the run.
    """
    need_extras()
    if not data.rows.get("matches") and not data.rows.get("visits"):
        raise UsageError(
            f"{data.name}: no match has ended, so there is nothing to report ({data.so_far or 'none is planned'})"
        )
    if wanted is None:
        wanted = (data.study.get("report") or {}).get("panels") or ()
        named = {"" if is_chart(spec) else panel_name(spec) for spec in wanted}
        wanted = [*(name for name in shown_with(data.rows) if name not in named), *wanted]
    before = INTERVALS.set(intervals)
    try:
        with ReportFiles(data, safe=safe, home=home) as context:
            return _built(context, data, [*added, *wanted])
    finally:
        INTERVALS.reset(before)


def _built(context: "ReportFiles", data: RunData, wanted: Sequence[Spec]) -> Report:
    context.alone = True
    context.made_of = in_captions(data)
    first, summary = context.first_screen(), answers(data)
    if summary is not None:
        context.add(first, summary.table())
        keep_result(data, summary)
    # The pictures of the default panels take longest; they are drawn while the others are computed.
    made = {
        place: context.section(spec)
        for place, spec in sorted(
            enumerate(chosen_panels(wanted)), key=lambda one: panel_name(one[1]) not in DEFAULT_PANELS
        )
    }
    sections = [made[place] for place in sorted(made)]
    registered = standing([data])
    context.draw()
    page = render_page(
        data, first, [*context.cells(), *sections], warnings(data), card(data), reproduce(data), registered,
        summary, context.calls(),
    )  # fmt: skip
    return replace(report_of(context.write(page), [first, *sections], [data], registered), answers=summary)


def report_of(
    path: Path, sections: Sequence[Section], runs: Sequence[RunData], registered: RegistrationStatus
) -> Report:
    """Return a written report with the progress of its runs and their registrations."""
    whose = population_words(runs)
    return Report(
        path,
        tuple(f"{section.title or section.id}: {section.error}" for section in sections if section.error),
        so_far(runs),
        registered,
        population=whose if whose == EARLIER else "",
    )


def in_captions(data: RunData) -> str:
    """Return the last sentence of captions of an unfinished run; empty for a finished one."""
    return f"{data.so_far[:1].upper()}{data.so_far[1:]}." if data.so_far else ""


class ReportFiles(AbstractContextManager["ReportFiles"]):
    """Collects the files of a report and writes them at the end, into the run's folder or ``home``."""

    def __init__(
        self, data: RunData, *, safe: bool, folder: str = "report", home: Path | None = None,
        names: Mapping[Path, str] | None = None,
    ) -> None:  # fmt: skip
        self.data, self.safe, self.folder, self.home = data, safe, folder, home or data.folder
        self.names = names or {}
        """Names of runs on the page, by folder."""
        self.alone = home is None
        """Whether the page is about one run, with its study beside it."""
        self.made_of = ""
        """The end of captions, if a page uses several runs or an unfinished one."""
        self.files: dict[str, str | bytes] = {}
        self._renderer = Renderer(apart=data.entries >= MANY)
        self._pictures: list[tuple[Section, ShownFigure, Callable[[], RenderedChart]]] = []
        """Pictures being drawn, with their places."""
        self._names: dict[str, set[str]] = {
            "figures": set(),
            "tables": set(),
            "ids": {"manifest", "reproduce", "results", "run", "study"},
        }

    def __exit__(self, *_: object) -> None:
        self._renderer.__exit__()

    def take(self, data: RunData, *, named: bool) -> None:
        """Draw from another run from now on; captions name it if ``named``."""
        name = f"Run: {self.names[data.folder]}." if named else ""
        self.data, self.made_of = data, f"{name} {in_captions(data)}".strip()

    def first_screen(self) -> Section:
        """Return the section with the chart of the first screen."""
        section = Section("results", "")
        if (chart := first_chart(self.data)) is None:
            section.notes.append("No finished match, so there are no results yet.")
        else:
            self.fill(section, "results", replace(chart.draw(self.data), tables=(), notes=()))
        return section

    def cells(self) -> list[Section]:
        """Return sections with the numbers of every cell."""
        if (table := headline(self.data)) is None:
            return []
        section = self.begin("cells", "Every cell in numbers")
        section.notes.append(f"{how_many(len(table.rows), 'row')}: one for each cell and agent.")
        self.add(section, table)
        return [section]

    def calls(self) -> Section:
        """Return the section of calls, temperature and versions of the whole page."""
        section = self.begin("calls", "")
        if (table := calls_table(self.data)) is not None:
            self.add(section, table)
        return section

    def careful(self, remarks: Sequence[str]) -> list[Section]:
        """Return remarks for a paper's readers, folded into one section; empty without remarks."""
        if not remarks:
            return []
        section = self.begin("careful", f"Careful ({how_many(len(remarks), 'remark')})")
        lines = Markup("").join(map(Markup("<li>{}</li>").format, remarks))
        section.html.append(Markup("<ul>{}</ul>").format(lines))
        return [section]

    def begin(self, name: str, title: str) -> Section:
        """An empty section."""
        return Section(self._name("ids", name), title)

    def add(self, section: Section, table: Table) -> None:
        """Put a table into a section."""
        section.tables.append(self._table(table, always_open=False))

    def section(self, spec: Spec) -> Section:
        """Draw one panel; an error in it does not affect the others."""
        name = panel_name(spec)
        section = Section(self._name("ids", name), pretty(name).capitalize())
        panel = None
        try:
            panel = panel_of(spec)
            section.title = panel.title
            self.fill(section, name, panel.draw(self.data))
        except Exception as error:
            # Tables without a finished match lack the columns that a panel needs.
            if isinstance(error, OstromError) and panel is not None and (why := unfinished(self.data)):
                section.notes.append(why)
            else:
                section.fail(error)
        return section

    def fill(self, section: Section, name: str, drawn: Drawn, prefix: str = "") -> None:
        """Add a panel's output to a section; ``prefix`` begins the names of its files."""
        section.notes += drawn.notes
        section.html += drawn.html
        for figure in drawn.figures:
            file = self._name("figures", f"{prefix} {figure.name}")
            placeholder = ShownFigure(Markup(""), f"{figure.caption} {self.made_of}".strip(), figure.alt, file)
            section.figures.append(placeholder)
            picture = self._renderer.draw(*both_specs(figure.chart, figure.canvas), f"{section.id}-{file}")
            self._pictures.append((section, placeholder, picture))
        for table in drawn.tables:
            section.tables.append(
                self._table(
                    replace(table, name=f"{prefix} {table.name}".strip()),
                    always_open=not drawn.figures and len(table.rows) <= FEW,
                )
            )
        if not (drawn.notes or drawn.figures or drawn.tables or drawn.html):
            section.notes.append(f"The panel {name} has nothing to show for this run.")

    def draw(self) -> None:
        """Insert every picture before the page is made; a failed one becomes an error in its section."""
        for section, placeholder, picture in self._pictures:
            try:
                drawn = picture()
            except Exception as error:
                section.fail(error)
                section.figures.remove(placeholder)
                continue
            kinds = ("svg", *BINARY_KINDS)
            self.files |= {f"figures/{placeholder.file}.{kind}": getattr(drawn, kind) for kind in kinds}
            section.figures[section.figures.index(placeholder)] = replace(placeholder, svg=drawn.markup)
        self._pictures.clear()

    def _table(self, table: Table, *, always_open: bool) -> dict[str, Any]:
        table = replace(table, caption=f"{table.caption} {self.made_of}".strip())
        file = self._name("tables", table.name)
        texts = {"csv": as_csv(table, safe=self.safe), "md": as_markdown(table), "tex": as_latex(table)}
        self.files |= {f"tables/{file}.{kind}": text for kind, text in texts.items()}
        return page_table(table, file, always_open=always_open)

    def _name(self, kind: str, wish: str) -> str:
        return file_name(wish, self._names[kind])

    def write(self, page: str) -> Path:
        """Write all files; the page comes last, so that it never points to missing files for long."""
        folder = self.home
        for part in self.folder.split("/"):
            folder = refuse_link(folder / part)
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
            if self.alone:
                _write(folder / "study.yaml", yaml.safe_dump(self.data.study, sort_keys=False, allow_unicode=True))
            _write(folder / "index.html", page)
        except OSError as error:
            raise RunError(f"{folder}: cannot be written ({error.strerror or error})") from None
        return folder / "index.html"


def _write(path: Path, content: str | bytes) -> None:
    write_atomically(path, content.encode("utf-8", errors="replace") if isinstance(content, str) else content)


DEFAULT_PANELS: tuple[str, ...] = ("cooperation", "cooperation_over_rounds", "scores", "strips", "readings", "cost")


def chosen_panels(wanted: Sequence[Spec]) -> list[Spec]:
    """Return the panels of a report: a wanted one replaces the default of its name, others come first.

    >>> chosen_panels([{"name": "cooperation_by", "x": "k"}, {"name": "strips", "matches": 2}])[:2]
    [{'name': 'cooperation_by', 'x': 'k'}, 'cooperation']
    """
    named = [("" if is_chart(spec) else panel_name(spec), spec) for spec in wanted]
    own = grouped((name, spec) for name, spec in named if name in DEFAULT_PANELS)
    return [
        *(spec for name, spec in named if name not in own),
        *(spec for name in DEFAULT_PANELS for spec in own.get(name, [name])),
    ]


KINDS = (".pdf", ".svg", ".png", ".html")


def check_chart_file(path: Path) -> None:
    """Refuse a chart file that cannot be written, before any work is done."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path}: must end in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    need_extras()


def draw_charts(
    data: RunData, specs: Sequence[Spec], out: Path, *, safe: bool = False, intervals: bool = False
) -> list[Path]:
    """Write charts into a file, or each as PDF, SVG, PNG and tables into a folder; return the files."""
    before, names_in_use, files = INTERVALS.set(intervals), set[str](), dict[Path, str | bytes]()
    try:
        for spec in specs:
            panel = panel_of(spec, key="chart", file="--chart")
            drawn = panel.draw(data)
            if not drawn.figures and (out.suffix or not drawn.tables):
                raise UsageError(f"{panel.title}: nothing to draw. {' '.join(drawn.notes)}".strip())
            if out.suffix:
                if len(drawn.figures) > 1:
                    raise UsageError(f"--out {out}: {panel.title} has {len(drawn.figures)} figures; name a folder")
                figure = replace(drawn.figures[0], caption=f"{drawn.figures[0].caption} {in_captions(data)}".strip())
                table = drawn.tables[0] if drawn.tables else Table(figure.name, [], [])
                write_chart_file(
                    out, figure, table, kicker=f"Run {data.folder.name}", title=panel.title,
                    heading=panel.title, about=" ".join(drawn.notes),
                )  # fmt: skip
                return [out]
            for figure in drawn.figures:
                svg, png = render(figure.chart, figure.canvas)
                place = out / file_name(figure.name, names_in_use)
                for suffix, content in ((".pdf", as_pdf(svg)), (".svg", svg), (".png", png)):
                    files[place.with_name(place.name + suffix)] = content
            for table in drawn.tables:
                files[out / f"{file_name(f'{table.name}-table', names_in_use)}.csv"] = as_csv(table, safe=safe)
        refuse_link(out).mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            _write(refuse_link(path), content)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written ({error.strerror or error})") from None
    finally:
        INTERVALS.reset(before)
    return list(files)


def write_chart_file(
    path: Path, figure: Figure, table: Table, *, kicker: str, title: str, heading: str, about: str
) -> None:
    """Write a figure; a page also has its table and notes under a ``heading``."""
    kind = path.suffix.lower()
    svg, png = render(figure.chart, figure.canvas)
    data = as_pdf(svg) if kind == ".pdf" else svg.encode() if kind == ".svg" else png
    if kind == ".html":
        section = Section("figure", heading)
        section.figures.append(
            ShownFigure(both_widths(figure.chart, "f", figure.canvas), figure.caption, figure.alt, "")
        )
        section.tables.append(page_table(table, "", always_open=True))
        data = plain_page(kicker, title, [section], about=about).encode()
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
