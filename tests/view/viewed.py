"""A viewer on loopback in a thread of its own, and somebody who asks it over HTTP."""

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from ostrom.view.viewer import serve_view
from ostrom.web.server import listen_on


class Viewed:
    """A viewer that is served."""

    def __init__(self, port: int) -> None:
        self.port, self.said = port, list[str]()
        """What it wrote to the terminal."""

    @property
    def base(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            body = None if form is None else urlencode(form)
            if form is not None:
                sent = {"content-type": "application/x-www-form-urlencoded", **sent}
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            text = reply.read().decode("utf-8", "replace")
            return reply.status, text, {name.lower(): value for name, value in reply.getheaders()}
        finally:
            connection.close()

    def page(self, path: str, **headers: str) -> str:
        """A page that must be there."""
        status, text, _ = self.ask(path, "GET", None, **headers)
        assert status == 200, (status, text, self.said)
        return text


@contextmanager
def viewed(runs: Path, password: str | None = None) -> Iterator[Viewed]:
    """A viewer of these runs."""
    listening = listen_on("127.0.0.1", 0)
    made = Viewed(listening.getsockname()[1])
    started, loops = threading.Event(), list[asyncio.AbstractEventLoop]()
    tasks = list[asyncio.Task[None]]()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        tasks.append(asyncio.create_task(serve_view(runs, listening, password, (), made.said.append, started.set)))
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(300)
    try:
        yield made
    finally:
        loops[0].call_soon_threadsafe(tasks[0].cancel)
        thread.join(300)
        listening.close()
        assert not thread.is_alive(), "the viewer did not end"
