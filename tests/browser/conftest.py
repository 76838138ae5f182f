"""A real browser for pages on disk and pages of a loopback server; `make browser` sets it up.

A test asks for ``visit`` and gets a page of Playwright's (sync API)::

    def test_the_lobby_waits(visit: Visit, screenshots: Path, axe: Axe) -> None:
        page = visit("http://127.0.0.1:8000/", width=320, scheme="dark")
        page.get_by_role("button", name="Start").click()
        assert sideways(page) == 0 and axe(page) == []

Several pages may be open at the same time; each has cookies and storage of its own. Playwright's loop runs in the
thread of the tests, so code that calls ``asyncio.run`` goes through ``apart``.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

Result = TypeVar("Result")
Page = Any
"""A page of Playwright's, which is not among the packages that types are checked with."""
Visit = Callable[..., Page]
Axe = Callable[[Page], list[str]]

ARTEFACTS = Path(__file__).parents[2] / ".browser"
"""What `make browser` fetches (axe-core) and what the tests leave to look at; not under version control."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATIENCE = 180_000
"""Milliseconds that a test waits for a page or a state of one: a loaded machine is slow, and no test asserts a time."""
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
EXEMPT = {
    # A chart is one picture with a text alternative: its thousand marks would take most of the time.
    "[role=img] *": "parts of a picture"
}
"""Nodes that axe-core leaves out, each with the reason."""
THIN = """() => {
  document.querySelectorAll("[data-live]").forEach((live) => live.replaceWith(live.cloneNode(true)));
  document.querySelectorAll("[role=img] *").forEach((part) => part.remove());
  const words = /^(id|title|href|value|aria-label|hx-get|data-.*)$/;
  const marks = (node) => [...node.attributes].filter((a) => !words.test(a.name)).map((a) => a.name + a.value);
  const form = (node) => `${node.tagName}${marks(node)}(${[...node.children].map(form)})${!node.textContent.trim()}`;
  document.querySelectorAll("tbody").forEach((body) => {
    const seen = new Set();
    [...body.rows].forEach((row) => { const key = form(row); if (seen.has(key)) row.remove(); else seen.add(key); });
  });
}"""


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window; tables scroll inside their own frames."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


FAULTS = """() => {
  const faults = [];
  const flat = (text) => { const m = text.getScreenCTM(); return m && Math.abs(m.b) + Math.abs(m.c) < 0.01; };
  const outside = (box, frame) =>
    Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom) > 2;
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width || !frame.height) continue;
    if (!svg.querySelector("path, circle, rect, line, text, polyline, use")) faults.push("an empty picture");
    const texts = [...svg.querySelectorAll("text")].filter((text) =>
      text.textContent.trim() && getComputedStyle(text).opacity !== "0");
    const boxes = texts.map((text) => text.getBoundingClientRect());
    texts.forEach((text, i) => {
      const box = boxes[i], words = JSON.stringify(text.textContent.slice(0, 50));
      if (outside(box, frame)) faults.push(`${words} is cut by the edge of its picture`);
      for (let j = i + 1; j < texts.length; j++) {
        const other = boxes[j];
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (wide > 2 && high > 4 && flat(text) && flat(texts[j]))
          faults.push(`${words} lies on ${JSON.stringify(texts[j].textContent.slice(0, 50))}`);
      }
    });
  }
  const words = document.body.innerText;
  const signs = ["Traceback", "KeyError", "TypeError", "ValueError", "internal error", "NaN", "object at 0x"];
  for (const sign of [...signs, "could not be drawn"])
    if (words.includes(sign)) faults.push(`the page says ${sign}`);
  return [...new Set(faults)];
}"""


def faults(page: Page) -> list[str]:
    """What is wrong with the pictures and words that are visible: cut or overlapping labels, empty pictures, errors.

    Turned labels are left out: the boxes around them overlap where they do not.
    """
    return [str(fault) for fault in page.evaluate(FAULTS)]


def looks(page: Page, narrow: int) -> Iterator[str]:
    """Show an open page wide and narrow, light and dark; gives the name of each look."""
    for width, scheme in product((1280, narrow), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield f"{width}-{scheme}"


def thin(page: Page) -> None:
    """Leave out the insides of charts, and rows of a table that differ from another row only in their words.

    For axe-core, which takes half a minute for a page of 5,000 elements and two seconds for what is left of it. What
    the viewer updates becomes a copy first: its script loads the page anew when news come of a row that is not there.
    """
    page.evaluate(THIN)


def apart(call: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Call a function in a thread of its own, where no event loop is running."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call, *arguments, **named).result()


@pytest.fixture(scope="session")
def chromium() -> dict[str, Any]:
    """How chromium of this machine starts (OSTROM_BROWSER names another one); tests are skipped where there is none."""
    if not (wanted := os.environ.get("OSTROM_BROWSER")):
        pytest.skip("browser tests run with: make browser")
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make browser")
    names = NAMES if wanted == "any" else (wanted,)
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser found (looked for {', '.join(names)})")
    # Chromium's sandbox refuses to start as root, as in most containers.
    sandbox = [] if hasattr(os, "geteuid") and os.geteuid() else ["--no-sandbox"]
    return {"executable_path": program, "args": sandbox}


@pytest.fixture(scope="session")
def browser(chromium: dict[str, Any]) -> Iterator[Any]:
    """A browser of Playwright's."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**chromium)
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """Open an address or a file: ``visit(where, width=1280, scheme="light")``.

    Requests beyond this machine are refused. They, and errors of the page itself, fail the test at its end.
    """
    contexts, troubles = [], list[str]()

    def guard(route: Any) -> None:
        to = urlsplit(route.request.url)
        if to.scheme in ("http", "https", "ws", "wss") and to.hostname not in LOOPBACK:
            troubles.append(f"the page asks for {route.request.url}")
            route.abort()
        else:
            route.continue_()

    def open_page(where: str | Path, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.set_default_navigation_timeout(PATIENCE)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error in the page: {error}"))
        page.goto(where.resolve().as_uri() if isinstance(where, Path) else where, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """The folder of the pictures that a person looks at after the tests: .browser/screenshots."""
    folder = ARTEFACTS / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def axe() -> Axe:
    """All violations of WCAG 2.2 A and AA that axe-core finds in a page: ``axe(page) == []``."""
    source = ARTEFACTS / "node_modules" / "axe-core" / "axe.min.js"
    if not source.is_file():
        pytest.skip("axe-core is not at hand (make browser fetches it with npm)")
    code = source.read_text(encoding="utf-8")

    def violations(page: Page) -> list[str]:
        page.evaluate(code)
        found = page.evaluate(
            "([exclude, tags]) => axe.run({exclude},"
            " {resultTypes: ['violations'], runOnly: {type: 'tag', values: tags}, preload: false})",
            [list(EXEMPT), list(TAGS)],
        )["violations"]
        return [
            f"{one['id']} ({one['impact']}): {one['help']}, {len(one['nodes'])} times, first "
            f"{one['nodes'][0]['html'][:200]}"
            for one in found
        ]

    return violations
