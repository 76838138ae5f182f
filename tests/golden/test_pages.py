"""Pages that commands write: their words, numbers and structure, and the tables beside them."""

import pytest
from tests.golden.conftest import Golden, Shell, with_slow

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
    "report-as-paper": ("report memory --as-paper", "cat runs/memory/report/as-paper/*.html"),
    "report-as-paper-mechanisms": ("report mechanisms --as-paper", "cat runs/mechanisms/report/as-paper/*.html"),
    "replicate-memory": ("replicate memory-curse --runs memory", "cat replicate/**/*.html"),
    "replicate-repeated-games": ("replicate repeated-games --runs pd-tournament", "cat replicate/**/*.html"),
    "replicate-coopeval": ("replicate coopeval --runs mechanisms", "cat replicate/**/*.html"),
    "replicate-personas": ("replicate personas --runs personas", "cat replicate/**/*.html"),
    "profile": (
        "more profile --model scripted/steady --battery mine.yaml --prices prices.yaml --budget-usd 1",
        "cat profiles/**/*.html",
    ),
    "pool-chart": (
        "run quick.yaml --name lab1", "run quick.yaml --name lab2 --seeds 3", "pool lab1 lab2 --chart forest.html",
        "cat forest.html",
    ),
}  # fmt: skip


SLOW = frozenset(
    "report-personas report-pd-tournament report-memory report-as-paper replicate-memory replicate-personas "
    "report-intervals report-json report-tournament report-turns report-talk report-parts report-plan report-asked "
    "report-as-paper-mechanisms replicate-repeated-games".split()
)
"""Pages of which `make test` has a sister."""


@pytest.mark.parametrize("case", with_slow(PAGES, SLOW))
def test_page(case: str, shell: Shell, golden: Golden) -> None:
    golden(shell(*PAGES[case]))
