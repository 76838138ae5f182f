"""`ostrom more robustness`: what an outcome owes to the wording, and what survives every wording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Json, Runs
from ostrom.cli.output import print_answer, print_table, say

if TYPE_CHECKING:
    from ostrom.features.robustness.robustness import Robustness


def robustness(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    outcome: Annotated[str, typer.Option(help="A measure: cooperation, score, payoff, ...")] = "cooperation",
    contrast: Annotated[
        str, typer.Option(help="What is compared: agent, or a factor of the study.")
    ] = "agent",
    framing: Annotated[
        list[str] | None,
        typer.Option(help="A factor that only changes the wording (default: those that vary agent.framing)."),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Only these agents (default: all that are no scripts).")
    ] = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Say which conclusions hold in every framing.

    The variance of an outcome is decomposed into what the wording and other factors explain.
    """
    from ostrom.analysis.registered import standing
    from ostrom.data.rundata import run_data
    from ostrom.features.robustness.robustness import robustness as robustness_of
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened, run_data(opened.rows, opened.folder.path, opened.manifest) as data:
        found = robustness_of(
            data, framing or None, outcome=outcome, contrast=contrast, agents=tuple(agent or ())
        )
        registered = standing([data])
    print_answer(found.as_dict(), registered, lambda: _show(found), json=json)


def _show(result: Robustness) -> None:
    if result.shares is not None:
        rows = [
            [
                "seeds and the rest" if line.source == "residual" else line.source,
                f"{line.share:.3f}",
                f"{line.adjusted.value:.3f}",
                line.adjusted.interval_text or "",
            ]
            for line in result.shares.shares
        ]
        print_table(
            f"Where the variance of {result.outcome} comes from ({result.rows} players in matches)",
            ["source", "share", "adjusted", "95 % CI of adjusted"],
            rows,
        )
    if result.conclusions:
        print_table(
            "What holds in every framing",
            ["where", "conclusion", "difference", "95 % CI", "survives", "not in"],
            [
                [
                    ", ".join(f"{k} {v}" for k, v in line.within.items()) or "everywhere",
                    str(line),
                    f"{line.difference.value:+.3f}",
                    line.difference.interval_text or "",
                    line.survives or "-",
                    "; ".join(line.exceptions[:3])
                    + (f"; and {len(line.exceptions) - 3} more" if len(line.exceptions) > 3 else ""),
                ]
                for line in result.conclusions
            ],
        )
    for note in (*([f"survives: {result.control}"] if result.control else []), *result.notes):
        say(note)
