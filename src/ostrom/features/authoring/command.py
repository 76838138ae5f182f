"""`ostrom more author`: let a model write new stories for the payoff tables of scenarios."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.ending import ask_models, exit_code, spent_data, trouble
from ostrom.cli.options import BUDGET, PlayOptions, Runs, with_play_options
from ostrom.cli.output import Output, TextTable
from ostrom.engine.folder import check_name
from ostrom.features.authoring.plan import AuthorPlan, write_scenarios
from ostrom.games.scenarios import families, scenarios, shipped_scenario
from ostrom.ground.errors import UnknownName


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "runs", "allow_key")
def author(
    folder: Annotated[Path, typer.Argument(help="The folder for the scenario files.")],
    model: Annotated[str, typer.Option(help="The author: provider/model or http://host:port/v1#model")],
    reader: Annotated[str, typer.Option(help="Another model, which reads the stories without their tables.")],
    family: Annotated[str, typer.Option(help="A family of scenarios whose tables are told anew.")] = "commons",
    names: Annotated[str | None, typer.Option(help="Scenarios of it, separated by commas (default: all).")] = None,
    copies: Annotated[int, typer.Option(help="Stories per table.", min=1)] = 1,
    name: Annotated[str, typer.Option(help="The name of the run.")] = "stories",
    retries: Annotated[int, typer.Option(help="Ask again so often after an unreadable answer.", min=0)] = 3,
    options: PlayOptions = PlayOptions(),
    runs: Runs = Path("runs"),
) -> Output:
    """Write stories for games and have another model read them.

    Write stories, have another model read them without the table, and keep those that it reads rightly.

    The same command goes on where it stopped. Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    if family not in families():
        raise UnknownName("family of scenarios", family, families())
    wanted = [part.strip() for part in names.split(",") if part.strip()] if names else scenarios(family)
    plan = AuthorPlan(
        [shipped_scenario(family, one) for one in wanted], model, reader, name=check_name(name), runs=runs,
        copies=copies, prompts=options.prompts, retries=retries, budget=options.budget,
    )  # fmt: skip
    result = ask_models(plan, options)
    with plan.folder.open_journal() as journal:
        stories = plan.written(journal)
    files = write_scenarios(plan, stories, folder)
    facts: dict[str, Any] = {
        "run": str(runs / name), "folder": str(folder), "complete": result.complete, "why": result.why,
        "stories": len(stories), "kept": len(files), **spent_data(result.tally),
        "written": [
            {"name": s.name, "base": s.base, "title": s.title, "claim": s.claim, "kept": s.kept, "why": s.why or None}
            for s in stories
        ],
    }  # fmt: skip
    rows = [[s.name, s.title, s.claim, "yes" if s.kept else "no", s.why] for s in stories]
    return Output(
        facts,
        [TextTable(f"Stories by {model}", ["name", "title", "claim", "kept", "why not"], rows)],
        [f"{len(files)} of {len(stories)} stories kept in {folder}", *trouble(result, " and asks again what failed")],
        exit_code(result),
    )
