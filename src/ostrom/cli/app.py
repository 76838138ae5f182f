"""The program: a group whose commands are found by name and imported when they are called."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ostrom.ground.commands import built, command_names, commands, first_line
from ostrom.ground.terminal import write
from ostrom.ground.version import __version__


class _Found(Mapping[str, Any]):
    """The commands by name, each built when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in commands:
            raise KeyError(name)
        return built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(command_names())

    def __len__(self) -> int:
        return len(command_names())


class CommandGroup(TyperGroup):
    """The group of all commands; its help imports none of ours."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = _Found()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Every name, ours first."""
        return command_names()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The names with the first line of each, cut to the width of the page."""
        lines = {name: first_line(name) for name in self.list_commands(ctx)}
        limit = formatter.width - 6 - max(map(len, lines))
        stubs = {name: TyperCommand(name, help=line) for name, line in lines.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, stub.get_short_help_str(limit)) for name, stub in stubs.items()])


app = typer.Typer(
    name="ostrom",
    cls=CommandGroup,
    help="A laboratory for cooperation between language-model agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
    log_file: Path | None = typer.Option(
        None, "--log-file", help="Write the log, every call in it, to this file."
    ),
) -> None:
    """A laboratory for cooperation between language-model agents."""
    if verbose or log_file is not None:
        from ostrom.cli.logs import set_up

        set_up(verbose, log_file)
