"""`ostrom more tree`: compute all answers of a player before a study is played."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.ending import ask_models, exit_code, forecast_text, spending_text, spent_data, trouble
from ostrom.cli.options import BUDGET, Models, PlayOptions, Presets, Runs, Sets, with_play_options
from ostrom.cli.output import Output, Remark, TextTable, ask, json_wanted, print_stderr, show
from ostrom.engine.runner import Result
from ostrom.features.trees.plan import TreePlan, tree_names
from ostrom.ground.errors import StudyError
from ostrom.ground.words import how_many
from ostrom.studies.resolve import resolve

COST = ("calls", "tokens_in", "likely_tokens_out", "tokens_out", "likely_usd", "usd")


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "cache", "batch", "allow_key")
def tree(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    runs: Runs = Path("runs"),
    yes: Annotated[bool, typer.Option("--yes", help="Go on without asking once the cost is shown.")] = False,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Ask every answer of a precomputed player beforehand.

    For types with `tree: auto`: one answer per history of the others' moves. Shows the cost first.

    The same command goes on after an interruption. Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    resolved = resolve(study, preset=preset, changes=set_ or (), models=model or (), options=options)
    names = tree_names(resolved.plan)
    if not names:
        raise StudyError(
            "no type has a tree: set 'tree: auto' on a type with a model", file=resolved.plan.file, key="types"
        )
    rows, results = list[dict[str, Any]](), list[Result]()
    for name in names:
        plan = TreePlan(resolved.plan, name, runs=runs)
        folder, answer_count, bound = plan.folder, plan.known(), plan.forecast(options.rates)
        forecast = bound.as_dict()
        entry: dict[str, Any] = {
            "tree": plan.name,
            "folder": str(folder.path),
            "answers": plan.nodes,
            "known": answer_count,
            "complete": answer_count == plan.nodes,
            "parts": [
                {"type": s.name, "game": s.game.name, "seat": s.walk.seat + 1, "style": s.config.style,
                 "answers": s.walk.nodes}
                for s in plan.seats
            ],
            "forecast": {k: forecast[k] for k in COST},
        }  # fmt: skip
        rows.append(entry)
        if answer_count == plan.nodes:
            show(Remark(f"{folder.path}: complete, {answer_count:,} answers"))
            continue
        show(
            TextTable(
                f"{plan.name}: trees",
                ["type", "model", "style", "game", "seat", "rounds", "answers"],
                [
                    [s.name, s.config.model, s.config.style, s.game.name, s.walk.seat + 1, s.walk.rounds, s.walk.nodes]
                    for s in plan.seats
                ],
            ),
            *forecast_text(
                plan.name,
                f"{how_many(len(plan), 'tree')}, {how_many(plan.nodes, 'answer')}, {answer_count:,} known",
                bound,
                plan.budget,
            ),
        )
        if not (yes or _agreed()):
            print_stderr(f"nothing was asked; --yes goes on ({plan.nodes - answer_count:,} answers are missing)")
            entry["asked"] = False
            continue
        result = ask_models(plan, options)
        results.append(result)
        entry |= {"known": plan.known(), "spent": spent_data(result.tally)}
        entry["complete"] = entry["known"] == plan.nodes
        line = f"{folder.path}: {entry['known']:,} of {plan.nodes:,} answers; {spending_text(result.tally)}"
        show(*map(Remark, [line, *trouble(result)]))
    return Output(
        {"study": resolved.plan.name, "trees": rows},
        (),
        code=next(filter(None, map(exit_code, results)), int(not all(entry["complete"] for entry in rows))),
    )


def _agreed() -> bool:
    """Ask for confirmation at a terminal; without a terminal return False."""
    person = not json_wanted() and sys.stdin.isatty() and sys.stdout.isatty()
    return person and ask("Ask the model now? [y/N] ").strip().lower() in ("y", "yes")
