"""The program: command groups whose commands are found by name and imported when called.

``REMOVED`` names what earlier versions had, each with what to use instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from ostrom.ground.commands import (
    GROUPED,
    MORE,
    click_command,
    command_line_name,
    command_names,
    commands,
    first_line,
    group_of,
)
from ostrom.ground.errors import UsageError
from ostrom.ground.results import Output
from ostrom.ground.terminal import one_command, one_line, print_stderr, write
from ostrom.ground.version import __version__

VERSION = "2.0"
LM_EVAL = "`ostrom more regress ADAPTER --task humaneval_instruct --allow-code-execution` asks lm-eval"
REMOVED = {
    "compare --lower-is-better": "`ostrom compare NEW OLD --better lower` says it",
    "completion": "`ostrom --install-completion` sets up your shell, `ostrom --show-completion` prints the script",
    "export --format registry": "`ostrom estimate FOLDER MEASURE` reads a shared run, `ostrom pool FOLDER ...` several",
    "pilot --browser": "`ostrom pilot` without it tries the study, `ostrom serve STUDY --test` shows its pages",
    "regress --human-eval": LM_EVAL,
    "regress --run-code": LM_EVAL,
}
"""Replacements of removed commands, or options with their value."""


def removed(words: Sequence[str]) -> str | None:
    """Return the message for a removed command or option; None if there is none.

    >>> removed(["export", "shared", "--format=registry"]).partition(":")[0]
    '`ostrom export --format registry` was removed in 2.0'
    >>> removed(["export", "shared", "--format=csv"])
    """
    options = f" {' '.join(words[1:])} ".replace("=", " ")
    for key, instead in REMOVED.items():
        command, _, option = key.partition(" ")
        if command == words[0] and f" {option} ".lstrip() in options:
            return f"`ostrom {f'{command_line_name(command)} {option}'.strip()}` was removed in {VERSION}: {instead}"
    return None


class _LazyCommands(Mapping[str, Any]):
    """The commands of a group by name, each built on first use."""

    def __init__(self, level: str) -> None:
        self.level = level

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return MORE_GROUP if name == MORE else click_command(name)

    def __contains__(self, name: object) -> bool:
        known = name in commands
        return (known and group_of(str(name)) == MORE) if self.level == MORE else known or name == MORE

    def __iter__(self) -> Iterator[str]:
        return iter(name for name in [*command_names(), MORE] if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class CommandGroup(TyperGroup):
    """The group of all commands, or of a subgroup; its help imports none of ours."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = _LazyCommands(str(self.name))  # type: ignore[assignment]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Convert `ostrom help run` to `ostrom run --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Every name, ours first."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command by name; the error names the right group, or what to do instead."""
        name = args[0]
        if (answer := removed(args)) is not None:
            raise UsageError(answer)
        if name not in self.commands:
            from ostrom.cli.guesses import unknown_command

            raise UsageError(unknown_command(name))
        if name != MORE and not ctx.resilient_parsing and ctx.parent is None and group_of(name) == MORE:
            print_stderr(f"ostrom: `ostrom {name}` is now `ostrom {MORE} {name}`; the old name goes on working")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command and print its result; usage errors say what to do."""
        try:
            if ctx.parent is not None:
                return super().invoke(ctx)
            with one_command():
                output = super().invoke(ctx)
                if isinstance(output, Output):
                    from ostrom.cli.output import emit

                    emit(output)
                    raise typer.Exit(output.code)
        except Exception as error:
            from ostrom.cli.guesses import wrong_option

            if (answer := wrong_option(error)) is None:
                raise
            raise UsageError(answer) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, one line each, then the options: all on one screen."""
        groups = {group: [name for name in command_names() if group_of(name) == group] for group in GROUPED}
        further = groups.pop(MORE)
        listed = {MORE: further} if ctx.parent is not None else groups
        width = max(len(name) for names in listed.values() for name in names)
        for group, names in listed.items():
            heading = group if ctx.parent is None else "Commands"
            formatter.write("\n" * (ctx.parent is not None or group == next(iter(listed))) + f"{heading}\n")
            for name in names:
                formatter.write(f"  {name:{width}}  {one_line(first_line(name))}\n")
        if ctx.parent is None:
            formatter.write(f"More: {len(further)} further commands, listed by `ostrom {MORE} --help`.\n")
            formatter.write(f"{OPTIONS}\n")


OPTIONS = """\
Options: --version; -h, --help; -v, --verbose: log retries and limits on stderr,
-vv: every call; --log-file FILE: write all of it to FILE; --allow-code FILE:
run this Python file, which a study names; --install-completion: for your shell."""
"""The program's options in three lines."""
MORE_GROUP = CommandGroup(
    name=MORE,
    help="Further commands.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app = typer.Typer(
    name="ostrom",
    cls=CommandGroup,
    help="A laboratory for cooperation between language-model agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    subcommand_metavar="COMMAND ...  (`ostrom COMMAND --help` says more)",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        write(f"ostrom {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(  # noqa: ARG001
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
    verbose: int = typer.Option(
        0, "--verbose", "-v", count=True, help="Log retries and limits on stderr; -vv: every call."
    ),
    log_file: Path | None = typer.Option(None, "--log-file", help="Write the log, every call in it, to this file."),
    allow_code: list[Path] = typer.Option(
        [], "--allow-code", metavar="FILE", help="Run the Python code of this file, which a study names."
    ),
) -> None:
    """A laboratory for cooperation between language-model agents."""
    if allow_code:
        from ostrom.ground import python_files

        python_files.allow_code(*allow_code)
    if verbose or log_file is not None:
        from ostrom.cli.logs import set_up

        set_up(verbose, log_file)
