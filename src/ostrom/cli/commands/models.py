"""`ostrom models`: check a model, download embedded ones, list names."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import typer

from ostrom.cli.options import PlayOptions, say_allowed, with_play_options
from ostrom.cli.output import Output, TextTable
from ostrom.ground import loop

models = typer.Typer(help="Language models: check one, list them, fetch embedded ones.", no_args_is_help=True)


@models.command("check")
@with_play_options("allow_key")
def check(
    name: Annotated[str, typer.Argument(help="A model: provider/model or http://host:port/v1#model")],
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for a server to start, and for its reply.", min=0.1)
    ] = 60.0,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Does a model answer? Make one call, and one that offers a tool."""
    from ostrom.ground.errors import StudyError, TimedOut
    from ostrom.models import open_model
    from ostrom.models.check import calls_tools, probe
    from ostrom.models.serving.client import is_started

    say_allowed(options.allow_key, name)

    async def once() -> dict[str, Any]:
        started = is_started(name, {})
        settings = {"start": timeout, "timeout": timeout} if started else {}
        model = tooled = open_model(name, **settings)
        with suppress(StudyError):  # a server that may call tools is asked, known or not
            tooled = model if model.abilities.tools else open_model(name, **settings, abilities=["tools"])
        # Embedded and scripted models answer, however long it takes; a started server reports what it lacks.
        unbound = started or name.startswith(("embedded/", "scripted/"))
        try:
            async with asyncio.timeout(None if unbound else timeout):
                return await probe(model) | {"tools": await calls_tools(tooled)}
        except TimeoutError:
            raise TimedOut(f"{name} gave no reply within {timeout:g} s") from None
        finally:
            await tooled.close()
            await model.close()

    return Output(loop.run(once()))


@models.command("fetch")
def fetch(name: Annotated[str, typer.Argument(help="smollm2-135m | qwen2.5-coder-1.5b")] = "smollm2-135m") -> Output:
    """Fetch the weights of an embedded model into the user's cache."""
    from ostrom.models.embedded.weights import bar
    from ostrom.models.embedded.weights import fetch as fetch_weights

    with bar(f"fetching {name}") as progress:
        path = fetch_weights(name.removeprefix("embedded/"), progress)
    return Output({"model": name, "file": str(path)}, [str(path)])


@models.command("list")
def list_models() -> Output:
    """List the providers and models that are known by name."""
    from ostrom.models import model_names

    names = list(model_names())
    return Output(names, [TextTable("", ["model"], [[n] for n in names])])
