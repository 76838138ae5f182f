"""A measure against one factor: the chart ``curve`` under the name and keys that study files know."""

from typing import Any

from ostrom.reports.charts.curve import Curve


def cooperation_by(
    x: str,
    panel: str | None = None,
    color: str | None = None,
    measure: Any = "cooperation",
    title: str | None = None,
) -> Curve:
    """Estimates along the levels of ``x``; small multiples by ``panel``, colours by ``color``."""
    return Curve(measure, x, facet=panel, colour=color, title=title)


PANEL = cooperation_by
