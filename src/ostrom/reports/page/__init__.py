"""The report page: study, results, data quality, manifest; self-contained, with all values escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import orjson
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from ostrom.analysis.registered import LIMITS, RegistrationStatus
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.ground.terminal import escaped
from ostrom.ground.version import __version__
from ostrom.reports.answers import MOST_LINES, ReportAnswers, facts
from ostrom.reports.card import provenance
from ostrom.reports.files import is_number
from ostrom.reports.panel import Table
from ostrom.reports.words import column_texts, pretty, question

SHORT = 26
RUN = ("Matches done", "Models", "Begun", "Versions", "Git commit", "Parent")
"""Entries of the card about the run rather than the study."""
FEW = 12
"""The most rows of a table that is open by default."""
LONGEST_HEADLINE = 220


@dataclass(frozen=True)
class ShownFigure:
    """A figure of the page."""

    svg: Markup
    caption: str
    alt: str
    file: str


@dataclass
class Section:
    """A panel of the page."""

    id: str
    title: str
    notes: list[str] = field(default_factory=list)
    figures: list[ShownFigure] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    html: list[Any] = field(default_factory=list)
    error: str | None = None
    short: str = ""
    """The title in the table of contents, if the title is long."""

    def fail(self, error: Exception) -> None:
        """Show on the page why the panel could not be drawn."""
        message = " ".join(str(error).split())
        self.error = message if isinstance(error, OstromError) else f"{type(error).__name__}: {message}"

    @property
    def headline(self) -> str:
        """Return a sentence for the folded title of the section."""
        return next(
            (
                text
                for text in ([*self.notes, *(figure.caption for figure in self.figures)] if not self.quiet else [])[:2]
                if len(text) <= LONGEST_HEADLINE
            ),
            "",
        )

    @property
    def quiet(self) -> bool:
        """Return whether the section only says why it is empty."""
        return not (self.error or self.figures or self.tables or self.html)


def page_table(table: Table, file: str, *, always_open: bool = False) -> dict[str, Any]:
    """Return a table in the form that the page template needs."""
    top_rows = table.rows[: table.shown]
    rows = [
        list(row)
        for row in zip(*[column_texts([row[i] for row in top_rows]) for i in range(len(table.columns))], strict=True)
    ]
    hidden = len(table.rows) - len(rows)
    more = (
        f"{len(table.rows):,} rows in the files."
        if not rows
        else f"{hidden:,} more rows in the files."
        if hidden
        else ""
    )
    return {
        "name": pretty(table.name),
        "caption": table.caption,
        "file": file,
        # Styles: n for numbers, s for short texts (no line breaks), l for long ones.
        "columns": [
            {
                "name": name if name in table.levels else pretty(name),
                "style": "n" if is_number(table, i) else "s" if all(len(row[i]) <= SHORT for row in rows) else "l",
            }
            for i, name in enumerate(table.columns)
        ],
        "rows": rows,
        "more": more,
        "open": always_open,
    }  # fmt: skip


def render_page(
    data: RunData, first: Section, sections: Sequence[Section], warnings: Sequence[str],
    card: Sequence[tuple[str, str]], reproduce: Mapping[str, str], standing: RegistrationStatus,
    report_answers: ReportAnswers | None = None, calls: Section | None = None,
) -> str:  # fmt: skip
    """Render the page: the answers first, everything else folded; run facts are at the end."""
    declared = report_answers is None or report_answers.declared  # a question is only shown above its own answer
    title, about = question({**data.study, **({} if declared else {"answers": ()})})
    played = [(term, value) for term, value in card if term in RUN]
    return _filled(
        "index.html.jinja",
        name=data.name,
        title=title,
        about=about,
        facts=facts(data),
        made_of=provenance(data),
        warnings=warnings,
        study_card=[entry for entry in card if entry not in played],
        run_card=played,
        varied=next((f"Varied: {value}." for term, value in card if term == "Varied"), ""),
        answers=report_answers,
        bound=standing.bound,
        limits=LIMITS,
        most=MOST_LINES,
        calls=calls or Section("calls", ""),
        first=first,
        sections=[section for section in sections if not section.quiet],
        quiet=[section for section in sections if section.quiet],
        manifest=orjson.dumps(
            data.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str
        ).decode(),
        **reproduce,
    )


def plain_page(
    kicker: str,
    title: str,
    sections: Sequence[Section],
    *,
    about: str = "",
    findings: Sequence[str] = (),
    warnings: Sequence[str] = (),
    card: Sequence[tuple[str, str]] = (),
    links: Sequence[tuple[str, str]] = (),
    first: Section | None = None,
    standing: RegistrationStatus = RegistrationStatus(),
) -> str:
    """Render a page in the same style that is not about a single run; ``links`` lead to sibling pages.

    With a ``first`` section, which answers the question of the page, the others are folded below it.
    """
    return _filled(
        "plain.html.jinja", kicker=kicker, title=title, sections=sections, about=about, findings=findings,
        warnings=warnings, card=card, links=links, first=first, bound=standing.bound, limits=LIMITS,
    )  # fmt: skip


def _filled(template: str, **values: Any) -> str:
    folder = files("ostrom.reports.page")
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: escaped(value) if type(value) is str else value,  # not our own Markup
    )
    return environment.get_template(template).render(
        version=__version__, style=Markup(folder.joinpath("style.css").read_text(encoding="utf-8")), **values
    )
