"""Every promise of the security pages names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
BULLET = re.compile(r"^\* .*(?:\n  .*)*", re.MULTILINE)


def promises() -> dict[str, str]:
    """What the pages promise: the list of SECURITY.md, and every section of docs/security.md with its bold lists."""
    short = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("None of them may")[2]
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")
    bullets = [
        *BULLET.findall(short),
        *(one for section in sections for one in BULLET.findall(section) if one.startswith("* **")),
    ]
    return {text.splitlines()[0][:70]: text for text in [*bullets, *sections]}


@pytest.mark.parametrize("promise", promises().values(), ids=promises().keys())
def test_a_promise_names_tests_that_exist(promise: str) -> None:
    named = TEST.findall(promise)
    assert named
    for file, test in named:
        code = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {test}\(", code, re.MULTILINE), f"{file}::{test}"


def test_all_promises_are_looked_at() -> None:
    assert len(promises()) >= 5 + 4 + 8
