"""Every built-in study's page in a real browser: readable in light and dark, on a phone and on a laptop."""

from pathlib import Path

import pytest

from ostrom.reports.build import build_report
from ostrom.studies.files import builtin_names

from ..replications.golden_runs import play_any
from ..reports.conftest import opened
from .conftest import Axe, Visit, apart, faults, looks, sideways, thin


def page_of_study(name: str, folder: Path) -> Path:
    """Play a study with scripted players and write its page."""
    with opened(play_any(name, folder)) as data:
        return build_report(data).path


@pytest.fixture(scope="module", params=builtin_names())
def report(request: pytest.FixtureRequest, browser: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one built-in study."""
    return apart(page_of_study, request.param, tmp_path_factory.mktemp("page"))


def test_a_report_fits_its_window_and_can_be_read_by_everyone(
    report: Path, visit: Visit, screenshots: Path, axe: Axe
) -> None:
    page, wide = visit(report), dict[str, int]()
    for name in looks(page, 320):
        page.screenshot(path=screenshots / f"{report.parents[1].name}-{name}.png", full_page=True)
        wide[name] = sideways(page)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    wrong = list[str]()
    for name in looks(page, 320):
        wide[f"{name}, all open"] = sideways(page)
        wrong += [f"{name}: {fault}" for fault in faults(page)]
    assert not any(wide.values()), wide
    assert wrong == []
    thin(page)
    for name in looks(page, 320):
        assert axe(page) == [], name
