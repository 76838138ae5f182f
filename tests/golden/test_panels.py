"""Every panel over runs of several kinds: what it draws from which numbers, or why there is nothing to draw."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.golden.conftest import Golden, place, with_slow
from tests.golden.normalise import folded, normalised
from tests.golden.render import chart, outline

from ostrom.api import open_run
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.reports.declared import panels
from ostrom.reports.figures import spec_of

RUNS = ("society", "negotiation", "mechanisms", "people-pilot", "amounts", "tournament", "memory", "personas")
SLOW = frozenset(("society", "negotiation", "amounts", "tournament", "memory", "personas"))
"""Runs over which `make test-all` alone draws."""


def lines_of(name: str, data: RunData) -> Iterator[str]:
    """What a panel says, shows in tables and charts, and writes into the page."""
    try:
        panel = panels.build(name)
        drawn = panel.draw(data)
    except OstromError as error:
        yield f"refused: {error}"
        return
    yield f"title: {panel.title}"
    yield from (f"note: {note}" for note in drawn.notes)
    for table in drawn.tables:
        yield f"table {table.name}: {table.caption}"
        yield " | ".join(table.columns)
        yield from (
            " | ".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row)
            for row in table.rows
        )
    for figure in drawn.figures:
        yield f"figure {figure.name}: {figure.caption} [{figure.alt}]"
        yield outline(chart(spec_of(figure.chart, figure.canvas)))
    yield from (outline(str(part)) for part in drawn.html)


@pytest.mark.parametrize("name", with_slow(RUNS, SLOW))
def test_panels(name: str, new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    home = place(new_home(), (name,))
    monkeypatch.chdir(home)
    with open_run(f"runs/{name}").data() as data:
        texts = [f"==== {panel}\n{folded(chr(10).join(lines_of(panel, data)))}" for panel in panels.names()]
    golden(normalised("\n".join(texts) + "\n", home))
