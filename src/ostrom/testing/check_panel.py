"""Conformance checks for panels and charts: run them on your own as we run them on ours.

from ostrom.testing import check_chart, check_panel
check_panel("cooperation")
check_panel(my_package.panels.trust.PANEL, data=my_run)
check_chart({"chart": "curve", "measure": "cooperation", "x": "game"})
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.reports.chart import Chart
from ostrom.reports.declared import panel_of, panels
from ostrom.reports.figures import render
from ostrom.reports.panel import Drawn, Panel
from ostrom.testing.small_run import small_run


def check_panel(
    panel: str | Mapping[str, Any] | Panel | Callable[..., Panel], *, data: RunData | Sequence[RunData] | None = None
) -> None:
    """Raise AssertionError with one line if a panel breaks the contract.

    ``panel`` is a name, a specification, the object, or a function that makes it. ``data`` are runs to
    draw; by default a small one of scripted players is played.
    """
    part = _panel(panel)
    assert isinstance(part, Panel), f"is a {type(part).__name__}, not a Panel"
    name = type(part).__name__
    assert isinstance(part.title, str) and part.title.strip(), f"{name}: no title"
    with small_run(data) as runs:
        for run in runs:
            drawn = part.draw(run)
            _check_drawn(name, drawn)
            assert _plain(part.draw(run)) == _plain(drawn), f"{name}: drawn again it says something else"


def check_chart(
    chart: Mapping[str, Any] | Chart | Callable[..., Chart], *, data: RunData | Sequence[RunData] | None = None
) -> None:
    """Raise AssertionError if a chart breaks the contract: ``{chart: dots, measure: cooperation}`` or the object."""
    part = panel_of(chart) if isinstance(chart, Mapping) else chart
    if isinstance(part, Chart):
        with small_run(data) as runs:
            for one in (one for run in runs for one in part.estimates(run)):
                assert math.isfinite(one.value), f"{part.title}: no value for {dict(one.key)}"
    check_panel(part, data=data)


def _panel(panel: Any) -> Any:
    if isinstance(panel, str | Mapping):
        return panels.build(panel) if isinstance(panel, str) else panel_of(panel)
    return panel() if callable(panel) and not isinstance(panel, Panel) else panel


def _check_drawn(name: str, drawn: Drawn) -> None:
    assert isinstance(drawn, Drawn), f"{name}: draw() gives a {type(drawn).__name__}, not Drawn"
    assert drawn.figures or drawn.tables or drawn.notes or drawn.html, f"{name}: says nothing, not even why"
    for figure in drawn.figures:
        _check_name(name, figure.name)
        assert figure.caption.strip(), f"{name}: figure {figure.name} has no caption"
        assert figure.alt.strip(), f"{name}: figure {figure.name} has no text alternative"
        svg, png = render(figure.chart)
        assert "<svg" in svg and png[:4] == b"\x89PNG", f"{name}: figure {figure.name} cannot be drawn"
    for table in drawn.tables:
        _check_name(name, table.name)
        assert len(set(table.columns)) == len(table.columns), f"{name}: table {table.name} has a column twice"
        for row in table.rows:
            assert len(row) == len(table.columns), (
                f"{name}: table {table.name} has {len(table.columns)} columns and a row of {len(row)}"
            )
            assert not any(isinstance(value, float) and math.isnan(value) for value in row), (
                f"{name}: table {table.name} holds NaN; what is not known is None"
            )
    for note in drawn.notes:
        assert isinstance(note, str) and note.strip(), f"{name}: an empty note"


def _check_name(name: str, file: str) -> None:
    assert file and PurePath(file).name == file, f"{name}: {file!r} cannot be the name of a file"


def _plain(drawn: Drawn) -> Any:
    return (
        [(f.name, f.caption, f.alt) for f in drawn.figures],
        [(t.name, tuple(t.columns), [tuple(row) for row in t.rows]) for t in drawn.tables],
        list(drawn.notes),
        [str(part) for part in drawn.html],
    )
