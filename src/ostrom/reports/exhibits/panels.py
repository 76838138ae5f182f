"""The panels of an exhibit, drawn from suitable runs."""

from collections.abc import Callable, Sequence

from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.reports.build import ReportFiles
from ostrom.reports.declared import panel_of
from ostrom.reports.exhibits.declared import Exhibit
from ostrom.reports.page import Section


def draw_panels(
    context: ReportFiles,
    section: Section,
    one: Exhibit,
    runs: Sequence[RunData],
    foreign: Callable[[RunData], bool] = lambda data: False,  # noqa: ARG005
) -> None:
    """Draw the panels of an exhibit from every suitable run; add the reason if there is none.

    A ``foreign`` run is of another study of the paper, which has exhibits of its own.
    """
    why: list[str] = []
    filled = False
    for data in runs:
        lacking = "This run does not show it" if foreign(data) else _lacking(one, data)
        if lacking:
            why += [f"{lacking}; it comes from the study {' or '.join(one.study)}."] if one.panels else []
            continue
        context.take(data, named=len(runs) > 1)
        for panel in one.panels:
            try:
                drawn = panel_of(panel).draw(data)
            except (UnknownName, UsageError) as error:  # a level or column that this run lacks
                why.append(f"This run cannot give it: {error}")
                continue
            if drawn.figures or drawn.tables or drawn.html or len(runs) == 1:
                context.fill(section, one.name, drawn, one.name)
                filled = True
            else:
                why += drawn.notes
    context.take(runs[0], named=False)
    if not filled or len(runs) == 1:
        section.notes += dict.fromkeys(why)


def _lacking(one: Exhibit, data: RunData) -> str | None:
    """Return the condition of an exhibit that no finished match of a run meets."""
    for column, wanted in one.needs.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        has_column = column in data.columns("matches")
        marks = ", ".join(f"${n}" for n in range(1, len(values) + 1))
        where = f"state = 'done' AND CAST({quoted(column)} AS VARCHAR) IN ({marks})"
        if not has_column or not data.records(f"SELECT 1 FROM matches WHERE {where} LIMIT 1", *values):
            return f"This run has no finished match with {column} = {' or '.join(values)}"
    return None
