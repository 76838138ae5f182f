"""Pages that commands write: their words, numbers and structure, and the tables beside them."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.golden.conftest import Shell

PAGES: dict[str, tuple[str, ...]] = {
    **{
        f"report-{name}": (f"report {name}", f"cat runs/{name}/report/*.html", f"cat runs/{name}/report/tables/*.csv")
        for name in (
            "plain", "asked", "talk", "society", "amounts", "generations", "looks", "people-pilot", "rounds",
            "tournament", "memory", "pd-tournament", "mechanisms", "personas", "turns", "parts", "plan", "tools",
            "negotiation",
        )
    },
    "report-json": ("report plain --json",),
    "report-intervals": ("report plain --intervals", "cat runs/plain/report/*.html"),
    "report-as-paper": ("report memory --as-paper", "cat runs/memory/paper/*.html", "cat runs/memory/paper/**/*.csv"),
    "report-as-paper-mechanisms": ("report mechanisms --as-paper", "cat runs/mechanisms/paper/*.html"),
    "replicate-memory": ("replicate memory-curse --runs memory", "cat replicate/**/*.html"),
    "replicate-repeated-games": ("replicate repeated-games --runs pd-tournament", "cat replicate/**/*.html"),
    "replicate-coopeval": ("replicate coopeval --runs mechanisms", "cat replicate/**/*.html"),
    "replicate-personas": ("replicate personas --runs personas", "cat replicate/**/*.html"),
    "profile": (
        "more profile --model scripted/steady --battery mine.yaml --prices prices.yaml --budget-usd 1",
        "cat profiles/**/*.html",
    ),
    "judge": ("more judge talk --model scripted/judge --passes 2", "cat runs/talk/judge*/**/*.html"),
    "pool-chart": ("pool parts.1-of-2 parts.2-of-2 --chart forest.html", "cat forest.html"),
}  # fmt: skip


@pytest.mark.parametrize("case", PAGES)
def test_page(case: str, shell: Shell, golden: SnapshotAssertion) -> None:
    assert shell(*PAGES[case]) == golden
