"""`ostrom run` and `ostrom resume`: play a study, or continue a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.ending import (
    count_text,
    exit_code,
    forecast_data,
    forecast_text,
    headline,
    spending_text,
    spent_data,
    trouble,
)
from ostrom.cli.options import (
    BUDGET,
    DryRun,
    From,
    Models,
    PlayedOutput,
    PlayOptions,
    Presets,
    RunName,
    Runs,
    Seeds,
    Sets,
    StudyName,
    WriteReport,
    opened_runs,
    with_play_options,
)
from ostrom.cli.output import Output, Remark, TextItem, TextTable, print_stderr
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.terminal import one_line
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.analysis.registered import RegistrationStatus
    from ostrom.analysis.summary import CellSummary
    from ostrom.engine.folder import Folder
    from ostrom.engine.runner import Result
    from ostrom.studies.plan import StudyPlan
    from ostrom.studies.resolve import Resolved


@with_play_options(
    "limit",
    *BUDGET,
    "max_connections",
    "prompts",
    "prices",
    "cache",
    "executor",
    "ray_address",
    "workers",
    "batch",
    "batch_waves",
    "allow_key",
    "allow_command",
    "shard",
    "registered",
)
def run(
    study: StudyName,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[str | None, typer.Option(help="The name of the run (default: that of the study).")] = None,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    from_: From = None,
    report: WriteReport = False,
) -> PlayedOutput:
    """Play a study against models; the same command goes on with it.

    What was begun goes on with the same command, or with `ostrom resume RUN`.
    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.folder import check_name
    from ostrom.studies.resolve import resolve

    resolved = resolve(study, preset=preset, changes=set_ or (), models=model or (), seeds=seeds, options=options)
    if resolved.plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; `ostrom serve {study}` serves it")
    if dry_run:
        return forecast_plan(resolved, like=from_, runs=runs)
    refuse_unused(resolved, from_)
    return play_and_report(resolved, runs / check_name(resolved.plan.run_name(name)), report=report)


@with_play_options(
    "limit",
    *BUDGET,
    "max_connections",
    "prompts",
    "prices",
    "cache",
    "ray_address",
    "batch",
    "batch_waves",
    "allow_key",
    "allow_command",
)  # fmt: skip
def resume(
    run: RunName,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    from_: From = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Ask again in matches that failed by unreadable replies; else these are read again."
        ),
    ] = False,
    close: Annotated[
        bool, typer.Option("--close", help="Play no more: matches that have not ended are left out, for good.")
    ] = False,
    report: WriteReport = False,
) -> PlayedOutput:
    """Go on with a run where it stopped.

    It keeps the study and the options that it was begun with. Options given here replace the kept ones: a higher
    budget, more seeds, a folder that was moved. Keys, --allow-key and --allow-command are never kept. Exit code: 0
    complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.studies.resolve import resolve_run

    given = {"--retry-failed": retry_failed, "--dry-run": dry_run, "--seeds": seeds, "--limit": options.limit}
    if close and (other := next((name for name, value in given.items() if value), None)):
        raise UsageError(f"--close: plays no more; leave {other} out")
    resolved = resolve_run(run, runs, options=options, seeds=seeds)
    if dry_run:
        return forecast_plan(resolved, like=from_, runs=runs)
    refuse_unused(resolved, from_, begun=not options.batch)  # what was started in batches continues in them
    resolved = replace(resolved, options=replace(resolved.options, ask_again=retry_failed, close=close))
    return play_and_report(resolved, resolved.folder, report=report)


def play_resolved(resolved: Resolved, folder: Path) -> Result:
    """Play a plan into a folder, with progress on stderr."""
    from ostrom.engine.progress import watch_with
    from ostrom.studies.checks import SAMPLED, long_tables
    from ostrom.studies.resolve import save_session
    from ostrom.studies.run import play_plan

    if warning := long_tables(resolved.plan.sample(SAMPLED)):
        print_stderr(f"warning: {warning}")

    async def begin(home: Folder) -> None:
        save_session(home.path, resolved.options)

    return play_plan(
        resolved.plan, name=folder.name, runs=folder.parent, options=resolved.options, watch=watch_with(), begin=begin
    )


def play_and_report(
    resolved: Resolved, folder: Path, *, report: bool, parent: RegistrationStatus | None = None
) -> Output:
    """Play a plan into a folder; return its end, its cells, and with ``report`` its page.

    ``parent`` is what is said of the registration of the run that the plan was made from.
    """
    result = play_resolved(resolved, folder)
    output = _ended(result, folder, parent)
    messages, code = [*output.messages], exit_code(result)
    if (shard := resolved.plan.shard) is not None:
        name = folder.name.removesuffix(shard.folder(""))
        messages.append(f"when all shards are played: ostrom join {name} {folder.with_name(name)}.*-of-{shard.of}")
    if report:
        from ostrom.reports.build import build_report

        try:
            with opened_runs([str(folder)], folder.parent) as [data]:
                page = build_report(data)
            messages += [f"report: {page}", *(f"panel failed: {failure}" for failure in page.failures)]
            code = code or int(bool(page.failures))
        except OstromError as error:  # what was played is shown all the same
            messages.append(f"ostrom: {one_line(str(error))}")
            code = error.exit_code
    return replace(output, messages=messages, code=code)


def refuse_unused(resolved: Resolved, like: str | None = None, *, begun: bool = False) -> None:
    """Refuse options without effect, and too many sequential batches unless the run has begun."""
    from ostrom.costs.waves import check_batch

    if like is not None:
        raise UsageError("--from: says what to expect, and needs --dry-run")
    if resolved.options.batch and not begun:
        check_batch(resolved.plan, resolved.options.batch_waves)


def forecast_plan(resolved: Resolved, *, like: str | None = None, runs: Path | None = None) -> Output:
    """Return the cost of a plan, directly and in batches, and whether its budget suffices.

    ``runs`` is the folder of the run that ``--from`` may name; None where a command has no such option.
    """
    from ostrom.analysis.replicates import planned_repeats
    from ostrom.costs.forecast import forecast, missing_adapters
    from ostrom.costs.measured import measure
    from ostrom.studies.checks import SAMPLED, long_tables

    plan, batch = resolved.plan, bool(resolved.options.batch)
    bound = forecast(
        plan,
        resolved.options.rates,
        None if like is None else measure(like, runs or "runs"),
        resolved.options.max_connections,
    )
    missing = missing_adapters(plan)
    warnings = (
        planned_repeats(map(plan.unit, range(len(plan) // plan.study.seeds)), plan.study.seeds),
        long_tables(plan.sample(SAMPLED)),
    )
    return Output(
        {
            "study": plan.name,
            **({} if plan.shard is None else {"shard": str(plan.shard)}),
            **forecast_data(bound, plan.budget, batch=batch),
            **({"missing_adapters": missing} if missing else {}),
        },
        [
            Remark(
                f"adapters that are not here yet: {', '.join(missing)} "
                "(`ostrom more corpus` and `ostrom more train` make them)"
            )
            if missing
            else None,
            *forecast_text(plan.run_name(None), bound.size, bound, plan.budget, batch=batch),
            None if plan.shard is None else Remark(f"shard {plan.shard}: {divided_budget(plan)}"),
            *(Remark(f"warning: {text}") for text in warnings if text),
            Remark("--from RUN takes what it can of this from a run that was played")
            if runs is not None and like is None and bound.assumes
            else None,
        ],
    )


def plan_headline(plan: StudyPlan, options: PlayOptions) -> dict[str, str]:
    """Return size, hours and money of a plan, a line each."""
    from ostrom.costs.forecast import forecast

    bound = forecast(plan, options.rates, None, options.max_connections)
    return headline(bound.size, bound, batch=bool(options.batch))


def divided_budget(plan: StudyPlan) -> str:
    """Describe a shard's part of the study's budget."""
    undivided, own = plan.study.budget.model_dump(), asdict(plan.budget)
    parts = [f"{own[name]:g} of {bound:g} {name}" for name, bound in undivided.items() if bound is not None]
    return f"the budget of the study is divided equally; it may spend {', '.join(parts)}" if parts else (
        "the study has no budget; one would be divided equally"
    )  # fmt: skip


def _ended(result: Result, folder: Path, parent: RegistrationStatus | None) -> Output:
    from ostrom.analysis.summary import summarise
    from ostrom.data.early_looks import seeds_missing
    from ostrom.studies.run import open_run

    tally = result.tally
    with open_run(folder) as run:
        # Whoever sees results of a registered run before it is complete could act on them.
        bound = run.manifest.get("registered")
        finished = result.complete and run.plan.shard is None and not seeds_missing(run.manifest)
        blind = bool(bound) and not finished
        cells = [] if blind else summarise(run.rows)
    label = "results are not shown: the run is bound to a registration and not complete" if blind else (
        f"what is shown here is exploratory; the registered contrasts: ostrom report {folder}"
    )  # fmt: skip
    document = {
        "run": str(folder),
        "complete": result.complete,
        "why": result.why,
        **({"label": "exploratory", "registration": bound["hash"]} if bound else {}),
        "matches": asdict(tally.of_matches()),
        **({"designs": asdict(tally.of_preparations())} if tally.preparations else {}),
        **spent_data(tally),
        "policy_answers": tally.policies,
        "refusals": tally.refused,
        "failed_tries": tally.retries,
        "lost_workers": tally.lost_workers,
        "batches_left": tally.batches_left,
        "cells": [cell.as_dict() for cell in cells],
    }
    return Output(
        document,
        _cells(folder.name, cells) if cells else (),
        [label if bound else None, *end_lines(result, folder)],
        standing=parent,
    )


def _cells(name: str, cells: Sequence[CellSummary]) -> Iterator[TextItem]:
    title, columns = "cooperation by cell (mean over matches, 95 % interval)", ["cooperation", "95 % CI"]
    if all(cell.cooperation is None for cell in cells):  # these games have no cooperative action
        title, columns = "score by cell (mean over matches)", []
    yield TextTable(
        f"{name}: {title}",
        [*cells[0].factors, "agent", "matches", *columns, "score"],
        [
            [*c.factors.values(), c.agent, c.matches, *[c.cooperation, c.interval_text][: len(columns)], c.score]
            for c in cells
        ],
    )
    if alike := sorted({c.distinct for c in cells if c.distinct is not None}):
        many = sum(c.distinct is not None for c in cells)
        n = f"{alike[0]} to {alike[-1]}" if len(alike) > 1 else alike[0]
        yield Remark(
            f"{many} of {len(cells)} cells have matches that repeat each other (temperature 0): "
            f"n is {n} per cell, and more seeds add nothing there"
        )


def end_lines(result: Result, folder: Path) -> list[str]:
    """Return lines on what was played and spent, what failed, and where the run is."""
    tally = result.tally
    designs = f"; {count_text(tally.of_preparations(), 'designs')}" if tally.preparations else ""
    refused = f", {tally.refused} refusals" if tally.refused else ""
    lost = f"; {tally.lost_workers} workers lost, their matches handed to others" if tally.lost_workers else ""
    retry = f"    ask failed matches again: ostrom resume {folder} --retry-failed" if tally.failed else ""
    left = (
        f"{how_many(tally.batches_left, 'batch')} still at work at their service: `ostrom resume {folder}` "
        f"collects their replies, `ostrom more batches {folder}` lists them"
    )
    return [
        f"{count_text(tally.of_matches(), 'matches')}{designs}; {spending_text(tally)}; "
        f"{tally.invalid} unreadable replies, {tally.policies} answers by policy, {tally.retries} failed tries"
        f"{refused}{lost}",
        *([left] if tally.batches_left else []),
        *trouble(result, again=f"`ostrom resume {folder}` or the same command"),
        f"run: {folder}    report: ostrom report {folder}{retry}",
    ]
