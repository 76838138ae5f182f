"""`ostrom transcript`: the prompts and replies of a match."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import RunName, Runs
from ostrom.cli.output import Output, cell
from ostrom.ground.errors import UsageError


def transcript(
    run: RunName,
    number: Annotated[
        int | None, typer.Argument(metavar="MATCH", help="Which match, as numbered in the tables.", show_default="0")
    ] = None,
    match: Annotated[int, typer.Option(help="The same as an option.")] = 0,
    round: Annotated[int | None, typer.Option(help="This round alone.")] = None,
    player: Annotated[int | None, typer.Option(help="This player alone, counted from 1.")] = None,
    runs: Runs = Path("runs"),
) -> Output:
    """Show a match as it was said: every prompt and every reply.

    Each reply stands with how it was read.
    """
    from ostrom.features.transcript.transcript import ended_early
    from ostrom.features.transcript.transcript import transcript as decisions_of
    from ostrom.studies.run import open_run

    if number is not None and match not in (0, number):
        raise UsageError(f"{number} and --match {match}: name one match")
    match = match if number is None else number
    with open_run(run, runs) as opened:
        decisions = list(decisions_of(opened, match, number=round, player=player))
        if not decisions:
            raise UsageError(f"match {match} of {opened.name}{f': round {round}' if round else ''} has no decisions")
        unit = opened.plan.unit(match)
        state, reason, _, facts = opened.journal.outcome_of(match) or ("open", None, None, {})
        head = {
            "run": opened.name, "match": match, "game": unit.game.name, "mechanism": unit.mechanism.name,
            "seed": unit.seed, **unit.cell, "state": state, "reason": reason or ended_early(facts),
        }  # fmt: skip
    heading = ", ".join(f"{name} {cell(value)}" for name, value in head.items() if value is not None)
    return Output({**head, "decisions": decisions}, chain([heading], *(map(_lines, decisions))))


def _lines(decision: dict[str, Any]) -> Iterator[str]:
    where = f"step {decision['step']}" if decision["round"] is None else f"round {decision['round']}"
    yield (
        f"\n=== {where}, player {decision['player']} ({decision['agent']}): "
        f"{decision['stage'] or decision['kind'] or 'no answer'}"
    )
    prior: list[dict[str, str]] = []
    for call in decision["calls"]:
        # A retry repeats the earlier messages: only new ones are shown.
        fresh = call["messages"][len(prior) :] if call["messages"][: len(prior)] == prior else call["messages"]
        prior = call["messages"]
        yield from (f"\n--- {message['role']}\n{message['content']}" for message in fresh)
        yield f"\n--- {_about(call)}"
        if call["reasoning"]:
            yield f"<reasoning>\n{call['reasoning']}\n</reasoning>"
        yield str(call["error"] if call["reply"] is None else call["reply"])
    if decision["answer"] is not None:
        paid = "" if decision["payoff"] is None else f", paid {cell(decision['payoff'])}"
        paid += f", of this {cell(decision['agreed'])} by agreement or fine" if decision["agreed"] else ""
        yield f"\n=> {decision['said']} ({decision['reading']}{paid})"


def _about(call: dict[str, Any]) -> str:
    from ostrom.features.transcript.transcript import tried

    counted = call["tokens_in"] is not None
    tokens = [f"{call['tokens_in']} tokens in, {cell(call['tokens_out'])} out"] if counted else []
    return ", ".join([str(call["model"]), tried(call), *tokens, f"{call['latency']:.2f} s"])
