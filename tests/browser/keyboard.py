"""A person without a mouse: everything is reached by Tab, arrows, Space, Enter and letters."""

from collections.abc import Callable

from tests.browser.conftest import Page

REACH = 80
"""How often Tab is pressed before something counts as out of reach."""


def heading(page: Page, name: str) -> None:
    """Wait for the page with this heading."""
    page.get_by_role("heading", name=name, level=1, exact=True).wait_for()


def reach(page: Page, what: str, found: Callable[[], bool]) -> None:
    """Press Tab until the focus is where it should be."""
    for _ in range(REACH):
        page.keyboard.press("Tab")
        if found():
            return
    raise AssertionError(f"no {what} within reach of the keyboard")


def press(page: Page, name: str) -> None:
    """Reach a button or a link and press it."""
    reach(page, f"button {name!r}", lambda: page.evaluate("(document.activeElement.innerText || '').trim()") == name)
    page.keyboard.press("Enter")


def pick(page: Page, name: str, option: str) -> None:
    """Choose an option of a question."""
    focused = "document.activeElement.name"
    chosen = "(document.querySelector(`label[for='${document.activeElement.id}']`) || {}).innerText"
    reach(page, f"question {name!r}", lambda: page.evaluate(focused) == name)
    page.keyboard.press("Space")
    for _ in range(20):
        if page.evaluate(chosen) == option:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"no option {option!r} of question {name!r}")


def write(page: Page, name: str, text: str) -> None:
    """Write into a field."""
    reach(page, f"field {name!r}", lambda: page.evaluate("document.activeElement.name") == name)
    page.keyboard.type(text)
