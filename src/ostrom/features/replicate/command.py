"""`ostrom replicate`: replicate a paper in one command."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.batteries import sizes_output
from ostrom.cli.options import CALLS, DryRun, PlayOptions, standing, with_play_options
from ostrom.cli.output import Output, Remark, TextTable, print_stderr
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ostrom.features.replicate.papers import PaperPlan
    from ostrom.features.replicate.results import PaperRun, Replication

RECORD = "replicate.json"


@with_play_options("budget_usd", "preset", "seeds", "runs", "as_", "out", "max_connections", "prompts", *CALLS)
def replicate(
    paper: Annotated[str | None, typer.Argument(help="A paper, as --list names it.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="A model; may be given several times.")] = None,
    options: PlayOptions = PlayOptions(),
    preset: Annotated[
        str | None, typer.Option(help="The size: small, smoke, or paper (default: the paper's own).")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Seeds of every part (default: those of the preset).")
    ] = None,
    runs: Annotated[
        str | None, typer.Option(help="Runs that were played or imported before, instead of playing: A,B.")
    ] = None,
    as_: Annotated[
        list[str] | None,
        typer.Option("--as", help="The paper's model beside which an agent stands, NAME or AGENT=NAME."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of runs and page (default: replicate/PAPER[-PRESET]).")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the papers and the studies of each.")] = False,
    dry_run: DryRun = False,
) -> Output:
    """Replicate a paper: one page with a verdict for every claim.

    Its arms are played, or runs are taken (--runs). The same command goes on where it stopped. Exit code: 0 complete,
    1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.features.replicate.papers import paper_plan, papers
    from ostrom.features.replicate.results import PaperRun, released_as, replication
    from ostrom.reports.figures import need_extras

    if list_:
        return _papers()
    if paper is None:
        raise UsageError(f"name a paper: {', '.join(papers())}")
    name, plan = paper_plan(paper)
    if bool(model) == (runs is not None):
        raise UsageError("give either --model (to play) or --runs (runs that exist)")
    need_extras()
    folder = out or Path("replicate") / (name.replace("_", "-") + (f"-{preset}" if preset else ""))
    if runs is None:
        played = _play(
            plan if seeds is None else plan.with_seeds(seeds), model or [], options, preset, folder, dry_run=dry_run
        )
        if isinstance(played, Output):
            return played
        folders, complete = played
    else:
        if dry_run or preset or seeds is not None:
            raise UsageError("--runs plays nothing: leave --dry-run, --preset and --seeds out")
        folders, complete = [Path(one.strip()) for one in runs.split(",") if one.strip()], True
    from ostrom.costs.battery import spent
    from ostrom.data.rundata import names_of, run_data
    from ostrom.features.replicate.pages import CLAIM_COLUMNS, claim_row, first_notes, write_page
    from ostrom.studies.run import open_run

    with ExitStack() as stack:
        opened = [stack.enter_context(open_run(one, Path("runs"))) for one in folders]
        places = [one.folder.path for one in opened]
        if twice := next((one for one in places if sum(map(one.samefile, places)) > 1), None):
            raise UsageError(f"--runs: {twice} is named twice")
        names, paper_runs = names_of(places), []
        for one, place in zip(opened, places, strict=True):
            data = stack.enter_context(run_data(one.rows, place, one.manifest))
            usd, calls = spent(place, options)
            paper_runs.append(PaperRun(data, calls, usd, released_as(plan, data), names[place]))
        check_runs(paper_runs, name, plan)
        result = replication(name, paper_runs, as_ or ())
        if runs is not None:
            check_comparable(result)
        about = "A smoke test: too few matches to say anything about a model." if preset == "smoke" else ""
        registered = standing([run.data for run in paper_runs])
        report = write_page(folder, result, registered, about=about)
    return Output(
        {**result.as_dict(), "page": str(report), "failures": list(report.failures)},
        [
            TextTable(
                f"{result.plan.title} ({result.paper.citation})",
                list(CLAIM_COLUMNS),
                [claim_row(line) for line in result.claims],
            ),
            *map(Remark, first_notes(result)),
            *(f"{run.name}: {run.data.so_far}" for run in result.runs if run.data.so_far),
            str(report),
        ],
        report.failures,
        int(not complete or bool(report.failures)),
        registered,
        result,
        "claims",
    )


def _papers() -> Output:
    from ostrom.analysis.claims import references
    from ostrom.features.replicate.papers import paper_plan, papers

    rows = [
        {
            "paper": name,
            "citation": references.build(folder).citation,
            "studies": list(dict.fromkeys(part.study for part in paper_plan(name)[1].parts)),
            "presets": sorted({preset for part in paper_plan(name)[1].parts for preset in part.presets}),
        }
        for name, folder in papers().items()
    ]
    lines = [
        [row["paper"], row["citation"], ", ".join(dict.fromkeys(row["studies"])), ", ".join(row["presets"])]
        for row in rows
    ]
    return Output(
        rows, [TextTable("Papers that can be replicated", ["paper", "citation", "studies", "presets"], lines)]
    )


def _play(
    plan: "PaperPlan", models: list[str], options: PlayOptions, preset: str | None, folder: Path, *, dry_run: bool
) -> tuple[list[Path], bool] | Output:
    """Play the parts of the paper within the budget; return their folders and whether all are complete.

    Of a dry run, and where it is interrupted, what the command returns.
    """
    from ostrom.cli.commands.run import play_resolved
    from ostrom.costs.battery import BatteryRun, play_jobs, recorded_seeds, with_sizes
    from ostrom.costs.waves import check_batch
    from ostrom.ground.errors import UnknownName

    options.check()
    if len(set(models)) < len(models):
        raise UsageError("--model: a model is named twice")
    presets = dict.fromkeys(("paper", *(name for part in plan.parts for name in part.presets)))
    if preset is not None and preset not in presets:
        raise UnknownName("preset", preset, presets)
    sizes = with_sizes(plan.parts, [models], Path(), preset, options, dry_run=dry_run)
    if dry_run:
        return sizes_output(sizes, plan.title)
    for one in sizes if options.batch else ():
        if one.seeds:
            check_batch(one.part.resolved(models, 1, Path(), preset, options).plan, options.batch_waves)
    settings = {"parts": [part.model_dump(mode="json") for part in plan.parts], "preset": preset, "models": models}
    seeds = recorded_seeds(folder / RECORD, settings, {one.part.name: one.seeds for one in sizes})
    parts = [one.part for one in sizes if seeds[one.part.name]]
    for one in sizes:
        if not seeds[one.part.name]:
            print_stderr(f"{one.part.title} is left out: the budget does not suffice for it")
    jobs = [
        BatteryRun(
            f"{part.title} ({number} of {len(parts)} parts)",
            folder / "runs" / part.name,
            "",
            partial(part.resolved, models, seeds[part.name], Path(), preset),
        )
        for number, part in enumerate(parts, 1)
    ]
    results, interrupted = play_jobs(jobs, play_resolved, options, print_stderr)
    if interrupted:
        return Output(messages=["interrupted; the same command goes on from here"], code=130)
    return [job.folder for job, _ in results], all(result.complete for _, result in results)


def check_comparable(result: "Replication") -> None:
    """Refuse runs with a counterpart of no claim and no printed figure; a study without claims has charts to show."""
    studies = {*result.plan.studies.values()}
    figures = any(cell.verdict.answer != "not comparable" for _, cells in result.exhibits for cell in cells)
    if figures or any(line.estimate for line in result.claims) or any(run.study not in studies for run in result.runs):
        return
    own = {run.study for run in result.runs}
    why = dict.fromkeys(line.verdict.why for line in result.claims if result.plan.studies[line.claim.run] in own)
    raise UsageError(
        f"{', '.join(str(run.data.folder) for run in result.runs)}: nothing can be compared with {result.plan.title}. "
        f"{' '.join([*why][:3])}"
    )


def check_runs(runs: "Sequence[PaperRun]", name: str, plan: "PaperPlan") -> None:
    """Refuse runs that do not belong to the paper."""
    from ostrom.reports.exhibits.declared import exhibits_of

    studies = {*plan.studies.values(), *(study for one in exhibits_of(name) for study in one.study)}
    for run in runs:
        if run.study not in studies and (run.data.study.get("report") or {}).get("reference") != name:
            raise UsageError(
                f"{run.data.folder}: is a run of the study {run.study} (allowed: {', '.join(sorted(studies))})"
            )
