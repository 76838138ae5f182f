"""`ostrom report --as-paper`: every table and figure of a paper under its name, with ours beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.analysis.rundata import RunData
from ostrom.errors import OstromError, UnknownName, UsageError
from ostrom.reports.build import Report, ReportFiles
from ostrom.reports.card import card, reproduce, warnings
from ostrom.reports.chart import panel_of
from ostrom.reports.figures import need_extras
from ostrom.reports.page import Section, render_page
from ostrom.studies.compare.figures import Own, Published, Reference
from ostrom.studies.compare.lines import games_of, mapping_of, named_reference
from ostrom.studies.exhibits.declared import FILE, Exhibit, check_exhibits, exhibits_of
from ostrom.studies.exhibits.shape import entries, printed_shape, single_figures
from ostrom.studies.run import Run

FOLDER = "report/as-paper"


def write_as_paper(
    run: Run, data: RunData, chosen: Sequence[str] = (), reference: str | None = None, *, safe: bool = False
) -> Report:
    """Write ``report/as-paper/index.html`` with a table and figures for every exhibit of the study's paper."""
    need_extras()
    paper = named_reference(data, reference)
    found = exhibits_of(paper.name)
    if not found:
        raise UsageError(f"the replication {paper.name} declares no tables and figures ({FILE})")
    check_exhibits(found, paper, f"{paper.name}/{FILE}")
    games = games_of(run, data)
    published, own = list(paper.published()), list(paper.own(data, games))
    mapping = mapping_of(published, own, data, chosen)
    context = ReportFiles(data, safe=safe, folder=FOLDER)
    sections = [_section(context, one, paper, published, own, mapping) for one in found]
    first = Section("paper", f"As printed: {paper.citation}")
    first.notes = [
        f"Every table and figure of the paper under its name. The printed spread is: {paper.spread}.",
        *paper.remarks(data, games),
    ]
    page = render_page(data, first, sections, warnings(data), card(data), reproduce(data))
    path = context.write(page)
    return Report(path, tuple(f"{s.title}: {s.error}" for s in sections if s.error))


def _section(
    context: ReportFiles,
    one: Exhibit,
    paper: Reference,
    published: Sequence[Published],
    own: Sequence[Own],
    mapping: dict[str, str],
) -> Section:
    """One exhibit; whatever goes wrong in it stays in it."""
    section = context.begin(one.name, f"{one.name}: {one.title}")
    try:
        if one.rows:
            figures = entries(one, paper.columns, published, own, mapping)
            if figures:
                context.add(section, printed_shape(one, figures))
                context.add(section, single_figures(one, paper.columns, figures))
            if not any(e.ours for e in figures):
                section.notes.append(_nothing_here(context, one))
        for panel in one.panels:
            try:
                context.fill(section, one.name, panel_of(panel).draw(context.data), one.name)
            except (UnknownName, UsageError) as error:  # a level or column that this run does not have
                section.notes.append(f"This run cannot give it: {error}")
    except OstromError as error:
        section.error = str(error)
    except Exception as error:
        section.error = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if one.without:
        section.notes.append(f"Not made from a run: {one.without}.")
    if one.note:
        section.notes.append(one.note)
    return section


def _nothing_here(context: ReportFiles, one: Exhibit) -> str:
    if context.data.study.get("name") in one.study:
        return "No finished match of this run gives a figure of this table."
    return f"This run gives none of these figures; they come from the study {' or '.join(one.study)}."
