"""`ostrom transcript`: what was asked and answered in a match."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import Json, RunName, Runs
from ostrom.cli.output import cell, print_json, write


def transcript(
    run: RunName,
    match: Annotated[int, typer.Option(help="Which match, as numbered in the tables.")] = 0,
    round: Annotated[int | None, typer.Option(help="This round alone.")] = None,
    player: Annotated[int | None, typer.Option(help="This player alone, counted from 1.")] = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Show a match as it was said: every prompt and every reply.

    Each reply stands with how it was read.
    """
    from ostrom.features.transcript.transcript import ended_early
    from ostrom.features.transcript.transcript import transcript as told
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened:
        decisions = list(told(opened, match, number=round, player=player))
        unit = opened.plan.unit(match)
        state, reason, _, facts = opened.journal.ended(match) or ("open", None, None, {})
        head = {
            "run": opened.name, "match": match, "game": unit.game.name, "mechanism": unit.mechanism.name,
            "seed": unit.seed, **unit.cell, "state": state, "reason": reason or ended_early(facts),
        }  # fmt: skip
    if json:
        print_json({**head, "decisions": decisions})
        return
    write(", ".join(f"{name} {cell(value)}" for name, value in head.items() if value is not None))
    for decision in decisions:
        _print(decision)


def _print(decision: dict[str, Any]) -> None:
    where = f"step {decision['step']}" if decision["round"] is None else f"round {decision['round']}"
    write(
        f"\n=== {where}, player {decision['player']} ({decision['agent']}): "
        f"{decision['stage'] or decision['kind'] or 'no answer'}"
    )
    shown: list[dict[str, str]] = []
    for call in decision["calls"]:
        # A second try repeats what the first one said: only what is new is shown.
        fresh = (
            call["messages"][len(shown) :] if call["messages"][: len(shown)] == shown else call["messages"]
        )
        shown = call["messages"]
        for message in fresh:
            write(f"\n--- {message['role']}\n{message['content']}")
        write(f"\n--- {_about(call)}")
        if call["reasoning"]:
            write(f"<reasoning>\n{call['reasoning']}\n</reasoning>")
        write(call["error"] if call["reply"] is None else call["reply"])
    if decision["answer"] is not None:
        paid = "" if decision["payoff"] is None else f", paid {cell(decision['payoff'])}"
        if decision["agreed"]:
            paid += f", of this {cell(decision['agreed'])} by agreement or fine"
        write(f"\n=> {decision['said']} ({decision['reading']}{paid})")


def _about(call: dict[str, Any]) -> str:
    from ostrom.features.transcript.transcript import tried

    told = [str(call["model"]), tried(call)]
    if call["tokens_in"] is not None:
        told.append(f"{call['tokens_in']} tokens in, {cell(call['tokens_out'])} out")
    told.append(f"{call['latency']:.2f} s")
    return ", ".join(told)
