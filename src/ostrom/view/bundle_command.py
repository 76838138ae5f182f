"""`ostrom view bundle`: a static copy of a run; and the group that makes `ostrom view RUNS` a command of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ostrom.cli.output import print_json, say, write
from ostrom.features.exporting.command import RUNS

EVERY = 5.0
"""Seconds between two lines about how far it has come."""


class ViewGroup(TyperGroup):
    """`ostrom view bundle ...` is a command; whatever else follows `ostrom view` is for `ostrom view pages`."""

    default = "pages"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name where none is given."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else [self.default, *args])


def bundle(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write; an older bundle there is replaced.")
    ],
    per_cell: Annotated[
        int | None, typer.Option(help="Only the first so many matches of every cell.", min=1)
    ] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a static copy of a run for a paper's appendix: pages and search that work from disk and from any server.

    Keys and passwords are masked; of people nothing is copied but what they chose.
    """
    from ostrom.ground.errors import OstromError

    try:
        from ostrom.view.bundle import bundle as make
    except ImportError as error:
        raise OstromError(f"this needs {error.name}: pip install 'ostrom[web]'") from None

    told = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            say(f"{done:,} of {total:,} matches")

    made = make(run, runs, out, per_cell=per_cell, progress=progress)
    if json:
        print_json({**made.as_dict(), "open": str(out / "index.html")})
        return
    write(out / "index.html")
    say(
        f"{made.matches:,} matches, {made.decisions:,} decisions, {made.calls:,} calls; "
        f"{made.bytes / 1e6:,.1f} MB in {made.files:,} files"
    )
    if made.masked:
        say(f"masked: keys or passwords in {made.masked:,} texts")
    if made.without_words:
        say(f"left out: the words of {made.without_words:,} matches in which people wrote some")
