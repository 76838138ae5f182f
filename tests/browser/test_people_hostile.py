"""What people and study texts write is text on the pages of all participants: nothing runs, nothing hides the form."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Page, Visit, looks, sideways
from tests.people.served import Served, served
from tests.people.studies import pair_study

OWNED = "document.body.dataset.owned=1"
SCRIPT = f'<script>{OWNED}</script><img src=x onerror="{OWNED}"><svg onload="{OWNED}"></svg>'
LINK = f'[a link](javascript:{OWNED}) <a href="javascript:{OWNED}">another</a> javascript:{OWNED}'
STYLE = "</dd></dl></main><style>*{display:none}</style><div style='position:fixed;inset:0;background:red'>"
TURNED = "\u202eevil\u202c \u2066\u202e" * 20
LONG = "W" * 10_000
MARKS = "Z" + "\u0301" * 2000
EMOJI = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 150
CONTROLS = "a\0b\x1b[2J\x07c\ufffe"
EVIL = {"script": SCRIPT, "link": LINK, "style": STYLE, "turned": TURNED, "long": LONG, "marks": MARKS,
        "emoji": EMOJI, "controls": CONTROLS}  # fmt: skip
"""What two people write to each other, two texts a round."""
TEXT = "\n\n".join(["# Hello <script>", *EVIL.values(), f"- {LONG}", f"| a | b |\n|---|---|\n| {LONG} | {MARKS} |"])


@pytest.fixture(scope="module")
def server(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    study = pair_study(
        lobby={"wait": 300},
        time={"decision": 3600},
        languages=["en"],
        visit=[{"consent": "consent.md"}, {"match": 1}, {"debrief": "debrief.md"}],
        texts={"consent.md": TEXT.replace("\0", ""), "debrief.md": TEXT.replace("\0", "")},
    )
    study |= {
        "title": f"{SCRIPT}{TURNED}{LONG}",
        "mechanism": {"name": "cheap_talk", "rounds": len(EVIL) // 2, "length": 4000},
    }
    with served(tmp_path_factory.mktemp("hostile"), study) as made:
        yield made


def check(page: Page, screenshots: Path, name: str) -> None:
    """Nothing ran or became markup, nothing is wider than the window, and what is to be pressed is on top."""
    for look in looks(page, 390):
        if look.endswith("dark"):
            continue
        assert page.locator("body[data-owned]").count() == 0
        made = page.locator("main :is(script, style, img, svg, iframe, [style*=fixed], [onerror])")
        assert made.evaluate_all("found => found.map((one) => one.outerHTML.slice(0, 200))") == [], name
        assert page.locator("a[href^='javascript' i]").count() == 0
        assert sideways(page) <= 0, (name, look)
        painted = page.locator(".words").evaluate_all("all => all.map((one) => getComputedStyle(one).overflowY)")
        assert set(painted) <= {"clip"}, (name, look)  # accents stay within the words that have them
        page.screenshot(path=str(screenshots / f"people-hostile-{name}-{look}.png"), full_page=True)
        hidden = page.evaluate(
            "() => [...document.querySelectorAll('main button, main textarea')].filter((one) => {"
            " one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            " const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);"
            " return box.height < 10 || !(top === one || one.contains(top)); }).map((one) => one.outerHTML)"
        )
        assert hidden == [], (name, look)


def press(page: Page, button: str) -> None:
    place = page.locator("main").get_attribute("data-at")
    page.locator(button).first.click()
    page.locator(f"main:not([data-at='{place}'])").wait_for()


def test_hostile_words_are_text_on_the_pages_of_both(server: Served, visit: Visit, screenshots: Path) -> None:
    pages = [visit(f"{server.base}/?PROLIFIC_PID=h{n}&SESSION_ID=s", width=w) for n, w in enumerate((390, 1280))]
    for page in pages:
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
        press(page, "form[action='/join'] button")
    check(pages[0], screenshots, "consent")
    for page in pages:
        press(page, "form[action='/answer'] button")
    texts = iter(EVIL.items())
    for _ in range(len(EVIL) // 2):
        names = []
        for page in pages:
            name, text = next(texts)
            names.append(name)
            field = page.locator("textarea")
            field.wait_for()
            field.fill(text[: int(field.get_attribute("maxlength") or len(text))])
            page.locator(".buttons button").first.click()
        for page, name in zip(pages, reversed(names), strict=True):
            page.locator("button.option").first.wait_for()
            check(page, screenshots, name)
        for page in pages:
            page.locator("button.option").first.click()
    for page in pages:
        page.locator("main:not([data-at='wait']) h1").first.wait_for()
        check(page, screenshots, "debrief")
        press(page, "form[action='/answer'] button")
        page.locator("main[data-at^='end']").wait_for()
