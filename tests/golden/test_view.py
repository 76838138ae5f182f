"""Every kind of page of the viewer, over kept runs."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.golden.conftest import Golden, place
from tests.golden.normalise import normalised
from tests.golden.render import outline

from ostrom.engine.folder import Folder
from ostrom.ground.errors import OstromError
from ostrom.view.figures import answered
from ostrom.view.index_writer import update
from ostrom.view.shelf import RunsFolder
from ostrom.view.viewer import Viewer
from ostrom.web.security import Gatekeeper

PAGES: dict[str, str] = {
    "runs": "/",
    "run": "/run/plain",
    "run-asked": "/run/asked",
    "run-people": "/run/people-pilot",
    "run-amounts": "/run/amounts",
    "run-registered": "/run/plan",
    "run-joined": "/run/parts",
    "first": "/run/plain/first",
    "first-registered": "/run/plan/first",
    "heat": "/run/plain/heat?measure=cooperation&rows=agent&columns=game",
    "heat-score": "/run/pd-tournament/heat?measure=score&rows=agent&columns=opponents",
    "chart": "/run/plain/chart",
    "matches": "/run/plain/matches",
    "matches-filtered": "/run/asked/matches?agent=one&sort=score&desc=1",
    "matches-amounts": "/run/amounts/matches",
    "matches-turns": "/run/turns/matches",
    "match": "/run/talk/match/0",
    "match-strategies": "/run/plain/match/0",
    "match-decision": "/run/asked/match/2?round=2&player=1",
    "match-tools": "/run/tools/match/0",
    "match-negotiation": "/run/negotiation/match/1",
    "match-society": "/run/society/match/0",
    "match-none": "/run/plain/match/999",
    "decision-text": "/run/talk/match/0/decision.txt?round=1&player=1",
    "decision-json": "/run/talk/match/0/decision.json?round=1&player=1",
    "transcript": "/run/talk/match/0/transcript.txt",
    "call-prompt": "/run/talk/call/1/prompt",
    "call-reply": "/run/talk/call/1/reply",
    "beside": "/run/branch/beside",
    "beside-run": "/run/branch/beside/talk",
    "beside-pair": "/run/branch/beside/talk/0/0",
    "search-empty": "/run/talk/search",
    "search": "/run/talk/search?q=reputation",
    "search-phrase": "/run/talk/search?q=%22good+reputation%22+-other",
    "strip": "/run/talk/strip",
    "report-none": "/run/plain/report/index.html",
    "unknown-run": "/run/nothing",
    "unknown-page": "/nothing",
    "static-none": "/static/none.js",
}
RUNS = (
    "plain", "asked", "people-pilot", "amounts", "plan", "parts", "parts.1-of-2", "parts.2-of-2", "pd-tournament",
    "turns", "talk", "branch", "tools", "negotiation", "society",
)  # fmt: skip


PORT = 7400


class Pages:
    """The application of the viewer in this process, with whatever it lets other processes do done at once."""

    def __init__(self, home: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.home, self.loop = home, loop
        self.viewer = loop.run_until_complete(self._viewer())
        self.app = self.viewer.app()

    async def _viewer(self) -> Viewer:
        viewer = Viewer(RunsFolder(self.home / "runs"), Gatekeeper(None, {PORT}))
        viewer.figures.ask = self._figures  # type: ignore[method-assign]
        viewer.indexers.start = self._index  # type: ignore[method-assign]
        viewer.watching.poll()
        return viewer

    async def _figures(self, journal: object, **request: Any) -> dict[str, Any] | None:
        try:
            reply = answered(orjson.loads(orjson.dumps(request)))
        except OstromError as error:
            reply = {"problem": str(error)}
        document: dict[str, Any] = orjson.loads(orjson.dumps(reply, option=orjson.OPT_NON_STR_KEYS, default=str))
        return document

    def _index(self, folder: Folder) -> None:
        update(folder.path, path=self.viewer.indexers.path(folder))

    def ask(self, address: str) -> tuple[int, str, str]:
        """Status, type and text of a page, once the lists that it shows are read."""
        self.loop.run_until_complete(self._ask(address))
        for thread in list(self.viewer.shelf._filling.values()):
            thread.join()
        return self.loop.run_until_complete(self._ask(address))

    async def _ask(self, address: str) -> tuple[int, str, str]:
        path, _, query = address.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(b"host", f"127.0.0.1:{PORT}".encode())], "scheme": "http", "root_path": "",
            "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1), "http_version": "1.1",
            "asgi": {"version": "3.0"},
        }  # fmt: skip
        messages: list[Any] = []

        requests = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not requests:
                await asyncio.Event().wait()  # nobody leaves before the end
            return requests.pop()

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in messages[1:])
        return messages[0]["status"], headers.get("content-type", ""), body.decode()


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    home = Path(tempfile.mkdtemp(prefix="golden-", dir=Path("/tmp").resolve()))
    place(home, RUNS)
    loop = asyncio.new_event_loop()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)  # a study names its game file relative to the folder that it is played in
        server = Pages(home, loop)
        yield server
        server.viewer.indexers.close()
        server.viewer.shelf.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("case", PAGES)
def test_view(case: str, pages: Pages, golden: Golden) -> None:
    status, kind, text = pages.ask(PAGES[case])
    shown = outline(text) if "html" in kind else text
    golden(normalised(f"GET {PAGES[case]}\n{status} {kind}\n----\n{shown}", pages.home))
