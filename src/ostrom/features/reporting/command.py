"""`ostrom report`: a run as a page, or in the shape of its paper."""

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
    safe: Safe = False,
    runs: Runs = Path("runs"),
) -> Output:
    """Write the report of a run: one HTML page that opens offline.

    Figures and tables lie beside it.

    Exit code: 0 if every panel could be drawn, 1 if one could not (the page says why).
    """
    if not as_paper and (as_ or reference):
        raise UsageError("--as and --reference need --as-paper")
    if not as_paper and len(run) > 1:
        raise UsageError("several runs need --as-paper; without it a report is that of one run")
    if checklist:
        if as_paper or intervals or safe:
            raise UsageError(
                "--checklist: writes no charts and no tables of results (not with --as-paper, --intervals, --safe)"
            )
        return _checklist(run[0], runs)
    paper = (as_ or (), reference) if as_paper else None
    page = write_report(run[0], runs, safe=safe, paper=paper, more=run[1:], intervals=intervals)
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
    from ostrom.reports.checklist import checklist_table, run_entries
    from ostrom.reports.files import as_markdown

    with opened_runs([run], runs) as [data]:
        table = checklist_table(run_entries(data))
        items = {str(name): content for name, content in table.rows}
        file = Path(data.folder) / "report" / "checklist.md"
    file.parent.mkdir(exist_ok=True)
    write_atomically(file, as_markdown(table).encode())
    return Output({"checklist": str(file), "items": items}, [items, Remark(str(file))])


def _answers(page: Report) -> dict[str, Any]:
    """The first screen as plain data; nothing where a page has none."""
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
) -> Report:
    """Bring the tables of a run up to date and write its report, or with ``paper`` the one in the paper's shape.

    In the latter the figures of ``more`` runs stand in the same tables. With ``intervals`` charts show them for
    cells of few matches too.
    """
    from ostrom.reports.build import build_report
    from ostrom.reports.figures import need_extras

    need_extras()
    with opened_runs([str(run), *more], runs) as played:
        if paper is not None:
            from ostrom.features.reporting.as_paper import write_as_paper

            return write_as_paper(played[0], *paper, safe=safe, more=played[1:])
        return build_report(played[0].counting(), safe=safe, intervals=intervals)
