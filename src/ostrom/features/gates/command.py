"""`ostrom gate`: statements about a run, each judged pass, fail or undecided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.commands.validate import budget_of
from ostrom.cli.options import (
    AllowKey,
    Batch,
    BatchWaves,
    BudgetCalls,
    BudgetTokens,
    BudgetUsd,
    Cache,
    MaxConnections,
    Models,
    Presets,
    Prices,
    Prompts,
    Seeds,
    Sets,
    polling,
    say_allowed,
)
from ostrom.cli.output import print_json, print_table, say, write
from ostrom.features.exporting.command import RUNS
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.features.gates.gates import Judgement

CODES = {"pass": 0, "fail": 1, "undecided": 3}


def gate(
    run: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="A run, or a study that is played first.")],
    gates: Annotated[Path, typer.Option(help="The statements (YAML).")],
    level: Annotated[
        float | None,
        typer.Option(help="The confidence level of intervals (default: that of the file, 0.95)."),
    ] = None,
    simultaneous: Annotated[
        bool | None,
        typer.Option(help="Widen intervals so that all hold at once (default: as the file says)."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the verdicts as JUnit XML to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the verdicts as Markdown, for a pull request, to this file.")
    ] = None,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="With a study: the name of its run (default: that of the study).")
    ] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    seeds: Seeds = None,
    budget_usd: BudgetUsd = None,
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    max_connections: MaxConnections = None,
    prompts: Prompts = None,
    prices: Prices = None,
    cache: Cache = None,
    batch: Batch = None,
    batch_waves: BatchWaves = None,
    allow_key: AllowKey = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge statements about a run by their intervals; a study is played first, or gone on with.

    Exit code: 0 all pass, 1 one fails, 3 one is undecided and none fails, 2 wrong use, 130 interrupted.
    """
    from ostrom.cli.commands.estimate import check_level
    from ostrom.cli.commands.estimate import opened as opened_runs
    from ostrom.features.gates import plan as gating
    from ostrom.features.gates.gates import judge

    asked = gating.read_gates(gates)
    if level is not None:
        check_level(level)
        asked = asked.model_copy(update={"level": level})
    if simultaneous is not None:
        asked = asked.model_copy(update={"simultaneous": simultaneous})
    for path in filter(None, (junit, markdown)):
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}")
    played: dict[str, Any] = {
        "model": model, "preset": preset, "set": set_, "name": name, "seeds": seeds, "budget-usd": budget_usd,
        "budget-calls": budget_calls, "budget-tokens": budget_tokens, "max-connections": max_connections,
        "prompts": prompts, "prices": prices, "cache": cache, "batch": batch, "batch-waves": batch_waves,
    }  # fmt: skip
    given = {key: value for key, value in played.items() if value is not None}
    say_allowed(allow_key, model, set_)
    target, interrupted = run, False
    if is_study(run, runs, given):
        folder, interrupted = _play(run, runs, played, json)
        target = str(folder)
    with opened_runs([target], runs) as data:
        verdict = judge(asked, data[0], str(gates))
    shown = Path(target).name
    if junit is not None:
        gating.write(junit, gating.junit(verdict, shown))
    if markdown is not None:
        gating.write(markdown, gating.markdown(verdict, shown).encode())
    if json:
        print_json({
            "run": target, "gates": str(gates), "answer": verdict.answer, "level": verdict.level,
            "control": verdict.control, "judged": [one.as_dict() for one in verdict.judged],
        })  # fmt: skip
    else:
        _show(verdict, shown)
    sys.exit(130 if interrupted else CODES[verdict.answer])


def is_study(name: str, runs: Path, given: dict[str, Any]) -> bool:
    """Whether a name is a study to be played: a file, or a built-in name that is no run or comes with options."""
    from ostrom.studies.load import builtin_names

    if Path(name).is_file():
        return True
    is_run = any((folder / "run.json").exists() for folder in (Path(name), runs / name))
    if is_run and name in builtin_names():
        return bool(given)
    if is_run and given:
        raise UsageError(
            f"{name}: is a run, which --{next(iter(given))} cannot change (name a study to play one)"
        )
    return not is_run and name in builtin_names()


def _play(study: str, runs: Path, given: dict[str, Any], json: bool) -> tuple[Path, bool]:
    """Play a study; where its run lies, and whether somebody interrupted it."""
    from dataclasses import replace

    from ostrom.cli.commands.run import play_found, refuse_unused, say_end
    from ostrom.engine.folder import check_name
    from ostrom.engine.runner import Options
    from ostrom.studies.resolve import resolve
    from ostrom.studies.session import RunOptions
    from ostrom.studies.waves import check_batch

    refuse_unused(given["batch"], given["batch-waves"], None)
    how = {name: given[name] for name in ("prompts", "prices", "cache")}
    found = resolve(
        study, preset=given["preset"], changes=given["set"] or (), models=given["model"] or (), seeds=given["seeds"],
        budget=budget_of(given["budget-usd"], given["budget-calls"], given["budget-tokens"]),
        prompts=how["prompts"], prices=how["prices"],
    )  # fmt: skip
    if found.plan.study.people is not None:
        raise UsageError(
            f"{study}: is a study with people; `ostrom serve {study}` serves it, then gate its run"
        )
    if given["batch"]:
        check_batch(found.plan, given["batch-waves"])
    connections = given["max-connections"]
    options = Options(
        max_connections=connections, cache=how["cache"], prices=found.prices, batch=polling(given["batch"])
    )
    session = RunOptions.of(**how, max_connections=connections, batch=given["batch"])
    folder = runs / check_name(given["name"] or found.plan.name)
    result = play_found(replace(found, session=session), folder, options, json=json)
    say_end(result, folder)
    return folder, result.interrupted


def _show(verdict: Judgement, run: str) -> None:
    from ostrom.features.gates.plan import found_text, heading

    print_table(
        f"{run}: gates",
        ["gate", "statement", "matches", "verdict", "estimate", "why"],
        [
            [one.name, one.gate.statement, one.gate.matches or "all", one.answer, found_text(one), one.reason or None]
            for one in verdict.judged
        ],
    )  # fmt: skip
    write(heading(verdict))
    say(verdict.control)
