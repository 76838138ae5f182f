"""Every built-in study's page in a real browser: readable in light and dark, on a phone and on a laptop."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostrom.reports import build_report
from ostrom.studies.load import builtin_names

from ..replications.golden_runs import play_any
from ..reports.conftest import opened
from .conftest import Axe, Visit, apart, sideways

WIDTHS = (320, 1280)


def page_of_study(name: str, folder: Path) -> Path:
    """Play a study with scripted players and write its page."""
    with opened(play_any(name, folder)) as data:
        return build_report(data).path


@pytest.fixture(scope="module", params=builtin_names())
def report(request: pytest.FixtureRequest, browser: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one built-in study."""
    return apart(page_of_study, request.param, tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_fits_its_window_and_can_be_read_by_everyone(
    report: Path, width: int, scheme: str, visit: Visit, screenshots: Path, axe: Axe
) -> None:
    page = visit(report, width=width, scheme=scheme)
    page.screenshot(path=screenshots / f"{report.parents[1].name}-{width}-{scheme}.png", full_page=True)
    assert sideways(page) == 0
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert sideways(page) == 0
    assert axe(page) == []
