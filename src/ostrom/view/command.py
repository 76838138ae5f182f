"""`ostrom view`: every run, match, prompt and reply in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.output import say


def view(
    runs: Annotated[
        Path, typer.Argument(help="The folder of all runs, or one run.", envvar="OSTROM_RUNS")
    ] = Path("runs"),
    port: Annotated[
        int, typer.Option(help="The port to listen on (0: any free one).", min=0, max=65535)
    ] = 7400,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's own needs a password.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="With --host: a name under which browsers reach this machine; may be repeated."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Look at runs in a browser, also while they are played; nothing is written to a journal.

    Where other machines can reach the address, a password is needed: OSTROM_VIEW_PASSWORD.
    """
    import asyncio

    from ostrom.ground.errors import OstromError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise OstromError(f"this needs {error.name}: pip install 'ostrom[web]'") from None
    from ostrom.view.serving import address_of, bound, serve_view
    from ostrom.view.shelf import Shelf

    Shelf(runs)
    listening, password = bound(host, port)
    address = address_of(listening)

    def ready() -> None:
        say(f"runs of {runs}: {address} (Ctrl-C ends it)")
        if open_:
            import webbrowser

            webbrowser.open(address)

    with listening:
        asyncio.run(serve_view(runs, listening, password, tuple(name or ()), say, ready))
