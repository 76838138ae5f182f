"""`ostrom batches`: the batches of a run, under way and ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Runs, say_allowed, with_play_options
from ostrom.cli.output import print_json, print_table, say
from ostrom.engine.play_options import PlayOptions


@with_play_options("allow_key")
def batches(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    runs: Runs = Path("runs"),
    ask: Annotated[bool, typer.Option("--ask", help="Ask the services how far they are.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel what is under way; resuming keeps the replies it has.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Give up what is under way: it may be paid for again.")
    ] = False,
    options: PlayOptions = PlayOptions(),
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the batches of a run that was played with --batch; ask for, cancel or give up those under way."""
    from ostrom.engine.batching.ledger import batches_in_words
    from ostrom.features.batches.records import BatchRecords
    from ostrom.ground.errors import UsageError

    say_allowed(options.allow_key)
    if ask + cancel + forget > 1:
        raise UsageError("--ask, --cancel, --forget: give one of them")
    records = BatchRecords(run, runs)
    if forget:
        count = records.forget()
        records = BatchRecords(run, runs)
        say(f"{batches_in_words(count)} given up; what was asked there is paid for and will not be read")
    said = records.cancel() if cancel else records.ask() if ask else None
    rows = records.rows(said)
    if json:
        print_json(rows)
        return
    if rows:
        print_table(
            f"{records.folder.path.name}: batches", list(rows[0]), [list(row.values()) for row in rows]
        )
    left = len(records.under_way)
    say(
        f"{batches_in_words(len(rows))}, {left} under way"
        + (f"; `ostrom resume {run}` collects them" if left else "")
    )
