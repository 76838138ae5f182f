"""What a run found, as the pages ask for it: the same figures as the commands, by any two columns."""

import re
import time
from pathlib import Path

import pytest
from tests.view.runs import talk
from tests.view.viewed import Viewed, viewed

from ostrom.engine.folder import Folder
from ostrom.view.figures import answered


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("figures"), seeds=2)


def test_figures_of_a_run_that_is_played_may_be_behind_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.view.figures.PATIENT", 1e9)
    folder = talk(tmp_path)
    asked = {"asked": "heat", "folder": str(folder), "measure": "score", "rows": "", "columns": ""}
    assert answered(asked)["behind"] == 0
    told = folder / "tables.json"
    told.write_text(re.sub(r'"entries": (\d+)', lambda m: f'"entries": {int(m[1]) - 4}', told.read_text()))
    before = (folder / "matches.parquet").stat().st_mtime_ns
    player = Folder(folder)
    player.lock()
    try:
        assert answered(asked)["behind"] == 4
        assert (folder / "matches.parquet").stat().st_mtime_ns == before
    finally:
        player.unlock()
    assert answered(asked)["behind"] == 0


def computed(server: Viewed, path: str) -> str:
    """A page once its figures are there; until then it asks for itself again."""
    page, end = server.page(path), time.monotonic() + 600
    while "Computing" in page and time.monotonic() < end:
        assert f'hx-get="{path.replace("&", "&amp;")}"' in page
        time.sleep(0.05)
        page = server.page(path)
    return page


@pytest.mark.slow
def test_a_page_waits_for_its_figures_and_gets_them(folder: Path) -> None:
    with viewed(folder.parent) as server:
        page = computed(server, "/run/talk/heat?measure=cooperation&rows=rounds&columns=agent")
        assert '<td class="h10"><a href="/run/talk/matches?level.rounds=2&amp;agent=anna"' in page
        assert "n = 6" in page
        missing = computed(server, "/run/talk/heat?measure=nonsense")
        assert "ostrom:" in missing and "nonsense" in missing
