"""`ostrom play`: a person at the terminal against a strategy or a model."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import PlayOptions, with_play_options
from ostrom.cli.output import Output, TextTable


@with_play_options("allow_key")
def play(
    game: Annotated[str, typer.Argument(help="A game of the catalog, or a file.")],
    against: Annotated[list[str] | None, typer.Option(help="A strategy or a model, one for each other seat.")] = None,
    rounds: Annotated[int, typer.Option(help="How many rounds.", min=1)] = 5,
    seat: Annotated[int, typer.Option(help="Your seat, from 1.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="The seed of chance.")] = 0,
    options: PlayOptions = PlayOptions(),  # noqa: ARG001
) -> Annotated[Output, "Print the match as JSON at the end."]:
    """Play a game yourself."""
    from ostrom.engine.rows import Row
    from ostrom.games import build_game
    from ostrom.ground.errors import UsageError
    from ostrom.ground.python_files import allow_typed, bind_code_parts
    from ostrom.ground.validation import validate
    from ostrom.ground.values import grouped
    from ostrom.studies.run import open_run
    from ostrom.studies.run import play as play_study
    from ostrom.studies.schema import StudyFile

    allow_typed(game, *(against or ()))
    played = bind_code_parts(game, Path(), "game")
    seats = build_game(played).seats
    against = against or ["tit_for_tat"]
    others = against * (seats - 1) if len(against) == 1 else against
    if len(others) != seats - 1 or seat > seats:
        raise UsageError(f"{game} has {seats} seats: name {seats - 1} others with --against, --seat 1 to {seats}")
    names = [other if others.count(other) == 1 else f"{other} ({n})" for n, other in enumerate(others, 1)]
    types: dict[str, Any] = {
        name: {"model": other, "style": "direct"} if "/" in other else {"strategy": other}
        for name, other in zip(names, others, strict=True)
    } | {"you": {"person": True, "style": "direct"}}
    order = [*names[: seat - 1], "you", *names[seat - 1 :]]
    study = validate(
        StudyFile,
        {
            "name": "play",
            "game": played,
            "mechanism": {"name": "repetition", "rounds": rounds, "told_rounds": True},
            "types": bind_code_parts({name: types[name] for name in order}, Path(), "--against", "types"),
            "seating": "seats",
            "seed": seed,
        },
        "play",
    )
    with tempfile.TemporaryDirectory() as folder:
        play_study(study, name="play", runs=folder)
        with open_run(Path(folder) / "play") as run:
            rows: list[Row] = list(run.rows.decisions())
            scores: list[Row] = list(run.rows.matches())
            _, outcome, _ = run.rows.replayed(run.plan.unit(0))
    stages: dict[int, list[str | None]] = {
        player: list(dict.fromkeys(row.get("stage") for row in rows if row["player"] == player))
        for player in range(1, seats + 1)
    }
    done = grouped(((row["round"], row["player"], row.get("stage")), row["action"]) for row in rows)
    heads = ["round"]
    for player, name in enumerate(order, 1):
        several = len(stages[player]) > 1
        points = "points" if stages[player] else f"points of {name}"
        heads += [*(f"{name}: {stage}" if several else name for stage in stages[player]), points]
    table = [
        [played.number, *(
            cell for player in stages for cell in (
                *(", ".join(done.get((played.number, player, stage), ())) or None for stage in stages[player]),
                played.payoffs[player - 1],
            )
        )]
        for played in (outcome.played if outcome else ())
    ]  # fmt: skip
    return Output(
        {"decisions": rows, "scores": scores},
        [
            TextTable("The match", heads, table),
            TextTable("Mean points per round", ["player", "mean"], [[s["agent"], s["score"]] for s in scores]),
        ],
    )
