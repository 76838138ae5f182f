"""The pages of `ostrom profile` in a real browser: one per model and the comparison, at two widths, light and dark."""

from pathlib import Path

import pytest
from tests.features.profile.test_profile_command import prepare

import ostrom

from .conftest import Axe, Visit, apart, sideways


def profiled(folder: Path) -> list[Path]:
    """Profiles of two scripted models: both of their pages, and the comparison."""
    prepare(folder)
    models = ["scripted/kind", "scripted/mixed"]
    ostrom.commands.profile(model=models, battery=str(folder / "mine.yaml"), out=folder / "p")
    return sorted((folder / "p").rglob("index.html"))


@pytest.fixture(scope="module")
def pages(browser: object, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return apart(profiled, tmp_path_factory.mktemp("profiles"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_profile_fits_its_window_and_can_be_read_by_everyone(
    pages: list[Path], width: int, scheme: str, visit: Visit, screenshots: Path, axe: Axe
) -> None:
    assert len(pages) == 3
    for number, path in enumerate(pages):
        page = visit(path, width=width, scheme=scheme)
        page.screenshot(path=screenshots / f"profile-{number}-{width}-{scheme}.png", full_page=True)
        assert sideways(page) == 0
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert sideways(page) == 0
        assert axe(page) == []
