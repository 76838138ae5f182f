"""Options shared by several commands; those of play come from ``PlayOptions``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ostrom.cli.output import Output
from ostrom.engine.play_options import DECLARED
from ostrom.engine.play_options import PlayOptions as PlayOptions  # commands import it from here
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.analysis.estimate import Query
    from ostrom.analysis.registered import AskedContrast, RegistrationStatus
    from ostrom.data.rundata import RunData
    from ostrom.studies.run import Run

BUDGET = ("budget_usd", "budget_calls", "budget_tokens")
CALLS = ("prices", "cache", "batch", "batch_waves", "allow_key", "allow_command")
NAME_MODELS = ("model", "second_model", "against", "judge", "second_judge", "reader", "set_")
"""Parameters of commands whose texts may name a model's server."""
Command = Callable[..., Any]


def run_names() -> list[str]:
    """Return the runs for shell completion."""
    folder = Path(os.environ.get("OSTROM_RUNS", "runs"))
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def study_names() -> list[str]:
    """Return the built-in studies for shell completion."""
    from ostrom.studies.files import builtin_names

    return builtin_names()


RunName = Annotated[str, typer.Argument(help="A run: its name or folder.", autocompletion=run_names)]
StudyName = Annotated[
    str, typer.Argument(help="A study file (YAML) or the name of a built-in study.", autocompletion=study_names)
]
MatchNumber = Annotated[int, typer.Option(help="The number of the match, as the tables give it.", min=0)]
NewRun = Annotated[str | None, typer.Option(help="The name of the new run.")]
Runs = Annotated[Path, typer.Option(help="The folder of all runs.", envvar="OSTROM_RUNS")]
AgentNames = Annotated[
    str | None,
    typer.Option("--agents", help="Whose values: all, or names, separated by commas (default: studied agents)."),
]
MeanOverAgents = Annotated[
    bool, typer.Option("--mean-over-agents", help="One mean over the agents, not one row for each.")
]
JUnit = Annotated[Path | None, typer.Option(help="Write the verdicts as JUnit XML to this file.")]
Markdown = Annotated[
    Path | None, typer.Option(help="Write the verdicts as Markdown, for a pull request, to this file.")
]
Safe = Annotated[
    bool, typer.Option("--safe", help="Put an apostrophe before texts in CSV files that a spreadsheet would run.")
]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model; may be given several times.")]
Presets = Annotated[str | None, typer.Option("--preset", help="A preset of the study: paper, small, smoke.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a field: key=value. May be given several times.")]
Seeds = Annotated[int | None, typer.Option("--seeds", help="How many seeds.", min=1)]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="RUN", help="With --dry-run: expect replies as long as those of this run."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
PlayedOutput = Annotated[Output, "Print the result as JSON."]
"""The return type of commands that play, with the help of --json."""
WriteReport = Annotated[bool, typer.Option("--report/--no-report", help="Write the HTML report at the end.")]


def with_play_options(*names: str) -> Callable[[Command], Command]:
    """Decorate a command with a parameter ``options``: the named options appear on the command line instead.

    Where the name of a parameter of the command itself stands among them, `--help` shows that there. A command with
    ``allow_key`` may send keys to the servers that --allow-key and its own arguments name.
    """

    def decorate(function: Command) -> Command:
        own = inspect.signature(function).parameters
        hints = get_type_hints(function, include_extras=True)
        groups = (names if name == "options" else () if name in names else (name,) for name in own)
        order = [name for group in groups for name in group]
        parameters = [
            own[name].replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            if name in own
            else _parameter(name)
            for name in order
        ]

        @wraps(function)
        def command(**values: Any) -> Any:
            how = {name: values.pop(name) for name in names if name not in own and name in values}
            if "allow_key" in names:
                say_allowed(how.get("allow_key"), *(values.get(name) for name in NAME_MODELS))
            return function(**values, options=PlayOptions(**how))

        returns = hints["return"]
        command.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
        return command

    return decorate


def _parameter(name: str) -> inspect.Parameter:
    """Return an option of play as a parameter that Typer reads."""
    declaration, default = DECLARED[name], getattr(PlayOptions, name)
    option = typer.Option(
        *([declaration.flag] if declaration.flag else []),
        help=declaration.help,
        min=declaration.least,
        metavar=declaration.metavar,
        show_default=declaration.kind is not bool,
    )
    kind = declaration.kind if default is not None else declaration.kind | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def say_allowed(allowed: Sequence[str] | None, *named: list[str] | str | None) -> None:
    """Record which API keys the user allows for which servers, and the servers named on the command line."""
    from ostrom.models.grants import say_allowed as take_in

    take_in(allowed or (), [text for part in named if part for text in ([part] if isinstance(part, str) else part)])


def check_level(level: float) -> float:
    """Return a valid confidence level; others are refused."""

    if not 0.5 <= level < 1:
        raise UsageError(f"--level must lie between 0.5 and 1 (found {level:g})")
    return level


Level = Annotated[float, typer.Option(help="The confidence level of intervals.", callback=check_level)]


def stated_query(
    measure: str,
    contrast: str = "",
    over: str = "",
    log: bool = False,
    by: str = "",
    where: Sequence[str] = (),
    agents: str = "",
    mean_over_agents: bool = False,
) -> Query:
    """Return the query of the options: columns by commas, conditions all ``column=level`` or all SQL."""
    from pydantic import ValidationError

    from ostrom.analysis.estimate import Query
    from ostrom.analysis.units import EQUAL

    equal = [EQUAL.fullmatch(text) for text in where]
    levels = {of[1]: [part.strip() for part in of[2].split(",")] for of in equal if of is not None}
    condition = levels if all(equal) else " AND ".join(f"({text})" for text in where)
    columns = tuple(name.strip() for name in by.split(",") if name.strip())
    try:
        return Query(
            measure=measure, where=condition, contrast=contrast, over=over, log=log, by=columns, agents=agents,
            mean_over_agents=mean_over_agents,
        )  # fmt: skip
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None


@contextmanager
def opened_runs(names: Sequence[str], runs: Path) -> Iterator[list[RunData]]:
    """Open runs by name and yield the tables of each, brought up to date."""
    from ostrom.data.rundata import run_data
    from ostrom.studies.run import open_run

    with ExitStack() as stack:
        opened = (stack.enter_context(open_run(name, runs)) for name in names)
        yield [stack.enter_context(run_data(one.rows, one.folder.path, one.manifest)) for one in opened]


def standing(data: Sequence[RunData], question: AskedContrast | None = None) -> RegistrationStatus:
    """Return the registration status of a result from these tables; this counts as a look."""
    from ostrom.analysis.registered import standing as standing_of_data

    return standing_of_data(data, question)


def standing_of(*opened: Run) -> RegistrationStatus:
    """Return the registration status of a result computed from these runs."""
    from ostrom.data.rundata import run_data

    with ExitStack() as stack:
        bound = [one for one in opened if one.manifest.get("registered")]
        return standing([stack.enter_context(run_data(one.rows, one.folder.path, one.manifest)) for one in bound])
