"""The page of a run: complete, offline, escaped, honest when there is little to show."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostrom.data.rundata import RunData
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import RunError, StudyError, UsageError
from ostrom.reports.build import DEFAULT_PANELS, _write, build_report, chosen_panels
from ostrom.reports.declared import panels
from ostrom.reports.panel import Drawn, Panel
from ostrom.studies.run import play
from ostrom.studies.schema import StudyFile

from .conftest import Played, opened, page_of


@pytest.fixture
def own_panels_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report without the default panels, which other tests look at."""
    monkeypatch.setattr("ostrom.reports.build.DEFAULT_PANELS", ())


def test_the_page_loads_nothing_and_runs_nothing(ready: Path) -> None:
    page = page_of(ready)
    assert not page.tags & {"script", "iframe", "object", "embed", "link", "img", "image"}
    outside = [link for link in page.links if not link.startswith("#")]
    assert all((ready.parent / link).exists() for link in outside), outside
    addresses = set(re.findall(r"https?://[^\"'\s<)]+", page.source))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in page.source


def test_ids_are_unique_and_every_reference_has_its_target(ready: Path) -> None:
    page = page_of(ready)
    assert len(page.ids) == len(set(page.ids))
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))
    assert set(re.findall(r"url\(#([^)]+)\)", page.source)) <= set(page.ids)


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(ready: Path) -> None:
    files = sorted(p for p in ready.parent.rglob("*") if p.is_file())
    before = {p: p.read_bytes() for p in files}
    with opened(ready.parent.parent) as data:
        build_report(data)
    assert {p: p.read_bytes() for p in files} == before


@pytest.mark.slow
@pytest.mark.pictures
def test_text_in_figures_is_drawn_with_a_font_that_is_there(played: Played) -> None:
    figure = build_report(played(), ["cooperation"]).path.parent / "figures" / "cooperation.svg"
    assert 'font-family="Liberation Sans, Arial, Helvetica, sans-serif"' in figure.read_text()
    assert "prisoners_dilemma" in page_of(figure).text
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_names_with_markup_and_quotes_stay_text(played: Played) -> None:
    evil = "<script>alert('x')</script>"
    data = played(
        title=f'{evil} & "quotes"',
        about="<img src=x onerror=alert(1)>",
        citation="</dd><b>",
        types={evil: "cooperator", 'a "b" | c': "defector"},
        vary={"<i>": {evil: {"agent.memory.k": 1}, "plain & simple": {"agent.memory.k": 2}}},
    )
    report = build_report(data)
    assert report.failures == ()
    page = page_of(report.path)
    assert not page.tags & {"script", "img", "i", "b"}
    assert f'{evil} & "quotes"' in page.text
    assert "<img src=x onerror=alert(1)>" in page.text
    for name in ("cooperation", "strips"):
        figure = page_of(report.path.parent / "figures" / f"{name}.svg")
        assert "script" not in figure.tags
    table = (report.path.parent / "tables" / "headline.md").read_text()
    assert "<script>" not in table
    assert 'a "b" \\| c' in table


def test_a_run_without_any_match_says_so(played: Played) -> None:
    data = played(limit=0)
    with pytest.raises(UsageError, match=r"no match has ended, so there is nothing to report .so far: 0 of 24 matches"):
        build_report(data)
    assert not (data.folder / "report").exists()


def test_the_study_beside_the_page_plays_the_same_matches(ready: Path, tmp_path: Path) -> None:
    study = StudyFile.model_validate(yaml.safe_load((ready.parent / "study.yaml").read_text()))
    play(study, name="again", runs=tmp_path, options=PlayOptions())
    question = "SELECT match, player, agent, score, cooperation FROM matches ORDER BY match, player"
    with opened(tmp_path / "again") as again, opened(ready.parent.parent) as data:
        assert again.records(question) == data.records(question)


class Broken(Panel):
    """A panel that fails."""

    title = "Broken <b>"

    def draw(self, data: RunData) -> Drawn:
        """Fail."""
        raise ZeroDivisionError("nothing to <i>divide</i>")


class Silent(Panel):
    """A panel that says nothing."""

    title = "Silent"

    def draw(self, data: RunData) -> Drawn:
        """Say nothing."""
        return Drawn()


@pytest.mark.slow
@pytest.mark.usefixtures("own_panels_only")
def test_a_panel_that_fails_is_a_box_on_the_page_and_a_failure_of_the_report(played: Played) -> None:
    panels.add("broken", Broken)
    panels.add("silent", Silent)
    try:
        report = build_report(played(), ["broken", "silent"])
    finally:
        panels.remove("broken")
        panels.remove("silent")
    assert report.failures == ("Broken <b>: ZeroDivisionError: nothing to <i>divide</i>",)
    page = page_of(report.path)
    assert "This panel could not be drawn. ZeroDivisionError: nothing to <i>divide</i>" in page.text
    assert "The panel silent has nothing to show for this run." in page.text
    assert "NOT DECIDED" in page.text


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.usefixtures("own_panels_only")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("cooperaton", "unknown panel 'cooperaton' (did you mean cooperation"),
        ({"name": "cooperation_by", "x": "kk"}, "unknown column 'kk'"),
        ({"name": "cooperation_by"}, "panel cooperation_by needs 'x'"),
        ({"name": "cooperation_by", "x": "k", "panel": "k"}, "must be different columns (found k, k)"),
        ({"name": "cooperation_by", "x": "k", "measure": "luck"}, "unknown measure 'luck'"),
        ({"name": "strips", "matches": 0}, "matches must lie between 1 and 100 (found 0)"),
    ],
)
def test_a_panel_named_wrongly_says_what_is_allowed(played: Played, spec: Any, why: str) -> None:
    report = build_report(played(), [spec])
    assert len(report.failures) == 1
    assert why in report.failures[0]
    assert why in page_of(report.path).text


def test_panels_of_the_study_replace_defaults_by_name_and_others_come_first() -> None:
    own: list[Any] = [{"name": "cooperation_by", "x": "k"}, {"name": "strips", "matches": 2}, "cooperation_by:game"]
    assert chosen_panels(own) == [
        {"name": "cooperation_by", "x": "k"}, "cooperation_by:game", "cooperation", "cooperation_over_rounds",
        "scores", {"name": "strips", "matches": 2}, "readings", "cost",
    ]  # fmt: skip
    assert chosen_panels([]) == list(DEFAULT_PANELS)
    with pytest.raises(StudyError, match=r"report\.panels: needs a 'name'"):
        chosen_panels([{"x": "k"}])


@pytest.mark.slow
@pytest.mark.usefixtures("own_panels_only")
def test_a_report_keeps_what_others_put_beside_it_and_drops_its_own_old_figures(played: Played) -> None:
    data = played()
    folder = build_report(data, ["cooperation_by:k"]).path.parent
    assert (folder / "figures" / "cooperation_by_k.svg").exists()
    (folder / "notes.txt").write_text("mine")
    build_report(data)
    assert not (folder / "figures" / "cooperation_by_k.svg").exists()
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.usefixtures("own_panels_only")
def test_a_folder_that_cannot_be_written_gives_one_line(played: Played) -> None:
    data = played()
    (data.folder / "report").write_text("in the way")
    with pytest.raises(RunError, match=r"report: cannot be written"):
        build_report(data)


def test_a_page_with_half_a_character_is_written_all_the_same(tmp_path: Path) -> None:
    _write(tmp_path / "page.html", "a\ud800b")
    _write(tmp_path / "raw", b"\xff")
    assert ((tmp_path / "page.html").read_bytes(), (tmp_path / "raw").read_bytes()) == (b"a?b", b"\xff")
