"""Every promise of the security pages is held by tests that exist."""

import re
from pathlib import Path

import pytest

from ostrom.ground.yaml import read_yaml

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py::\w+)`")
BULLET = re.compile(r"^\* .*(?:\n  .*)*", re.MULTILINE)
HELD: dict[str, list[str]] = read_yaml((ROOT / "tests/house/promises.yaml").read_text("utf-8"), "promises.yaml")


def promises() -> dict[str, list[str]]:
    """What SECURITY.md lists, and every section and bold list of docs/security.md, with the tests that hold it."""
    short = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("None of them may")[2]
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = {text.splitlines()[0][:70]: TEST.findall(text) for text in BULLET.findall(short)}
    for section in page.split("\n## "):
        title = section.splitlines()[0].lstrip("# ")
        bold = re.findall(r"^\* \*\*(.*?)\*\*", section, re.MULTILINE)
        named |= {promise: HELD.get(promise, []) for promise in (title, *(f"{title} / {words}" for words in bold))}
    return named


@pytest.mark.parametrize("promise", promises())
def test_a_promise_names_tests_that_exist(promise: str) -> None:
    assert promises()[promise], "no test holds it: name one in tests/house/promises.yaml"
    for file, _, test in (name.partition("::") for name in promises()[promise]):
        code = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {test}\(", code, re.MULTILINE), f"{file}::{test}"


def test_tests_are_named_for_promises_of_the_page_alone() -> None:
    assert set(HELD) <= set(promises())


def test_all_promises_are_looked_at() -> None:
    assert len(promises()) >= 5 + 4 + 8
