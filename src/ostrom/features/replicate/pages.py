"""The page of a replication: claims and one chart first, then every table and figure in the order of the paper."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from markupsafe import Markup

from ostrom.analysis.estimate import fixed, key_words
from ostrom.analysis.intervals.betting import least_multiple
from ostrom.analysis.references import Published
from ostrom.analysis.registered import RegistrationStatus
from ostrom.features.replicate.papers import Margin, Picture
from ostrom.features.replicate.results import ClaimLine, JudgedFigure, Replication, verdict_counts
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.build import Report, ReportFiles, in_captions, report_of
from ostrom.reports.exhibits.declared import Exhibit
from ostrom.reports.exhibits.shape import draw_panels, entries, meets, printed_shape
from ostrom.reports.figures import need_extras
from ostrom.reports.marks import curves, dots
from ostrom.reports.page import Section, plain_page
from ostrom.reports.panel import Drawn, Figure, Table
from ostrom.reports.theme import LINE, colours
from ostrom.reports.words import pretty, written

PAPER = "the paper's models"
RULE = (
    "a figure agrees where its difference to the printed one, with the errors of both, lies within the margin (two "
    "one-sided tests at 5 %), and differs where its 95 % interval lies beyond it; each word is wrong with a chance of "
    "at most 5 %, not corrected for the number of figures: of 100 about 5 at most"
)
CLAIM_COLUMNS = ("claim", "as the paper reads it", "guaranteed", "agent", "ours", "low", "high", "n", "paper", "run")
DOUBT = " †"
CELL_COLUMNS = ("agent", "ours", "low", "high", "matches", "model", "paper", "spread", "run", "verdict", "source")


def write_page(
    out: Path,
    replication: Replication,
    registered: RegistrationStatus = RegistrationStatus(),
    *,
    about: str = "",
    safe: bool = False,
) -> Report:
    """Write ``index.html`` with figures and tables beside it."""
    need_extras()
    published = replication.paper.published()
    with ReportFiles(
        replication.runs[0].data,
        safe=safe,
        folder="page",
        home=out,
        names={run.data.folder: run.name for run in replication.runs},
    ) as files:
        start = _first(files, replication, published)
        sections = [_section(files, replication, one, cells, published) for one, cells in replication.exhibits]
        files.draw()
    sections += files.careful(replication.remarks)
    runs = [
        f"{run.name} ({run.study}, {how_many(run.seeds, 'seed')}, {how_many(run.calls, 'call')})"
        for run in replication.runs
    ]
    agents = dict.fromkeys(agent for run in replication.runs for agent in run.agents)
    page = plain_page(
        f"Replication of {replication.paper.citation}",
        replication.plan.title,
        [section for section in sections if not section.quiet],
        about=" ".join(filter(None, (replication.plan.about, about))),
        first=start,
        standing=registered,
        warnings=[
            f"{run.name}: {run.data.so_far}." for run in replication.runs if run.data.so_far
        ],
        card=[
            ("Paper", replication.paper.citation),
            ("Agents", ", ".join(agents) or "none that is a model"),
            ("Wording", ", ".join(dict.fromkeys(run.wording for run in replication.runs))),
            ("Runs", "; ".join(runs)),
            ("Spent", f"{sum(run.usd for run in replication.runs):.2f} USD"),
            ("Printed spread", replication.paper.spread),
            ("Margins", "; ".join(map(_margin, replication.plan.margins))),
            ("Verdicts", RULE),
        ],
    )  # fmt: skip
    return report_of(files.write(page), sections, [run.data for run in replication.runs], registered)


def _first(files: ReportFiles, outcome: Replication, published: Sequence[Published]) -> Section:
    """Return the first section: the claims with their verdicts, and the chart."""
    section = Section("claims", "What the paper claims")
    section.html.append(_claims(outcome.claims))
    files.add(
        Section("files", ""), Table("claims", CLAIM_COLUMNS, [claim_row(line) for line in outcome.claims], "The claims")
    )
    if outcome.plan.picture is not None and (drawn := _picture(outcome, outcome.plan.picture, published)) is not None:
        files.fill(section, "picture", drawn)
    section.notes += first_notes(outcome)
    return section


def _margin(one: Margin) -> str:
    where = ", ".join(" or ".join([of] if isinstance(of, str) else of) for of in one.where.values())
    return (
        f"{', '.join(map(pretty, one.measures))}{f' ({pretty(where)})' if where else ''} {one.margin:g}: {one.source}"
    )


def first_notes(outcome: Replication) -> list[str]:
    """Return the notes below the claims: guarantees, claims not judged or not played, and the decided share."""
    judged = [line for line in outcome.claims if line.verdict.answer in ("agrees", "differs")]
    sure, needed = sum(line.verdict.guaranteed for line in judged), matches_needed(outcome)
    alone = dict.fromkeys(line.claim.claim for line in outcome.claims if line.estimate and line.direction_alone)
    decided, many = outcome.decided
    notes: dict[str, Any] = {
        f"Guaranteed for every distribution: {sure} of {len(judged)} decided claims.": True,
        f"A guarantee of single figures needs at least {needed:,} matches a cell.": needed,
        "Claims marked (later version) are stated in a later version of the paper than the one replicated.": any(
            line.claim.later for line in outcome.claims
        ),
        f"{DOUBT.strip()} a printed figure in the range is in doubt.": any(
            one.doubts for line in outcome.claims for one in line.published
        ),
        f"Judged by direction alone, the paper prints no size: {'; '.join(alone)}.": alone,
    }
    return [
        *(note for note, applies in notes.items() if applies),
        *(f"Not judged: {one.claim}. {one.why}" for one in outcome.plan.not_judged),
        *(
            f"Not played: {', '.join(names)} ({'the study' if ' or ' not in study else 'a study'} {study})."
            for study, names in outcome.not_played.items()
        ),
        f"{decided} of {many} figures could be decided at this size{_counted(outcome.counts)}.",
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{n} {answer}' for answer, n in counts.items())})" if counts else ""


def matches_needed(outcome: Replication) -> int:
    """Return the fewest matches of a cell with which guaranteed bounds can place a share within its margin."""
    widest = max((one.margin / 100 for one in outcome.plan.margins if one.percent), default=None)
    return 0 if widest is None else math.ceil(least_multiple(np.ones(1), 0.5 - widest, 0.5 + widest, 0.025))


def _claims(lines: Sequence[ClaimLine]) -> Markup:
    row = Markup(
        '<tr><th scope="row">{}</th><td class="verdict {}">{}</td><td data-label="guaranteed">{}</td>'
        '<td data-label="ours">{}</td><td data-label="paper">{}</td></tr>'
    )
    claims = [_claim_name(line) for line in lines]
    rows = [
        row.format(
            claim if claim != before else "",
            line.verdict.answer.replace(" ", "-"),
            line.verdict,
            _sure(line),
            _run_cell(line),
            _paper_cell(line),
        )
        for before, claim, line in zip(["", *claims], claims, lines, strict=False)
    ]
    names = ("claim", "as the paper reads it", "guaranteed", "ours", "paper")
    return Markup('<table class="claims"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(
        Markup("".join(f'<th scope="col">{name}</th>' for name in names)), Markup("").join(rows)
    )


def _claim_name(line: ClaimLine) -> str:
    group = f" ({key_words(line.group)})" if line.group else ""
    return f"{line.claim.claim}{group}{' (later version)' if line.claim.later else ''}"


def _sure(line: ClaimLine) -> str:
    return "yes" if line.verdict.guaranteed else ""


def _run_cell(line: ClaimLine) -> str:
    if line.tally is not None:
        yes, many, low, high = line.tally
        return f"{line.agent}: {yes} of {many} [{low * many:.1f}, {high * many:.1f}]"
    one = line.estimate
    if one is None:
        return ""
    ends = "" if one.low is None or one.high is None else f" [{_number(line, one.low)}, {_number(line, one.high)}]"
    pair = f" ({one.key[line.claim.order.factor]})" if line.claim.order is not None else ""
    whose = f"{line.agent}: " if line.agent else ""
    return f"{whose}{_number(line, one.value)}{ends}{f' {line.claim.unit}' if line.claim.unit else ''}{pair}"


def _paper_cell(line: ClaimLine) -> str:
    if line.claim.count is not None:
        return f"{line.claim.count.number} of {line.claim.count.of}"
    if line.printed is None:
        return line.claim.note
    low, high = (_number(line, value) for value in line.printed)
    doubt = DOUBT if any(one.doubts for one in line.published) else ""
    if len(line.published) == 1:
        return f"{low}{doubt} ({line.published[0].name})"
    mean = _number(line, fmean(one.value for one in line.published))
    return f"{low} to {high}{doubt} ({len(line.published)} models, mean {mean})"


def _number(line: ClaimLine, value: float) -> str:
    """Format a claim's figure in its unit; only differences and slopes have a sign."""
    claim = line.claim
    sign = "+" if claim.contrast or claim.over or claim.order is not None else ""
    # Adding zero turns -0.0 into 0.0.
    return f"{claim.scale * value + 0.0:{sign}{'.1f' if claim.scale == 100 else '.3g'}}"


def claim_row(line: ClaimLine) -> list[Any]:
    """A claim as a row of the table on the terminal and in files."""
    one, scale = line.estimate, line.claim.scale
    numbers = (None, None, None) if one is None else (one.value, one.low, one.high)
    ours = [*(None if end is None else scale * end for end in numbers), None if one is None else one.n]
    if line.tally is not None:
        yes, many, low, high = line.tally
        ours = [yes, low * many, high * many, many]
    return [
        _claim_name(line), str(line.verdict), _sure(line) or None, line.agent, *ours, _paper_cell(line) or None,
        line.run,
    ]  # fmt: skip


def _section(
    files: ReportFiles,
    replication: Replication,
    one: Exhibit,
    cells: Sequence[JudgedFigure],
    published: Sequence[Published],
) -> Section:
    """Return the section of one exhibit; an error in it does not affect the others."""
    section = files.begin(one.name, f"{one.name}: {one.title}{_counted(verdict_counts(cells))}")
    section.short = one.name
    others = {study for other, _ in replication.exhibits for study in other.study} - {*one.study}
    own = [run for run in replication.runs if run.study not in others]
    files.take(replication.runs[0].data, named=False)
    files.made_of = _rests_on(replication, cells)
    try:
        if one.rows:
            figures = grouped((cell.run, cell.line.own) for cell in cells)
            mapping = {
                cell.line.own.agent: cell.line.model for cell in cells if cell.line.own.agent and cell.line.model
            }
            own_of = {run: dict.fromkeys(of) for run, of in figures.items()}
            figure_rows = entries(one, replication.paper.columns, published, own_of, mapping)
            if figure_rows:
                files.add(section, printed_shape(one, figure_rows, replication.paper.spread))
        if cells:
            files.add(section, _cells(one, replication.paper.columns, cells))
        if one.panels:
            draw_panels(
                files,
                section,
                one,
                [replication.paper.of_arms(run.data) for run in own or replication.runs],
                lambda data: data.study["name"] in others,
            )
    except Exception as error:
        section.fail(error)
    if one.without:
        section.notes.append(f"Not made from a run: {one.without}.")
    elif not own:
        section.notes.append(f"Not played: it comes from the study {' or '.join(one.study)}.")
    if one.note:
        section.notes.append(one.note)
    return section


def _rests_on(outcome: Replication, cells: Sequence[JudgedFigure]) -> str:
    """Name the runs that a table uses; empty for a table of printed figures alone."""
    named = [run for run in outcome.runs if run.name in {cell.run for cell in cells}]
    return " ".join(f"Run {run.name}: {run.calls:,} calls. {in_captions(run.data)}".strip() for run in named)


def _cells(one: Exhibit, columns: Sequence[str], cells: Sequence[JudgedFigure]) -> Table:
    """Return a table with a row for each figure: printed, estimated with interval, run and verdict."""
    used = [i for i in range(len(columns)) if any(cell.line.cell[i] for cell in cells)]
    rows = []
    for cell in cells:
        line, own = cell.line, cell.line.own
        printed: str | None = ", ".join(dict.fromkeys(p.word for p in line.figures if p.word))
        if not printed:
            printed = fixed(line.value, one.digits) if line.value is not None else _span(line.low, line.high)
        rows.append([
            *(line.cell[i] for i in used), own.agent or "all agents", own.word or own.value, own.low, own.high,
            own.matches, line.model or "all models", printed, line.spread, cell.run, str(cell.verdict), line.source,
        ])  # fmt: skip
    caption = f"{one.name}: printed and ours, figure by figure."
    return Table(f"{one.name} verdicts", (*(columns[i] for i in used), *CELL_COLUMNS), rows, caption)


def _span(low: float | None, high: float | None) -> str | None:
    return None if low is None else f"{low:g} to {high:g}"


def _picture(outcome: Replication, picture: Picture, published: Sequence[Published]) -> Drawn | None:
    """Draw the printed figures of an exhibit in grey and the run's in colour, on the same axes."""
    one, cells = next((one, cells) for one, cells in outcome.exhibits if one.name == picture.exhibit)
    columns = outcome.paper.columns
    scale = 0.01 if picture.percent else 1.0

    def place(cell: Sequence[str]) -> tuple[str, str] | None:
        at = dict(zip(columns, cell, strict=True))
        if not meets(at, {**one.where, **picture.where}):
            return None
        x, facet = at[picture.x], at[picture.facet] if picture.facet else ""
        return one.labels.get(x, x), one.labels.get(facet, facet)

    printed = grouped(
        (at, scale * p.value)
        for p in published
        if p.source in one.sources and p.model is not None and (at := place(p.cell)) is not None
    )
    rows = [_row(at, PAPER, fmean(of), min(of), max(of)) for at, of in printed.items()]
    for cell in cells:
        own = cell.line.own
        if (at := place(own.cell)) is not None:
            ends = [None if end is None else scale * end for end in (own.low, own.high)]
            rows.append(_row(at, own.agent or "all agents", scale * own.value, *ends))
    if not rows:
        return None
    names = [name for name in dict.fromkeys(row["series"] for row in rows) if name != PAPER]
    series = {PAPER: LINE, **dict(zip(names, colours(names), strict=True))}
    facets = list(dict.fromkeys(row["facet"] for row in rows))
    domain = (0, 1) if picture.percent else None
    axis = picture.axis or pretty(one.title)
    if all(row["x"].replace(".", "", 1).isdigit() for row in rows):
        levels = sorted(dict.fromkeys(row["x"] for row in rows), key=float)
        chart = curves(
            rows, x=pretty(picture.x), y=axis, facets=facets, series=series, legend=None, levels=levels, domain=domain
        )
    else:
        groups = {
            facet: [{**row, "label": written(row["x"])} for row in rows if row["facet"] == facet] for facet in facets
        }
        chart = dots(groups, axis=axis, series=series, domain=domain)
    colour = " In colour: ours with 95 % intervals." if len(series) > 1 else ""
    caption = f"{one.name}. Grey: mean and range of the paper's models.{colour}"
    return Drawn(figures=(Figure("picture", chart, caption, caption),))


def _row(at: tuple[str, str], series: str, mean: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"x": at[0], "facet": written(at[1]), "series": series, "mean": mean, "low": low, "high": high}
