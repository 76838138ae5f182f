"""What a run found, as the pages ask for it: the same figures as the commands, by any two columns."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.view.runs import talk
from tests.view.viewed import Viewed, viewed

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.engine.folder import Folder
from ostrom.ground.errors import OstromError
from ostrom.studies.run import open_run
from ostrom.view.figures import answered


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("figures"), seeds=2)


@pytest.mark.slow
def test_a_heat_table_has_the_estimates_of_the_command(folder: Path) -> None:
    asked = {"asked": "heat", "folder": str(folder), "measure": "score", "rows": "rounds", "columns": "agent"}
    told = answered(asked)
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest) as data:
        expected = {
            tuple(e.key.values()): (e.value, e.n) for e in estimate(data, "score", ["rounds", "agent"])
        }
    assert {tuple(c["key"]): (c["value"], c["n"]) for c in told["cells"]} == expected
    assert (told["down"], told["across"], told["behind"]) == ([2, 3], ["anna", "tft"], 0)
    some = answered({**asked, "columns": "", "where": {"agent": ["tft"], "rounds": ["3"]}})
    assert [tuple(c["key"]) for c in some["cells"]] == [(3,)] and some["across"] == [None]
    assert answered({**asked, "where": {"agent": ["nobody"]}})["cells"] == []
    with pytest.raises(OstromError, match="no_such_column"):
        answered({**asked, "rows": "no_such_column"})


@pytest.mark.slow
def test_the_first_screen_names_what_can_be_chosen(folder: Path) -> None:
    told = answered({"asked": "first", "folder": str(folder)})
    assert list(told["columns"]) == ["rounds", "agent"]
    assert {"cooperation", "score", "first_defection"} <= {one["name"] for one in told["measures"]}
    assert told["findings"][0].partition(":")[0] in ("NO", "NOT DECIDED") or told["findings"][0].startswith(
        "YES"
    )


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


@pytest.mark.slow
@pytest.mark.pictures
def test_the_chart_of_a_run_is_drawn_for_a_phone_as_well(folder: Path) -> None:
    (figure,) = answered({"asked": "chart", "folder": str(folder)})["figures"]
    wide, narrow = figure["svg"].split('<div class="narrow">')
    sizes = [
        float(found[1])
        for part in (wide, narrow)
        if (found := re.search(r'<svg[^>]*? width="([\d.]+)"', part))
    ]
    assert 'class="wide"' in wide and len(sizes) == 2
    assert sizes[1] <= 359 < sizes[0]
