"""An exhibit of a paper with the values of runs: its printed table, mean ± spread with ours below, and its panels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import fixed
from ostrom.analysis.references import Published, RunFigure
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.values import grouped
from ostrom.reports.build import ReportFiles
from ostrom.reports.declared import panel_of
from ostrom.reports.exhibits.declared import MODEL, Exhibit
from ostrom.reports.page import Section
from ostrom.reports.panel import Table
from ostrom.reports.words import pretty

DOUBT = " †"
BEST = " *"


@dataclass(frozen=True, slots=True)
class ExhibitEntry:
    """One figure with its place in the table."""

    cell: Mapping[str, str]
    ours: bool
    model: str
    beside: str | None
    """For a run's figure: the paper's model in whose row it stands."""
    value: float
    spread: float | None
    low: float | None
    high: float | None
    matches: int | None
    source: str
    doubts: tuple[str, ...]
    word: str = ""
    count: str = ""
    run: str = ""
    """The run of an own figure."""
    digits: int = 1
    """Decimals: as printed; a run's figure has those of the printed one beside it."""

    def labels_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the labels of some columns."""
        model = f"{self.model} (ours)" if self.ours else self.model
        return tuple(model if name == MODEL else self.cell[name] for name in names)

    @property
    def text(self) -> str:
        """Mean ± spread as the paper prints it; a dagger marks a figure in doubt."""
        if self.word:
            return f"{self.word}{DOUBT if self.doubts else ''}"
        spread = "" if self.spread is None else f" ± {fixed(self.spread, self.digits)}"
        count = f" ({self.count})" if self.count else ""
        return f"{fixed(self.value, self.digits)}{spread}{count}{DOUBT if self.doubts else ''}"


def entries(
    one: Exhibit,
    columns: Sequence[str],
    published: Iterable[Published],
    own: Mapping[str, Iterable[RunFigure]],
    mapping: Mapping[str, str],
) -> list[ExhibitEntry]:
    """Return the figures of an exhibit: printed ones, then those of every run that meets its condition."""
    exhibit_entries = []
    digits: dict[tuple[str, ...], int] = {}
    for p in published:
        cell = dict(zip(columns, p.cell, strict=True))
        if p.source in one.sources and meets(cell, one.where):
            places = one.digits if p.digits is None else p.digits
            digits[p.cell] = max(places, digits.get(p.cell, 0))
            doubts = p.doubts or (("the label is uncertain",) if p.status == "uncertain" else ())
            exhibit_entries.append(
                ExhibitEntry(
                    cell,
                    False,
                    p.model or "all models",
                    None,
                    p.value,
                    p.spread,
                    None,
                    None,
                    None,
                    p.source,
                    doubts,
                    p.word,
                    p.count,
                    digits=places,
                )
            )
    allowed = {
        run: [(cell, o) for o in of if meets(cell := dict(zip(columns, o.cell, strict=True)), one.where)]
        for run, of in own.items()
    }
    several = sum(map(bool, allowed.values())) > 1
    ours = [
        ExhibitEntry(
            cell, True, f"{o.agent or 'all agents'}{f' in {run}' if several else ''}",
            mapping.get(o.agent) if o.agent is not None else "all models", o.value, o.spread, o.low, o.high, o.matches,
            "", o.doubts, o.word, o.count, run, digits.get(o.cell, one.digits),
        )
        for run, figures in allowed.items()
        for cell, o in figures
    ]  # fmt: skip
    return [*exhibit_entries, *ours]


def meets(cell: Mapping[str, str], where: Mapping[str, str | list[str]]) -> bool:
    """Return whether a cell meets a condition of an exhibit."""
    return all(cell[name] in (wanted if isinstance(wanted, list) else [wanted]) for name, wanted in where.items())


def printed_shape(one: Exhibit, entries: Sequence[ExhibitEntry], spread: str) -> Table:
    """Return the table; each row of a run is below the paper's rows that it belongs to.

    ``spread`` says what the paper's spreads are; ours are standard deviations.
    """
    across = _ordered([e.labels_of(one.columns) for e in _ranked(one, entries)])
    down = list(dict.fromkeys(e.labels_of(one.rows) for e in _ranked(one, entries)))
    best = _best(one, entries)
    cells = grouped(
        ((e.labels_of(one.rows), e.labels_of(one.columns)), f"{e.text}{BEST if id(e) in best else ''}") for e in entries
    )
    rows = [
        [
            *(_label(one, part) for part in key),
            *(" / ".join(dict.fromkeys(cells.get((key, level), ()))) or None for level in across),
        ]
        for key in down
    ]
    heads = [" ".join(text for part in level if (text := _label(one, part))) or "overall" for level in across]
    spreads = [
        f"{whose} {what}"
        for whose, what, ours in (("printed", spread, False), ("ours", "SD over matches", True))
        if any(e.spread is not None and e.ours == ours for e in entries)
    ]
    runs = dict.fromkeys(e.run for e in entries if e.ours)
    notes = (
        (runs, f" Rows or columns marked (ours) are of the run{'s' * (len(runs) > 1)} {', '.join(runs)}."),
        (spreads, f" After ±: {'; '.join(spreads)}."),
        (best, f"{BEST} the {one.best} of the paper's models, and of this run's agents."),
        (any(e.doubts for e in entries), " † in doubt: the table of single figures says why."),
    )
    return Table(
        one.name,
        [*one.rows, *heads],
        rows,
        f"{one.name}. {one.title}." + "".join(note for applies, note in notes if applies),
    )


def _best(one: Exhibit, entries: Sequence[ExhibitEntry]) -> set[int]:
    """Return the ids of the best figures of each cell; figures within rounding are equal."""
    if one.best is None:
        return set()
    rest = [name for name in (*one.rows, *one.columns) if name != MODEL]
    chosen: set[int] = set()
    for of in grouped(((e.ours, *e.labels_of(rest)), e) for e in entries).values():
        values = [e.value for e in of]
        top = max(values) if one.best == "highest" else min(values)
        chosen |= {id(e) for e in of if abs(e.value - top) <= 1e-9 * max(abs(top), 1.0) and len(of) > 1}
    return chosen


def _label(one: Exhibit, part: str) -> str:
    return one.labels.get(part, pretty(part))


def single_figures(one: Exhibit, columns: Sequence[str], entries: Sequence[ExhibitEntry]) -> Table:
    """One row per figure, with intervals and doubts."""
    used = [name for name in columns if any(e.cell[name] for e in entries)]
    rows: list[list[Any]] = [
        [*(e.cell[name] for name in used), "ours" if e.ours else "printed", e.model, e.run or None, e.word or e.value,
         e.spread, e.low, e.high, e.matches, e.source or None, "; ".join(e.doubts) or None]
        for e in entries
    ]  # fmt: skip
    return Table(
        f"{one.name} figures",
        [*used, "whose", MODEL, "run", "value", "spread", "low", "high", "matches", "source", "doubts"],
        rows,
        f"{one.name}: every figure by itself (95 % intervals).",
        shown=0,
    )


def _ranked(one: Exhibit, entries: Sequence[ExhibitEntry]) -> list[ExhibitEntry]:
    """Return the entries in the order of the paper; a run's figure follows those of its row and model."""
    keys = [name for name in (*one.rows, *one.columns) if name != MODEL]
    places = {
        name: {label: i for i, label in enumerate(_ordered([e.labels_of([name]) for e in entries]))} for name in keys
    }
    models = list(dict.fromkeys(e.model for e in entries if not e.ours))

    def rank(e: ExhibitEntry) -> tuple[Any, ...]:
        model = e.beside if e.ours else e.model
        place = models.index(model) if model in models else len(models)
        return tuple(
            (place, e.ours) if name == MODEL else (places[name][e.labels_of([name])], False)
            for name in (*one.rows, *one.columns)
        )

    return sorted(entries, key=rank)


def _ordered(labels: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return labels in their order; numbers by size."""
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct, key=lambda label: [float(part) for part in label])
    except ValueError:
        return distinct


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
        marks = ", ".join(f"${n}" for n in range(1, len(values) + 1))
        where = f"state = 'done' AND CAST({quoted(column)} AS VARCHAR) IN ({marks})"
        if column not in data.columns("matches") or not data.records(
            f"SELECT 1 FROM matches WHERE {where} LIMIT 1", *values
        ):
            return f"This run has no finished match with {column} = {' or '.join(values)}"
    return None
