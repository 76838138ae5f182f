"""`ostrom report`: a run as a page, or in the layout of its paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import Runs, Safe, opened_runs
from ostrom.cli.output import Output, Remark
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.reports.build import Report
    from ostrom.reports.chart import Spec


def report(
    run: Annotated[
        list[str], typer.Argument(help="A run: its name or folder; with --as-paper also several of one paper.")
    ],
    as_paper: Annotated[
        bool,
        typer.Option(
            "--as-paper", help="Write each table and figure of the study's paper under its name, ours beside it."
        ),
    ] = False,
    as_: Annotated[
        list[str] | None,
        typer.Option("--as", help="With --as-paper: the model under which an agent stands, NAME or AGENT=NAME."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="With --as-paper: published figures by name (default: those of the study).")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Draw intervals for cells with fewer than five matches too.")
    ] = False,
    checklist: Annotated[
        bool,
        typer.Option(
            "--checklist", help="Write only what a referee asks for: model, dates, access, prompts, code, ..."
        ),
    ] = False,
    chart: Annotated[
        list[str] | None,
        typer.Option(
            "--chart", help="Add a chart as studies declare it, '{chart: dots, measure: score}', or a panel by name."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --chart: write the charts alone, into a file (.pdf, .svg, .png, .html) or folder.",
        ),
    ] = None,
    safe: Safe = False,
    runs: Runs = Path("runs"),
) -> Output:
    """Write the report of a run: one HTML page that opens offline.

    Figures (SVG, PNG, PDF) and tables lie beside it.

    Exit code: 0 if every panel could be drawn, 1 if one could not (the page says why).
    """
    conflicts = (
        (not as_paper and (as_ or reference), "--as and --reference need --as-paper"),
        (not as_paper and len(run) > 1, "several runs need --as-paper; without it a report is that of one run"),
        (
            checklist and (as_paper or intervals or safe or chart or out),
            "--checklist: writes no charts and no tables of results "
            "(not with --as-paper, --intervals, --safe, --chart, --out)",
        ),
        (as_paper and chart, "--chart adds to the report of a run; with --as-paper exhibits.yaml says what is drawn"),
        (out is not None and not chart, "--out needs --chart: it is where the charts are written"),
    )
    if reasons := [why for applies, why in conflicts if applies]:
        raise UsageError(reasons[0])
    if checklist:
        return _checklist(run[0], runs)
    if out is not None:
        files = write_charts(run[0], chart or (), out, runs, safe=safe, intervals=intervals)
        return Output({"files": [*map(str, files)]}, [*map(str, files)])
    page = write_report(
        run[0],
        runs,
        safe=safe,
        paper=(as_ or (), reference) if as_paper else None,
        more=run[1:],
        intervals=intervals,
        panels=parse_panels(chart or ()),
    )
    far = {"so_far": page.so_far} if page.so_far else {}
    whose = {"population": page.population} if page.population and not as_paper else {}
    hint = "with a verdict for every claim and figure: ostrom replicate PAPER --runs RUN"
    return Output(
        {
            "report": str(page),
            **far,
            **_answers(page),
            "failures": list(page.failures),
            **page.standing.document,
            **whose,
        },
        [
            str(page),
            *page.standing.lines,
            *(f"population: {text}" for text in whose.values()),
            *map(Remark, far.values()),
            Remark(hint) if as_paper else None,
        ],
        [f"panel failed: {failure}" for failure in page.failures],
        int(bool(page.failures)),
    )


def _checklist(run: str, runs: Path) -> Output:
    """The reporting checklist of a run, as a table and as a Markdown file beside the report."""
    from ostrom.ground.files import write_atomically
    from ostrom.reports.card import checklist_table, run_entries
    from ostrom.reports.files import as_markdown

    with opened_runs([run], runs) as [data]:
        table = checklist_table(run_entries(data))
        items = {str(name): content for name, content in table.rows}
        file = Path(data.folder) / "report" / "checklist.md"
    file.parent.mkdir(exist_ok=True)
    write_atomically(file, as_markdown(table).encode())
    return Output({"checklist": str(file), "items": items}, [items, Remark(str(file))])


def _answers(page: Report) -> dict[str, Any]:
    """Return the first screen of a page as plain data; empty if the page has none."""
    if (answers := page.answers) is None:
        return {}
    return {
        "answers": [line.as_dict() for line in answers.lines], "between_agents": list(answers.between),
        "not_asked": list(answers.left_out),
    }  # fmt: skip


def write_report(
    run: str | Path,
    runs: Path = Path("runs"),
    *,
    safe: bool = False,
    paper: tuple[Sequence[str], str | None] | None = None,
    more: Sequence[str] = (),
    intervals: bool = False,
    panels: Sequence[Spec] = (),
) -> Report:
    """Bring the tables of a run up to date and write its report, or with ``paper`` the one in the paper's shape.

    In the latter the figures of ``more`` runs stand in the same tables. With ``intervals`` charts show them for
    cells of few matches too. ``panels`` come before those of the study.
    """
    from ostrom.reports.build import build_report
    from ostrom.reports.figures import need_extras

    need_extras()
    with opened_runs([str(run), *more], runs) as played:
        if paper is not None:
            from ostrom.features.reporting.as_paper import write_as_paper

            return write_as_paper(played[0], *paper, safe=safe, more=played[1:])
        return build_report(played[0].counting(), safe=safe, intervals=intervals, added=panels)


def write_charts(
    run: str | Path,
    specs: Sequence[str],
    out: Path,
    runs: Path = Path("runs"),
    *,
    safe: bool = False,
    intervals: bool = False,
) -> list[Path]:
    """Draw charts of a run into a file, or each with its table into a folder; gives what was written."""
    from ostrom.reports.build import check_chart_file, draw_charts
    from ostrom.reports.figures import need_extras

    panels = parse_panels(specs)
    if out.suffix:
        check_chart_file(out)
        if len(panels) > 1:
            raise UsageError(f"--out {out}: several charts need a folder, a file holds one")
    need_extras()
    with opened_runs([str(run)], runs) as played:
        return draw_charts(played[0].counting(), panels, out, safe=safe, intervals=intervals)


def parse_panels(texts: Sequence[str]) -> list[Spec]:
    """Parse the charts and panels of the command line, before any work is done."""
    from ostrom.ground.yaml import read_yaml
    from ostrom.reports.declared import panel_of

    specs: list[Spec] = []
    for text in texts:
        spec = read_yaml(text, "--chart")
        if not isinstance(spec, str | dict):
            raise UsageError("--chart: must be {chart: KIND, measure: NAME, ...} or the name of a panel")
        panel_of(spec, key="chart", file="--chart")
        specs.append(spec)
    return specs
