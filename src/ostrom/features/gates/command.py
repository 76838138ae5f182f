"""`ostrom gate`: statements about a run, each judged pass, fail or undecided."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import (
    BUDGET,
    CALLS,
    JUnit,
    Markdown,
    Models,
    PlayOptions,
    Presets,
    Runs,
    Seeds,
    Sets,
    check_level,
    opened_runs,
    standing,
    with_play_options,
)
from ostrom.cli.output import Output, Remark, TextTable, print_stderr
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.engine.runner import Result
    from ostrom.features.gates.gates import GateFile, GateReport
    from ostrom.features.gates.more_seeds import Looks
    from ostrom.studies.resolve import Resolved


@with_play_options(*BUDGET, "max_connections", "prompts", *CALLS)
def gate(
    run: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="A run, or a study that is played first.")],
    gates: Annotated[Path, typer.Option(help="The statements (YAML).")],
    level: Annotated[
        float | None, typer.Option(help="The confidence level of intervals (default: that of the file, 0.95).")
    ] = None,
    simultaneous: Annotated[
        bool | None, typer.Option(help="Widen intervals so that all hold at once (default: as the file says).")
    ] = None,
    junit: JUnit = None,
    markdown: Markdown = None,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="With a study: the name of its run (default: that of the study).")
    ] = None,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With a study: say how many seeds each gate needs; play nothing.")
    ] = False,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Play more seeds until all gates are decided, one fails or the budget ends; error rates hold.",
        ),
    ] = False,
    most_seeds: Annotated[
        int | None, typer.Option(help="With --until-decided: at most so many seeds in all.", min=1)
    ] = None,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Is a model good enough? Statements: pass, fail or undecided.

    The bounds hold for any distribution. A gate that names no agent is judged for each studied agent, and passes if
    all pass. A study is played first. One line says deploy, do not, or not yet.
    Exit code: 0 all pass, 1 one fails, 3 one is undecided and none fails, 2 wrong use, 130 interrupted.
    A run that is being played passes and fails nothing: its verdicts are undecided, with what they are so far.
    """
    from ostrom.analysis.verdict_files import CODES, check_folders
    from ostrom.cli.commands.run import plan_headline, refuse_unused
    from ostrom.engine.folder import Folder, check_name
    from ostrom.features.gates import gates as gating
    from ostrom.features.gates.more_seeds import check_until_decided
    from ostrom.studies.design import at_seeds
    from ostrom.studies.resolve import resolve

    gate_file = gating.read_gates(gates)
    if level is not None:
        check_level(level)
    stated = {"level": level, "simultaneous": simultaneous}
    gate_file = gate_file.model_copy(update={key: value for key, value in stated.items() if value is not None})
    check_folders(junit, markdown)
    if until_decided and dry_run:
        raise UsageError("--until-decided plays, and --dry-run does not: leave one of them out")
    if most_seeds is not None and not until_decided:
        raise UsageError("--most-seeds: needs --until-decided")
    played: dict[str, Any] = {
        "model": model, "preset": preset, "set": set_, "name": name, "seeds": seeds,
        "dry_run": dry_run or None, **({} if until_decided else options.stated()),
    }  # fmt: skip
    changes = {key: value for key, value in played.items() if value is not None and key != "allow_key"}
    target, interrupted = run, False
    if is_study(run, runs, changes):
        resolved = resolve(run, preset=preset, changes=set_ or (), models=model or (), seeds=seeds, options=options)
        if resolved.plan.study.people is not None:
            raise UsageError(f"{run}: is a study with people; `ostrom serve {run}` serves it, then gate its run")
        folder = runs / check_name(name or resolved.plan.name)
        home, grown = Folder(folder), 0
        if until_decided and seeds is None and home.exists:
            grown = int(home.manifest()["study"].get("seeds") or 1)
        if grown > resolved.plan.study.seeds:  # an earlier session added seeds until the gates were decided
            resolved = replace(resolved, plan=at_seeds(resolved.plan, grown))
        prices = gating.prices(gate_file, resolved.plan, str(gates))
        for price in prices:
            print_stderr(price.words)
        if dry_run:
            facts = plan_headline(resolved.plan, options)
            return Output(
                {"study": run, **facts, "gates": str(gates), "prices": [one.as_dict() for one in prices]},
                [facts],
                source=prices,
                rows_key="prices",
            )
        if until_decided:
            check_until_decided(gate_file, str(gates), resolved.plan.study, resolved.plan.budget, most_seeds)
        refuse_unused(resolved)
        interrupted, target = _play(resolved, folder).interrupted, str(folder)
    looks: Looks | None = None
    if until_decided and not interrupted:
        looks = _play_on(target, runs, gate_file, str(gates), options, most_seeds)
        verdict, interrupted = looks.verdict, looks.interrupted
    else:
        verdict = _judged(target, runs, gate_file, str(gates), options)
    with opened_runs([target], runs) as data:
        registered = standing(data)
    run_name = Path(target).name
    gating.verdict_file(verdict, run_name, registered).write(junit, markdown)
    look_facts = {} if looks is None else {"looks": [asdict(one) for one in looks.looks], "why": looks.why}
    table = TextTable(
        f"{run_name}: {gating.heading(verdict)}",
        ["verdict", "gate", "statement", "matches", "estimate", "why"],
        [
            [one.verdict, one.name, one.gate.statement, one.gate.matches or "all", gating.found_text(one),
             one.reason or None]
            for one in verdict.judged
        ],
    )  # fmt: skip
    return Output(
        {"run": target, "gates": str(gates), **registered.document, **verdict.as_dict(), **look_facts},
        [
            verdict.decision_line,
            table,
            f"population: {verdict.population}" if verdict.population else None,
            Remark(verdict.control),
            Remark(f"stopped: {looks.why}") if looks is not None and looks.why != "decided" else None,
        ],
        code=130 if interrupted else CODES[verdict.answer],
        standing=registered,
        source=verdict,
        rows_key="judged",
    )


def _judged(run: str, runs: Path, asked: GateFile, file: str, options: PlayOptions) -> GateReport:
    from ostrom.costs.seeds import seed_price
    from ostrom.features.gates.gates import judge

    with opened_runs([run], runs) as [data]:
        return judge(asked, data, file, lambda: seed_price(data.folder, runs, options.rates))


def _play_on(run: str, runs: Path, gate_file: GateFile, file: str, options: PlayOptions, most: int | None) -> Looks:
    """Play more seeds of a run until its gates are decided."""
    from ostrom.features.gates.more_seeds import check_until_decided, until_decided
    from ostrom.studies.resolve import resolve_run

    begun = resolve_run(run, runs, options=options)
    study, budget, folder = begun.plan.study, begun.plan.budget, begun.folder
    check_until_decided(gate_file, file, study, budget, most)

    def play(seeds: int) -> Result:
        print_stderr(f"undecided: playing on to {seeds} seeds")
        return _play(resolve_run(folder, runs, options=options, seeds=seeds), folder)

    return until_decided(
        folder, study.seeds, lambda: _judged(str(folder), runs, gate_file, file, options), play, budget, most
    )


def is_study(name: str, runs: Path, content: dict[str, Any]) -> bool:
    """Return whether a name means a study to play: a file, or a built-in study that is no run or comes with options."""
    from ostrom.studies.files import builtin_names

    if Path(name).is_file():
        return True
    is_run = any((folder / "run.json").exists() for folder in (Path(name), runs / name))
    if is_run and name in builtin_names():
        return bool(content)
    if is_run and content:
        raise UsageError(
            f"{name}: is a run, which --{next(iter(content)).replace('_', '-')} cannot change (name a study to play "
            "one)"
        )
    return not is_run and name in builtin_names()


def _play(found: Resolved, folder: Path) -> Result:
    """Play a study and print how it ended."""
    from ostrom.cli.commands.run import end_lines, play_resolved

    result = play_resolved(found, folder)
    print_stderr("\n".join(end_lines(result, folder)))
    return result
