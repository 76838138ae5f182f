"""`ostrom join`: combine shards into one run."""

import time
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Runs
from ostrom.cli.output import Output, TextTable
from ostrom.ground.words import how_many


def join(
    name: Annotated[str, typer.Argument(help="The name of the joined run.")],
    shards: Annotated[list[str], typer.Argument(metavar="SHARD...", help="All shards of the run: names or folders.")],
    verify: Annotated[
        bool, typer.Option(help="Replay all matches of every shard and hold rows, prompts and answers against it.")
    ] = True,
    runs: Runs = Path("runs"),
) -> Output:
    """Make one run of shards that were played on several machines.

    The shards stay where they are; the joined run lists them and is read like any other run. They are checked now
    and whenever the run is opened: same study, prompts and version, none missing, none twice. Now all of their matches
    are replayed too, as `ostrom check` does (--no-verify leaves that out). A shard that is not complete is named,
    and the run grows when it is gone on with. Exit code: 0 complete, 1 incomplete, 2 wrong use.
    """
    from ostrom.features.joining import join_shards

    begun = time.perf_counter()
    joined = join_shards(name, shards, runs, verify=verify)
    verified = f"all matches of {how_many(len(joined), 'shard')} verified in {time.perf_counter() - begun:.1f} s"
    open_ones = [state for state in joined if not state.complete]
    rows = [
        {
            "shard": str(state.shard),
            "folder": str(state.folder),
            "planned": state.units.planned,
            "done": state.units.done,
            "skipped": state.units.skipped,
            "failed": state.units.failed,
            "complete": state.complete,
        }
        for state in joined
    ]
    return Output(
        {"run": str(runs / name), "complete": not open_ones, "shards": rows},
        [TextTable.from_mappings(f"{name}: its shards", rows)],
        [
            verified if verify else None,
            *(
                f"shard {state.shard} is not complete: `ostrom resume {state.folder}` goes on with it"
                for state in open_ones
            ),
            f"run: {runs / name}, joined from {how_many(len(joined), 'shard')}    report: ostrom report {runs / name}",
        ],
        int(bool(open_ones)),
    )
