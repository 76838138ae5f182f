"""Options of every command that makes calls, said once: what may be spent, how, and at what prices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ostrom.engine.batching.polling import PollingPolicy
    from ostrom.models.prices import Rates

BudgetUsd = Annotated[
    float | None,
    typer.Option(
        help="Spend at most so many US dollars, judged by the mean price of the calls so far.", min=0
    ),
]
BudgetCalls = Annotated[int | None, typer.Option(help="Make at most so many calls.", min=0)]
BudgetTokens = Annotated[int | None, typer.Option(help="Use at most so many tokens.", min=0)]
MaxConnections = Annotated[int | None, typer.Option(help="At most so many calls in flight per model.", min=1)]
Prices = Annotated[Path | None, typer.Option(help="A YAML file with prices per million tokens.")]
Cache = Annotated[Path | None, typer.Option(help="Share replies with other runs through this file.")]
Prompts = Annotated[Path | None, typer.Option(help="A folder whose files replace prompts.")]
AllowKey = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VARIABLE=HOST",
        help="Let the key in this environment variable be sent to this server. May be given several times.",
    ),
]
Safe = Annotated[
    bool,
    typer.Option(
        "--safe",
        help="Put an apostrophe before texts in CSV files that a spreadsheet would run.",
    ),
]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model; may be given several times.")]
Presets = Annotated[str | None, typer.Option("--preset", help="A preset of the study: paper, small, smoke.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="Change a field: key=value. May be given several times.")
]
Seeds = Annotated[int | None, typer.Option("--seeds", help="How many seeds.", min=1)]
Batch = Annotated[
    bool | None,
    typer.Option(
        "--batch/--no-batch",
        help="Ask through the batch endpoints of the models: slower, at a lower price.",
        show_default=False,
    ),
]
BatchWaves = Annotated[
    int | None,
    typer.Option(help="With --batch: wait for at most so many batches, one after another.", min=1),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="RUN", help="With --dry-run: expect replies as long as those of this run."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


def polling(batch: bool | None) -> PollingPolicy | None:
    """How batches are asked for, where they are wanted."""
    from ostrom.engine.batching.polling import PollingPolicy

    return PollingPolicy() if batch else None


def say_allowed(allowed: list[str] | None, *named: list[str] | str | None) -> None:
    """Take in which keys the person lets go where, and the servers that the command line names itself."""
    from ostrom.models.grants import say_allowed as take_in

    texts = [text for part in named if part for text in ([part] if isinstance(part, str) else part)]
    take_in(allowed or (), texts)


def price_table(path: Path | None) -> dict[str, Rates] | None:
    """The prices in a file, or None where none is given: then the published ones hold."""
    if path is None:
        return None
    from ostrom.models.prices import load_prices

    return load_prices(path)
