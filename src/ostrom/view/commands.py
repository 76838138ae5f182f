"""`ostrom view`: every run, match, prompt and reply in a browser; `ostrom view bundle`: a static copy of a run."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ostrom.cli.options import Runs
from ostrom.cli.output import Output, Remark, print_stderr
from ostrom.ground.errors import OstromError

EVERY = 5.0
"""Seconds between two progress lines."""


class ViewGroup(TyperGroup):
    """A command group: `ostrom view bundle` is a command; anything else is passed to `ostrom view pages`."""

    default = "pages"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is given."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else [self.default, *args])


view = typer.Typer(
    help="Look at runs in a browser, live.\n\n`ostrom view bundle RUN` writes a static copy of one.", cls=ViewGroup
)


@view.command("pages")
def pages(
    runs: Annotated[Path, typer.Argument(help="The folder of all runs, or one run.", envvar="OSTROM_RUNS")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on (0: any free one).", min=0, max=65535)] = 7400,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's own needs a password.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="With --host: a name under which browsers reach this machine; may be repeated."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Look at runs in a browser, also while they are played; nothing is written to a journal.

    Where other machines can reach the address, a password is needed: OSTROM_VIEW_PASSWORD.
    """
    import asyncio

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise OstromError(f"this needs {error.name}: pip install 'ostrom[web]'") from None
    from ostrom.view.shelf import RunsFolder
    from ostrom.view.viewer import address_of, bound, serve_view

    RunsFolder(runs)
    listening, password = bound(host, port)
    address = address_of(listening)

    def ready() -> None:
        print_stderr(f"runs of {runs}: {address} (Ctrl-C ends it)")
        if open_:
            import webbrowser

            webbrowser.open(address)

    with listening:
        asyncio.run(serve_view(runs, listening, password, tuple(name or ()), print_stderr, ready))


@view.command("bundle")
def bundle(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write; an older bundle there is replaced.")],
    per_cell: Annotated[int | None, typer.Option(help="Only the first so many matches of every cell.", min=1)] = None,
    report: Annotated[bool, typer.Option(help="With the findings and the report of the run.")] = True,
    runs: Runs = Path("runs"),
) -> Output:
    """Write a static copy of a run for a paper's appendix: pages and search that work from disk and from any server.

    Keys and passwords are masked; of people nothing is copied but what they chose.
    """

    try:
        from ostrom.view.bundle import bundle as make
    except ImportError as error:
        raise OstromError(f"this needs {error.name}: pip install 'ostrom[web]'") from None

    last_report = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last_report
        if time.monotonic() - last_report > EVERY:
            last_report = time.monotonic()
            print_stderr(f"{done:,} of {total:,} matches")

    summary = make(run, runs, out, per_cell=per_cell, report=report, progress=progress)
    notes = [
        f"{summary.matches:,} matches, {summary.decisions:,} decisions, {summary.calls:,} calls; "
        f"{summary.bytes / 1e6:,.1f} MB in {summary.files:,} files",
        summary.masked and f"masked: keys or passwords in {summary.masked:,} texts",
        summary.without_words
        and f"left out: the words of {summary.without_words:,} matches in which people wrote some",
        report and summary.without_report and f"left out: the report ({summary.without_report})",
    ]
    page = str(out / "index.html")
    return Output({**summary.as_dict(), "open": page}, [page, *(Remark(note) for note in notes if note)])
