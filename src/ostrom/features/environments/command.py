"""`ostrom more openenv`: a study as an OpenEnv server."""

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import BUDGET, Models, PlayOptions, Presets, Runs, Seeds, Sets, with_play_options
from ostrom.cli.output import print_stderr
from ostrom.ground.errors import UsageError

PASSWORD = "OSTROM_ENVIRONMENT_PASSWORD"
LARGEST = 4_194_304
"""The largest message of a client, in bytes."""


@with_play_options(*BUDGET, "prompts", "prices", "cache", "allow_key", "allow_command")
def openenv(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    seeds: Seeds = None,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    sessions: Annotated[int, typer.Option(help="How many clients may play at a time.", min=1, max=10_000)] = 64,
    name: Annotated[
        str | None, typer.Option(help="Keep the matches as this run, each once (default: nothing is kept).")
    ] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> None:
    """Serve a study as an OpenEnv environment.

    Its players with the model outside/NAME are asked through OpenEnv clients; the score of a match is the reward.

    Another address than this machine's needs a password, which clients send as a bearer token:
    OSTROM_ENVIRONMENT_PASSWORD.
    """
    from ostrom.api import Study
    from ostrom.features.environments import Environment
    from ostrom.ground import loop
    from ostrom.studies.resolve import resolve

    resolved = resolve(study, preset=preset, changes=set_ or (), models=model or (), seeds=seeds, options=options)
    try:
        from ostrom.web.server import LOCAL, listen_on, password_in, serve

        password = password_in(PASSWORD, host)
        from ostrom.features.environments.integrations.openenv import application
    except ImportError as error:
        raise UsageError(f"{error.name} is missing: pip install openenv") from None
    with (
        listen_on(host, port) as bound,
        Environment(Study(resolved.plan, resolved.options), name=name, runs=runs) as environment,
    ):
        number = bound.getsockname()[1]
        hosts = {f"{local}:{number}" for local in ("127.0.0.1", "localhost", "[::1]")}
        app = application(environment, sessions, hosts=hosts if host in LOCAL else None, password=password)
        print_stderr(f"{resolved.plan.name}: {len(environment.matches):,} matches on http://{host}:{number}")
        loop.run(serve([(app, bound)], ws="auto", lifespan="on", ws_max_size=LARGEST))
