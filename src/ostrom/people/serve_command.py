"""`ostrom serve`: people take part in a study in their browsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import BUDGET, Presets, Runs, Sets, say_allowed, with_play_options
from ostrom.cli.output import say
from ostrom.engine.play_options import PlayOptions

if TYPE_CHECKING:
    from ostrom.engine.folder import Folder
    from ostrom.people.host import Host


@with_play_options(*BUDGET, "prompts", "prices", "cache", "allow_key")
def serve(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    port: Annotated[int, typer.Option(help="The port for participants.", min=0, max=65535)] = 8000,
    public: Annotated[
        str | None,
        typer.Option(help="How browsers reach the server: https://HOST (a reverse proxy in front)."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    admin_port: Annotated[
        int | None, typer.Option(help="The port of the admin page (default: the next one).", min=0, max=65535)
    ] = None,
    joins_a_minute: Annotated[
        int,
        typer.Option(help="How many people may join from one address in a minute (a lab needs more).", min=1),
    ] = 120,
    test: Annotated[bool, typer.Option(help="All visits are tests: marked, and never counted.")] = False,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the run (default: that of the study).")
    ] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> None:
    """Serve a study with people; the same command goes on after a stop, a crash or a restart.

    The admin page needs a password where it can be reached from elsewhere: OSTROM_ADMIN_PASSWORD.
    """
    from ostrom.engine.folder import check_name
    from ostrom.people.hosting import host_plan
    from ostrom.people.server import Listening, listening, serve_people
    from ostrom.studies.load import folder_of
    from ostrom.studies.resolve import resolve

    say_allowed(options.allow_key, None, set_)
    found = resolve(study, preset=preset, changes=set_ or (), options=options)
    where: Listening = listening(host, port, admin_port, public)

    async def run(people: Host, folder: Folder) -> None:
        await serve_people(people, folder, where, folder_of(study), say, joins_a_minute)

    with where:
        host_plan(
            found.plan, run, name=check_name(name or found.plan.name), runs=runs, options=options, test=test
        )
    say(f"stopped; the same command goes on. run: {runs / (name or found.plan.name)}")
