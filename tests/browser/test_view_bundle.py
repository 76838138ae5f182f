"""The static copy opened from disk, search and side by side, in a real browser, with hostile replies."""

from itertools import product
from pathlib import Path

import pytest
from tests.browser.conftest import Axe, Page, Visit, apart, looks, sideways, thin
from tests.view.runs import said, talk
from tests.view.test_search_and_beside import HOSTILE, hostile
from tests.view.viewed import viewed

from ostrom.features.transcript.transcript import tried
from ostrom.models.base import Reply, Request, Usage
from ostrom.view.bundle import bundle
from ostrom.view.index_writer import update
from ostrom.view.render import lanes


def mixed(request: Request) -> Reply:
    """Hostile words, and in later rounds others."""
    text = request.messages[-1].content
    more = "They betrayed me, 合作 ends." if text.count("\n") % 2 else said(request).reasoning
    return Reply("[A0]" if len(text) % 2 else "[A1]", f"{more} {HOSTILE}", "raw", usage=Usage(10, 10))


@pytest.fixture(scope="module")
def runs(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that pair."""
    folder = tmp_path_factory.mktemp("copied") / "runs"
    apart(talk, folder, mixed, rounds=4, seeds=2)
    apart(talk, folder, hostile, name="other", rounds=4, seeds=2)
    update(folder / "talk"), update(folder / "other")
    return folder


@pytest.fixture(scope="module")
def copied(runs: Path) -> Path:
    """A bundle of a run."""
    apart(bundle, "talk", runs, runs.parent / "out")
    return runs.parent / "out" / "index.html"


def shown(page: Page, place: str) -> None:
    """Wait until a page of the copy is drawn."""
    page.wait_for_function("where => document.body.dataset.shown === where", arg=place)


def harmless(page: Page) -> None:
    """Nothing that a model wrote became markup."""
    assert page.locator("main script, main img, main svg[onload], main b:has-text('bold')").count() == 0
    text = page.inner_text("main")
    assert "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_copy_on_disk_is_read_and_searched(
    copied: Path, visit: Visit, axe: Axe, screenshots: Path, width: int, scheme: str
) -> None:
    page = visit(copied, width=width, scheme=scheme)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    assert "A static copy of the run talk" in page.inner_text("main")
    assert axe(page) == [] and sideways(page) <= 0
    page.get_by_role("link", name="Matches").first.click()
    shown(page, "#/matches/0")
    assert page.locator("tbody svg.lane path").count() > 10 and axe(page) == [] and sideways(page) <= 0
    page.screenshot(path=screenshots / f"bundle-matches-{width}-{scheme}.png", full_page=True)
    page.locator("table.matches a.row").first.click()
    shown(page, "#/match/0")
    assert "I trust them" in page.inner_text(".decision") or "betrayed" in page.inner_text(".decision")
    assert "<script>alert(1)</script>" in page.inner_text(".decision")
    harmless(page)
    assert axe(page) == [] and sideways(page) <= 0
    page.screenshot(path=screenshots / f"bundle-match-{width}-{scheme}.png")
    before = page.inner_text(".decision h2")
    page.keyboard.press("j")
    page.wait_for_function("text => document.querySelector('.decision h2').textContent !== text", arg=before)
    page.keyboard.press("/")
    page.wait_for_selector("#q")
    page.fill("#q", '"betrayed me" treasure')
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits mark")
    assert page.locator(".hit").count() > 0 and "betrayed" in page.inner_text(".hits mark >> nth=0").lower()
    harmless(page)
    assert axe(page) == [] and sideways(page) <= 0
    page.screenshot(path=screenshots / f"bundle-search-{width}-{scheme}.png", full_page=True)
    page.locator(".hit a").first.click()
    page.locator("body[data-shown^='#/match/'] .decision").wait_for()
    assert "betrayed me" in page.inner_text(".decision") and dialogs == []


def test_strips_and_tries_in_a_copy_are_shown_as_on_the_server(copied: Path, visit: Visit) -> None:
    page = visit(copied)
    for signs in ("CDa", "abcdefz", "0459#", "C·D", "C" * 60, "CCD0" * 15 + "·9"):
        drawn = page.evaluate("signs => lanes([...signs])", signs)
        assert [tuple(one) for one in drawn] == lanes(signs), signs
    names = {
        signs: page.evaluate("signs => strip(signs).getAttribute('aria-label')", signs) for signs in ("CD", "C" * 61)
    }
    assert names == {"CD": "C D", "C" * 61: "61 rounds"}
    for part, source in product(
        ("try0", "try1", "try1.end", "predict.try0", "cheap_talk.try2", "", "judge"), ("model", "cache")
    ):
        call = {"part": part, "source": source, "try": 3}
        assert page.evaluate("call => tried(call)", call) == tried(call), call


def test_only_lines_that_the_last_prompt_did_not_have_are_marked(copied: Path, visit: Visit) -> None:
    page = visit(copied)
    rules = "".join(f"rule {i}\n" for i in range(9))
    old, new = f"{rules}R1\nR2\nnow 3\nend", f"{rules}R2\nR3\nnow 4\nend"
    made = page.evaluate(
        "texts => marked(...texts).filter((node) => node !== '')"
        ".map((node) => [node.tagName ?? '', node.textContent ?? node])",
        [old, new],
    )
    assert [kind for kind, _ in made] == ["DETAILS", "", "", "INS", ""]
    assert made[3][1] == "R3\nnow 4\n" and made[0][1].startswith("7 lines as in the last prompt")
    assert made[0][1].removeprefix("7 lines as in the last prompt") + "".join(text for _, text in made[1:]) == new


def test_a_search_in_a_copy_finds_what_the_server_finds(copied: Path, visit: Visit) -> None:
    from ostrom.view.index import RunIndex, index_path
    from ostrom.view.search import search

    folder = copied.parent.parent / "runs" / "talk"
    page = visit(copied)
    for typed in ("betrayed", '"trust them"', "合作", "treas*", "trust -betrayed", "zebra", '"', "<script>"):
        page.evaluate("typed => { location.hash = '#/search/0/' + encodeURIComponent(typed); }", typed)
        page.wait_for_function(
            "typed => decodeURIComponent(document.body.dataset.shown || '').endsWith(typed)", arg=typed
        )
        links = page.eval_on_selector_all(".hit a", "all => all.map(a => a.hash)")
        with RunIndex(index_path(folder)) as index:
            found = search(index, [folder / "journal.db"], typed, where=["reply", "reasoning"], limit=20).hits
        wanted = [f"#/match/{hit.match}/{hit.step}/{hit.player + 1}" for hit in found]
        assert sorted(links) == sorted(wanted) or (len(wanted) == 20 and len(links) == 20), typed


def test_search_and_side_by_side_on_the_server(runs: Path, visit: Visit, axe: Axe, screenshots: Path) -> None:
    with viewed(runs) as view:
        for place, name in (
            ("/run/talk/search?q=treasure", "search"),
            ("/run/talk/beside/other", "beside"),
            ("/run/talk/beside/other/0/0", "beside-match"),
        ):
            page = visit(f"{view.base}{place}")
            for look in looks(page, 390):
                page.screenshot(path=screenshots / f"view-{name}-{look}.png", full_page=True)
                assert sideways(page) <= 0, (name, look)
            harmless(page)
            thin(page)
            for look in looks(page, 390):
                assert axe(page) == [], (name, look)
