"""`ostrom more infer`: which strategies the agents of a run followed."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import Runs, opened_runs, standing
from ostrom.cli.output import Output, Remark, TextItem, TextTable
from ostrom.features.inference.repeated_play import DEFAULT_CANDIDATES, named_candidates
from ostrom.features.inference.runs import AgentFrequencies, infer_strategies

UNSEEN = 0.0005
"""Weights below this round to zero and are listed in one line."""


def infer(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    agent: Annotated[list[str] | None, typer.Option(help="Only these agents (default: all).")] = None,
    strategies: Annotated[
        list[str] | None,
        typer.Option(help="Candidates, as tit_for_tat,grim,random:0.5 (default: the set that is printed)."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="A column to estimate every level of apart (default: pooled).")
    ] = None,
    unit: Annotated[
        str, typer.Option(help="Who holds one strategy: a player in a match, or an agent for good (player).")
    ] = "match",
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap samples.")] = 1000,
    compare: Annotated[
        bool, typer.Option(help="Refit without each candidate in turn, which takes most of the time.")
    ] = True,
    runs: Runs = Path("runs"),
) -> Output:
    """Estimate which strategies the agents of a run followed.

    Shares of strategies and memory-one responses, from repeated matches of two players.
    """
    candidates = named_candidates(strategies) if strategies else DEFAULT_CANDIDATES
    with opened_runs([run], runs) as [data]:
        inference = infer_strategies(
            data, agents=tuple(agent or ()), candidates=candidates, by=tuple(by or ()),
            unit=unit, resamples=resamples, compare=compare,  # type: ignore[arg-type]
        )  # fmt: skip
        registered = standing([data])
    rows = [
        [
            _where(table.within, table.agent),
            line.state,
            line.over_rounds and line.over_rounds.value,
            _interval(line.over_matches) or line.note,
            _interval(line.over_rounds),
            line.cooperations,
            line.n,
            line.n_matches,
        ]
        for table in inference.responses
        for line in table.table.responses
    ]
    responses = TextTable(
        "Chance of cooperating after what happened last (own move, other's move)",
        ["agent", "after", "P(C)", "95 % CI (matches)", "Wilson (rounds)", "C", "rounds", "matches"],
        rows,
    )
    return Output(
        inference.as_dict(),
        [
            f"Candidates: {', '.join(inference.candidates)}",
            *chain.from_iterable(map(_estimate_text, inference.estimates)),
            responses,
            *map(Remark, inference.notes),
        ],
        standing=registered,
    )


def _estimate_text(estimate: AgentFrequencies) -> Iterator[TextItem]:
    who = _where(estimate.within, estimate.agent or "all agents")
    frequencies = estimate.frequencies
    if frequencies is not None:
        losses = {line.strategies: line for line in estimate.left_out}
        weights = [w for w in frequencies.weights if max(w.share.value, w.share.high or 0.0) >= UNSEEN]
        yield TextTable(
            f"{who}: {frequencies.n_units} units ({frequencies.unit}), {frequencies.n_choices} moves, error "
            f"{frequencies.error.value:.4f} ({_interval(frequencies.error)}), log-likelihood "
            f"{frequencies.log_likelihood:.2f}, BIC {frequencies.bic:.2f}",
            ["strategy", "weight", "SE", "95 % CI", "BIC loss without", "p (Holm)"],
            [
                [
                    w.name if w.determined else f"{w.name} *",
                    w.share.value,
                    w.share.se,
                    _interval(w.share),
                    losses[w.strategies].bic_loss if w.strategies in losses else None,
                    _p(losses[w.strategies].p_holm) if w.strategies in losses else None,
                ]
                for w in sorted(weights, key=lambda w: -w.share.value)
            ],
        )
        unseen = [w.name for w in frequencies.weights if w not in weights]
        if unseen:
            yield Remark(f"{who}: no weight on {'; '.join(unseen)}")
    yield from (Remark(f"{who}: {note}") for note in estimate.notes)


def _where(within: Any, agent: str) -> str:
    return ", ".join([*(f"{name} {level}" for name, level in within.items()), agent])


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _interval(ci: Any) -> str:
    return "" if ci is None else f"{ci.low:.3f} to {ci.high:.3f}"
