"""Pages that commands write to a file, and the list of all kinds of pages: each is visited by a test here."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from tests.view.runs import talk
from tests.view.test_search_and_beside import strategies
from tests.view.viewed import viewed

import ostrom
from ostrom.features.attribution.plan import attribute
from ostrom.studies.run import open_run
from ostrom.view.index_writer import update

from .conftest import Axe, Visit, apart, faults, looks, sideways, thin

VISITED = {
    "report": "test_report_pages.py::test_a_report_fits_its_window_and_can_be_read_by_everyone",
    "profile": "test_profile_pages.py::test_a_profile_fits_its_window_and_can_be_read_by_everyone",
    "power": "test_every_page.py::test_a_written_page_fits_its_window_and_can_be_read_by_everyone",
    "replicate": "test_every_page.py::test_a_written_page_fits_its_window_and_can_be_read_by_everyone",
    "paper": "test_every_page.py::test_a_written_page_fits_its_window_and_can_be_read_by_everyone",
    "view/bundle": "test_view_bundle.py::test_a_copy_on_disk_is_read_and_searched",
    **dict.fromkeys(
        ("view/runs", "view/run", "view/matches", "view/match", "view/trouble"),
        "test_view_pages.py::test_every_page_fits_and_can_be_read_by_everyone",
    ),
    **dict.fromkeys(
        ("view/search", "view/beside", "view/beside_match"),
        "test_view_bundle.py::test_search_and_side_by_side_on_the_server",
    ),
    **dict.fromkeys(
        ("view/login", "view/beside_choose", "view/strip"), "test_every_page.py::test_the_other_pages_of_the_viewer"
    ),
    **dict.fromkeys(("admin", "login"), "test_people_admin.py::test_a_study_goes_from_recruiting_to_payment"),
    **dict.fromkeys(("start", "text", "sheet", "match", "end"), "test_people_states.py::test_every_state_of_a_visit"),
    **dict.fromkeys(("wait", "leave"), "test_people_states.py::test_the_lobby_messages_and_leaving"),
}
"""Every kind of page: a template, or a page that a command writes; and the test that visits it."""
PARTS = {"base", "main", "field", "view/base", "view/run_base"}
"""Templates that are parts of others."""
LONG = "How many points do both of you get together in a round in which both choose the first action? " * 2


def written(folder: Path) -> dict[str, Path]:
    """The pages of `power --chart`, `replicate` and `report --as-paper`."""
    power = folder / "power.html"
    ostrom.power("memory", measure="cooperation", contrast="style=direct-reasoned", preset="smoke", seeds="3,9",
                 simulations=100, model=["openai/gpt-4o-mini"], chart=power)  # fmt: skip
    kept = Path(__file__).parents[1] / "data/1.0/papers/runs/personas"  # what models played has figures to compare
    shutil.copytree(kept, folder / "personas")
    run = ostrom.open_run(folder / "personas")
    made = ostrom.replicate("personas", runs=str(run.path), out=folder / "replicated")
    return {"power": power, "replicate": Path(made.page), "paper": run.report(as_paper=True)}


@pytest.fixture(scope="module")
def pages(browser: object, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return apart(written, tmp_path_factory.mktemp("written"))


@pytest.mark.parametrize("name", ["power", "replicate", "paper"])
def test_a_written_page_fits_its_window_and_can_be_read_by_everyone(
    pages: dict[str, Path], name: str, visit: Visit, screenshots: Path, axe: Axe
) -> None:
    page = visit(pages[name])
    for look in looks(page, 390):
        page.screenshot(path=screenshots / f"{name}-{look}.png", full_page=True)
        assert sideways(page) == 0, look
        assert page.evaluate("document.documentElement.scrollHeight") < 8000, look
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    for look in looks(page, 390):
        assert (sideways(page), faults(page)) == (0, []), look
    thin(page)
    for look in looks(page, 390):
        assert axe(page) == [], look


def attributed(runs: Path) -> None:
    """A run of strategies and its attribution: with 26 others, 28 runs."""
    with open_run(strategies(runs, rounds=4)) as run:
        attribute(run, 1, 3, seat=1, method="flip", name="why", runs=runs)


def test_the_other_pages_of_the_viewer(tmp_path: Path, visit: Visit, screenshots: Path, axe: Axe) -> None:
    """A list of 28 runs, the choice of a second run, an attribution, and the form for the password."""
    about = "Does a longer visible history help or hurt cooperation between agents that play the same dilemma? "
    update(apart(talk, tmp_path, title="Memory length and cooperation", about=about))
    for number in range(25):
        shutil.copytree(tmp_path / "talk", tmp_path / f"talk-{number}")
    apart(attributed, tmp_path)
    places = {"many-runs": "/", "beside-choose": "/run/talk/beside", "strip": "/run/why/strip"}
    with viewed(tmp_path) as open_to_all, viewed(tmp_path, "a long password") as guarded:
        for name, address in (
            *((name, open_to_all.base + place) for name, place in places.items()),
            ("login", guarded.base),
        ):
            page = visit(address)
            for look in looks(page, 390):
                page.screenshot(path=screenshots / f"view-{name}-{look}.png", full_page=True)
                assert sideways(page) <= 0, look
                assert page.evaluate("document.documentElement.scrollHeight") < 8000, look
            thin(page)
            for look in looks(page, 390):
                assert axe(page) == [], (name, look)
            page.goto("about:blank")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_question_stands_inside_its_frame(visit: Visit, width: int) -> None:
    page = visit("about:blank", width=width)
    css = files("ostrom").joinpath("web/static/style.css").read_text(encoding="utf-8")
    page.set_content(f"<style>{css}</style><fieldset><legend>{LONG}</legend><div class=choice>2</div></fieldset>")
    frame, legend, answer = (page.locator(of).bounding_box() for of in ("fieldset", "legend", ".choice"))
    assert legend["y"] >= frame["y"] and legend["height"] > 30
    assert answer["y"] >= legend["y"] + legend["height"] and answer["x"] < legend["x"] + 40


def test_every_kind_of_page_is_visited() -> None:
    folder = files("ostrom").joinpath("web/templates")
    names = [part.name for part in folder.iterdir()] + [
        f"view/{part.name}" for part in folder.joinpath("view").iterdir()
    ]
    templates = {name.removesuffix(".html") for name in names if name.endswith(".html") and "/_" not in f"/{name}"}
    assert templates - PARTS == set(VISITED) - {"report", "profile", "power", "replicate", "paper"}
    assert templates >= PARTS
    for named in VISITED.values():
        file, _, test = named.partition("::")
        code = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", code, re.MULTILINE), named
