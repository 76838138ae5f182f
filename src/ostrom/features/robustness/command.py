"""`ostrom more robustness`: how much an outcome depends on the wording, and which conclusions hold in all wordings."""

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Runs, opened_runs, standing
from ostrom.cli.output import Output, Remark, TextTable


def robustness(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    outcome: Annotated[str, typer.Option(help="A measure: cooperation, score, payoff, ...")] = "cooperation",
    contrast: Annotated[str, typer.Option(help="What is compared: agent, or a factor of the study.")] = "agent",
    framing: Annotated[
        list[str] | None,
        typer.Option(help="A factor that only changes the wording (default: those that vary agent.framing)."),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Only these agents (default: all that are no scripts).")
    ] = None,
    runs: Runs = Path("runs"),
) -> Output:
    """Say which conclusions hold in every framing.

    The variance of an outcome is decomposed into what the wording and other factors explain.
    """
    from ostrom.features.robustness.robustness import robustness as robustness_of

    with opened_runs([run], runs) as [data]:
        result = robustness_of(data, framing or None, outcome=outcome, contrast=contrast, agents=tuple(agent or ()))
        registered = standing([data])
    shares = [
        [
            "seeds and the rest" if line.source == "residual" else line.source,
            f"{line.share:.3f}",
            f"{line.adjusted.value:.3f}",
            line.adjusted.interval_text or "",
        ]
        for line in (result.shares.shares if result.shares is not None else ())
    ]
    conclusions = [
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
    ]
    return Output(
        result.as_dict(),
        [
            TextTable(
                f"Where the variance of {result.outcome} comes from ({result.rows} players in matches)",
                ["source", "share", "adjusted", "95 % CI of adjusted"],
                shares,
            )
            if result.shares is not None
            else None,
            TextTable(
                "What holds in every framing",
                ["where", "conclusion", "difference", "95 % CI", "survives", "not in"],
                conclusions,
            )
            if conclusions
            else None,
            Remark(f"survives: {result.control}") if result.control else None,
            *map(Remark, result.notes),
        ],
        standing=registered,
    )
