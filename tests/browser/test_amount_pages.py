"""A person who names amounts in a real browser: bounds of the field, and what is said about an impossible one."""

from pathlib import Path

from tests.browser.conftest import Axe, Visit
from tests.browser.keyboard import heading, press, write
from tests.people.served import served
from tests.people.test_amounts import amounts_study


def test_an_amount_is_named_within_its_bounds(tmp_path: Path, visit: Visit, axe: Axe, screenshots: Path) -> None:
    with served(tmp_path, amounts_study()) as server:
        page = visit(server.link(1))
        press(page, "Begin")
        heading(page, "Round 1 of 2")
        assert axe(page) == []
        field = page.get_by_label("What do you choose?")
        bounds = field.evaluate("f => [f.type, f.min, f.max, f.step, f.required]")
        assert bounds == ["number", "0", "100", "1", True]
        for text, problem in (("101", "rangeOverflow"), ("0.5", "stepMismatch")):
            field.fill(text)
            assert field.evaluate("(f, problem) => f.validity[problem] && !f.form.checkValidity()", problem)
        # What a browser lets through, the server refuses and explains.
        field.evaluate("f => { f.form.noValidate = true }")
        field.fill("101")
        press(page, "Send")
        page.get_by_text("a number from 0 to 100").wait_for()
        page.get_by_label("What do you choose?").fill("")
        write(page, "answer", "40")
        press(page, "Send")
        heading(page, "Round 2 of 2")
        page.get_by_role("cell", name="accept", exact=True).wait_for()
        page.screenshot(path=screenshots / "amounts.png", full_page=True)
