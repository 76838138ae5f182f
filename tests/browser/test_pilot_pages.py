"""Simulated participants go through the built-in study in a real browser, by the pages that people see."""

from pathlib import Path
from typing import Any

from tests.browser.conftest import apart
from tests.browser.pilot_pages import BrowserHost, browse

from ostrom.engine.folder import Folder
from ostrom.people.host import Host
from ostrom.people.pilot import Crowd, host_plan, pilot_agent, summary
from ostrom.studies.files import folder_of
from ostrom.studies.resolve import resolve

STUDY = "repeated-games-people"


def test_the_built_in_study_is_played_through_its_pages(chromium: dict[str, Any], tmp_path: Path) -> None:
    plan = resolve(STUDY, preset="smoke", changes=["people.time.reveal=null"]).plan
    crowd = Crowd(2, pilot_agent(plan, None, None))
    ends: dict[str, Any] = {}

    async def serve(host: Host, folder: Folder) -> None:
        assert isinstance(host, BrowserHost)
        await browse(host, folder, crowd, 1, folder_of(STUDY), chromium)
        ends.update(summary(host))

    apart(host_plan, plan, serve, name="pilot", runs=tmp_path, hosts=BrowserHost)
    assert ends["people"] == 2 and ends["ends"] == {"done": 2}
