"""Which panels a report shows: those of the study first, then what every study has."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.reports.chart import Spec, is_chart
from ostrom.reports.declared import panel_name

DEFAULT_PANELS: tuple[str, ...] = (
    "cooperation",
    "cooperation_over_rounds",
    "scores",
    "strips",
    "readings",
    "cost",
)


def chosen_panels(wanted: Sequence[Spec]) -> list[Spec]:
    """The panels of a report: a wanted one takes the place of the default of its name, others come first.

    >>> chosen_panels([{"name": "cooperation_by", "x": "k"}, {"name": "strips", "matches": 2}])[:2]
    [{'name': 'cooperation_by', 'x': 'k'}, 'cooperation']
    """
    own: dict[str, list[Spec]] = {}
    first: list[Spec] = []
    for spec in wanted:
        name = panel_name(spec)
        if name in DEFAULT_PANELS and not is_chart(spec):
            own.setdefault(name, []).append(spec)
        else:
            first.append(spec)
    rest = [spec for name in DEFAULT_PANELS for spec in own.get(name, [name])]
    return [*first, *rest]
