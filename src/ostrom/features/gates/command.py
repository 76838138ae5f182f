"""`ostrom gate`: statements about a run, each judged pass, fail or undecided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import (
    BUDGET,
    Json,
    Models,
    Presets,
    Runs,
    Seeds,
    Sets,
    check_level,
    opened_runs,
    say_allowed,
    with_play_options,
)
from ostrom.cli.output import print_json, print_standing, print_table, say, write
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.features.gates.gates import Judgement
    from ostrom.studies.resolve import Resolved

CODES = {"pass": 0, "fail": 1, "undecided": 3}


@with_play_options(
    *BUDGET, "max_connections", "prompts", "prices", "cache", "batch", "batch_waves", "allow_key"
)
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
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With a study: say how many seeds each gate needs; play nothing."),
    ] = False,
    options: PlayOptions = PlayOptions(),
    json: Json = False,
) -> None:
    """Judge statements about a run: pass, fail or undecided.

    The bounds hold for any distribution. A study is played first.
    Exit code: 0 all pass, 1 one fails, 3 one is undecided and none fails, 2 wrong use, 130 interrupted.
    """
    from ostrom.analysis.registered import standing
    from ostrom.engine.folder import check_name
    from ostrom.features.gates import gates as gating
    from ostrom.studies.resolve import resolve

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
        "model": model, "preset": preset, "set": set_, "name": name, "seeds": seeds, **options.stated(),
        "dry_run": dry_run or None,
    }  # fmt: skip
    given = {key: value for key, value in played.items() if value is not None and key != "allow_key"}
    say_allowed(options.allow_key, model, set_)
    target, interrupted = run, False
    if is_study(run, runs, given):
        found = resolve(
            run, preset=preset, changes=set_ or (), models=model or (), seeds=seeds, options=options
        )
        prices = gating.prices(asked, found.plan, str(gates))
        for price in prices:
            say(price.words)
        if dry_run:
            if json:
                print_json({"study": run, "gates": str(gates), "prices": [one.as_dict() for one in prices]})
            return
        folder, interrupted = _play(found, run, runs / check_name(name or found.plan.name), json)
        target = str(folder)
    with opened_runs([target], runs) as data:
        verdict = gating.judge(asked, data[0], str(gates))
        registered = standing(data)
    shown = Path(target).name
    if junit is not None:
        gating.write(junit, gating.junit(verdict, shown))
    if markdown is not None:
        gating.write(markdown, gating.markdown(verdict, shown).encode())
    if json:
        print_json({
            "run": target, "gates": str(gates), **registered.document, "answer": verdict.answer, "level": verdict.level,
            "control": verdict.control, "judged": [one.as_dict() for one in verdict.judged],
        })  # fmt: skip
    else:
        print_standing(registered)
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
            f"{name}: is a run, which --{next(iter(given)).replace('_', '-')} cannot change (name a study to play one)"
        )
    return not is_run and name in builtin_names()


def _play(found: Resolved, study: str, folder: Path, json: bool) -> tuple[Path, bool]:
    """Play a study; where its run lies, and whether somebody interrupted it."""
    from ostrom.cli.commands.run import play_found, refuse_unused, say_end

    if found.plan.study.people is not None:
        raise UsageError(
            f"{study}: is a study with people; `ostrom serve {study}` serves it, then gate its run"
        )
    refuse_unused(found)
    result = play_found(found, folder, json=json)
    say_end(result, folder)
    return folder, result.interrupted


def _show(verdict: Judgement, run: str) -> None:
    from ostrom.features.gates.gates import found_text, heading

    print_table(
        f"{run}: gates",
        ["gate", "statement", "matches", "verdict", "estimate", "why"],
        [
            [one.name, one.gate.statement, one.gate.matches or "all", one.verdict, found_text(one), one.reason or None]
            for one in verdict.judged
        ],
    )  # fmt: skip
    write(heading(verdict))
    say(verdict.control)
