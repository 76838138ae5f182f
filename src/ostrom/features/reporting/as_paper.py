"""`ostrom report --as-paper`: every table and figure of a paper under its name, with the run's values."""

from collections.abc import Iterable, Mapping, Sequence

from ostrom.analysis.claims import games_of, mapping_of, named_reference
from ostrom.analysis.references import Published, Reference, RunFigure
from ostrom.analysis.registered import standing
from ostrom.data.rundata import RunData, names_of
from ostrom.ground.errors import UsageError
from ostrom.reports.build import Report, ReportFiles, in_captions, report_of
from ostrom.reports.card import card, provenance, reproduce, warnings
from ostrom.reports.exhibits.declared import FILE, Exhibit, check_exhibits, exhibits_of
from ostrom.reports.exhibits.shape import draw_panels, entries, printed_shape, single_figures
from ostrom.reports.figures import need_extras
from ostrom.reports.page import Section, render_page
from ostrom.studies.pooled import check_replication

FOLDER = "report/as-paper"


def write_as_paper(
    data: RunData,
    chosen: Sequence[str] = (),
    reference: str | None = None,
    *,
    safe: bool = False,
    more: Sequence[RunData] = (),
) -> Report:
    """Write ``report/as-paper/index.html`` with a table and figures for every exhibit of the study's paper.

    ``more`` are further runs of the same paper: their figures stand in the same tables, in the report of the first run.
    """
    need_extras()
    paper = named_reference(data, reference)
    exhibits = exhibits_of(paper.name)
    if not exhibits:
        raise UsageError(f"the replication {paper.name} declares no tables and figures ({FILE})")
    check_exhibits(exhibits, paper, f"{paper.name}/{FILE}")
    check_replication(paper.name)
    names = names_of([of.folder for of in (data, *more)])
    runs = {names[of.folder]: of for of in (data, *more)}
    published: list[Published] = list(paper.published())
    own: dict[str, list[RunFigure]] = {}
    remarks: dict[str, list[str]] = {}
    for name, of in runs.items():
        games, of_arms = games_of(of), paper.of_arms(of)
        own[name] = list(paper.run_figures(of_arms, games))
        for remark in (*paper.left_out(of), *paper.remarks(of_arms, games)):
            remarks.setdefault(remark, []).append(name)
    careful = [remark if len(who) == len(runs) else f"{', '.join(who)}: {remark}" for remark, who in remarks.items()]
    mapping: dict[str, str] = {}
    for of in runs.values():
        mapping |= mapping_of(published, [figure for figures in own.values() for figure in figures], of, chosen)
    studies = {study for one in exhibits for study in one.study}
    with ReportFiles(data, safe=safe, folder=FOLDER, names=names) as context:
        sections = [
            _section(context, one, paper, published, own, mapping, runs, studies - {*one.study}) for one in exhibits
        ]
        context.draw()
    sections += context.careful(careful)
    note = f"Every table and figure of the paper under its name. The printed spread is: {paper.spread}."
    first = Section("paper", f"As printed: {paper.citation}", [note])
    registered = standing([data, *more])
    return report_of(
        context.write(render_page(data, first, sections, warnings(data), card(data), reproduce(data), registered)),
        sections,
        [data, *more],
        registered,
    )


def _section(
    context: ReportFiles,
    one: Exhibit,
    paper: Reference,
    published: Sequence[Published],
    own: Mapping[str, Sequence[RunFigure]],
    mapping: dict[str, str],
    runs: Mapping[str, RunData],
    others: set[str],
) -> Section:
    """Return the section of one exhibit; an error in it does not affect the others."""
    section = context.begin(one.name, f"{one.name}: {one.title}")
    try:
        if one.rows:
            # A run of another study of the paper has its own exhibits.
            study_runs = {name: of for name, of in runs.items() if of.study.get("name") not in others}
            figures = entries(one, paper.columns, published, {name: own[name] for name in study_runs}, mapping)
            context.made_of = " ".join(
                f"Run {name}: {provenance(paper.of_arms(study_runs[name]))} {in_captions(study_runs[name])}".strip()
                for name in dict.fromkeys(e.run for e in figures if e.ours)
            )
            if figures:
                context.add(section, printed_shape(one, figures, paper.spread))
                context.add(section, single_figures(one, paper.columns, figures))
            if not (one.without or any(e.ours for e in figures)):
                section.notes.append(_nothing_here(runs.values(), one))
        draw_panels(
            context, section, one, [*map(paper.of_arms, runs.values())], lambda data: data.study.get("name") in others
        )
    except Exception as error:
        section.fail(error)
    section.notes += filter(None, (one.without and f"Not made from a run: {one.without}.", one.note))
    return section


def _nothing_here(runs: Iterable[RunData], one: Exhibit) -> str:
    if any(data.study.get("name") in one.study for data in runs):
        return "No finished match of this run gives a figure of this table."
    return f"This run gives none of these figures; they come from the study {' or '.join(one.study)}."
