"""`ostrom pilot`: simulated participants go through a study with people."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.ending import spent, spent_data
from ostrom.cli.options import BUDGET, Json, Presets, Runs, Sets, say_allowed, with_play_options
from ostrom.cli.output import print_json, print_table, say
from ostrom.engine.play_options import PlayOptions

if TYPE_CHECKING:
    from ostrom.people.piloting import Through


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "cache", "allow_key")
def pilot(
    study: Annotated[str, typer.Argument(help="A study with people: its file (YAML) or its name.")],
    people: Annotated[int, typer.Option(help="How many participants come.", min=1, max=100_000)] = 40,
    model: Annotated[
        str | None, typer.Option(help="The model that decides for them: provider/model or a URL.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="The strategy that decides for them (default: random).")
    ] = None,
    dropout: Annotated[
        float, typer.Option(help="The share of participants who drop out on the way.", min=0, max=1)
    ] = 0.0,
    miss: Annotated[
        float, typer.Option(help="The share of decisions with a time limit that are missed.", min=0, max=1)
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="The seed of their answers and of who drops out.", min=0)] = 0,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Keep the waiting times of the study (people.time.reveal).")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Through the real pages, in the chromium of this machine.")
    ] = False,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the run (default: that of the study, with -pilot).")
    ] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
    json: Json = False,
) -> None:
    """Let simulated participants through the same visit as people, into a run of its own.

    Consent, quiz and questions are answered by chance; actions by a model or a strategy. The tables, measures and
    reports are those of a real run, so the whole analysis can be tried before anybody is recruited.
    """
    from ostrom.engine.folder import check_name
    from ostrom.ground.errors import UsageError
    from ostrom.people.piloting import pilot as play
    from ostrom.people.piloting import pilot_agent
    from ostrom.people.simulated import Crowd
    from ostrom.studies.load import folder_of, read_study
    from ostrom.studies.resolve import resolve

    say_allowed(options.allow_key, [model] if model else None, set_)
    if not read_study(study)[0].get("people"):
        raise UsageError(f"{study}: has no section 'people'; `ostrom run` plays it")
    changes = [*(set_ or ()), *(() if real_time else ("people.time.reveal=null",))]
    found = resolve(study, preset=preset, changes=changes, options=options)
    crowd = Crowd(people, pilot_agent(found.plan, model, strategy), dropout, miss, seed)
    called = check_name(name or f"{found.plan.name}-pilot")
    through: Through | None = None
    if browser:
        from ostrom.people.pilot_server import browse

        through = partial(browse, study=folder_of(study))
    result, told = play(found.plan, crowd, name=called, runs=runs, options=options, through=through)
    if json:
        print_json({"run": str(runs / called), **told, **spent_data(result.tally)})
        return
    ends = sorted({end for cell in told["cells"].values() for end in cell})
    print_table(
        f"{called}: visits by cell",
        ["cell", *ends],
        [[cell, *(counts.get(end, 0) for end in ends)] for cell, counts in told["cells"].items()],
    )
    shares = ", ".join(f"{count} {end}" for end, count in sorted(told["ends"].items()))
    say(f"{told['people']} participants: {shares}; {spent(result.tally)}")
    say(f"run: {runs / called}")
