"""The pages of a profile: one per model, and one that sets several models side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ostrom.analysis.estimate import Estimate, key_words, minus
from ostrom.analysis.registered import RegistrationStatus
from ostrom.analysis.verdicts import Verdict, above
from ostrom.features.profile.battery import Battery, ModelFigure, ModelProfile
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import refuse_link, write_atomically
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.canvas import ticks_for
from ostrom.reports.figures import both_widths, need_extras
from ostrom.reports.files import as_csv
from ostrom.reports.marks import dots
from ostrom.reports.page import Section, ShownFigure, page_table, plain_page
from ostrom.reports.panel import Table
from ostrom.reports.theme import LINE, MAIN, colours
from ostrom.reports.words import labels

PAGE, TABLE = "index.html", "figures.csv"
WORDS = {"yes": "higher", "no": "lower", "undecided": "not decided"}
PUBLISHED, PEOPLE = "published models", "people"
COLUMNS = ("part", "figure", "group", "who", "value", "low", "high", "n", "unit", "method", "source", "note")


def write_pages(out: Path, battery: Battery, profiles: Sequence[ModelProfile], *, about: str) -> list[Path]:
    """Write a page for every model, and with several models one that compares them."""
    need_extras()
    about = f"{battery.about} {about}".strip()
    several = len(profiles) > 1
    back = [("../index.html", "Compare with the other models")] if several else []
    pages = [(profile.folder, f"Profile by the battery {battery.name}", [profile], profile.model, back)
             for profile in profiles]  # fmt: skip
    if several:
        links = [(f"{profile.folder.name}/{PAGE}", profile.model) for profile in profiles]
        title = f"{how_many(len(profiles), 'model')} side by side"
        pages.append((out, f"Profiles by the battery {battery.name}", [*profiles], title, links))
    texts = [
        plain_page(
            kicker, title, _sections(shown), about=about, first=_side_by_side(shown), warnings=_warnings(shown),
            card=_card(battery, shown), standing=standing_of(shown), links=links,
        )
        for _, kicker, shown, title, links in pages
    ]  # fmt: skip
    for folder, _, shown, *_ in pages:
        _write(folder / TABLE, as_csv(Table("figures", COLUMNS, _rows(shown)), safe=True))
    return [_write(folder / PAGE, text) for (folder, *_), text in zip(pages, texts, strict=True)]


def standing_of(profiles: Sequence[ModelProfile]) -> RegistrationStatus:
    """Return the registration status of the profiles' runs."""
    return RegistrationStatus(tuple(one for profile in profiles for one in profile.bound))


def _card(battery: Battery, profiles: Sequence[ModelProfile]) -> list[tuple[str, str]]:
    return [
        ("Battery", f"{battery.title} ({battery.name})"),
        ("Models", ", ".join(profile.model for profile in profiles)),
        ("Calls", f"{sum(profile.calls for profile in profiles):,}"),
        ("Spent", f"{sum(profile.usd for profile in profiles):.4f} USD"),
        ("Intervals", f"{battery.level:.4g}, each by itself; the tables name the unit, mostly a match"),
        ("Published figures", "as printed, without an interval of ours; figures in doubt are left out"),
        ("Data", "the runs lie beside this page, one folder per part (ostrom report, ostrom estimate)"),
    ]


def _firsts(profile: ModelProfile) -> list[ModelFigure]:
    """Return the first figure of every part, preferably one without groups."""
    return [
        min(of, key=lambda entry: len(entry.estimates) > 1)
        for of in grouped((entry.part.name, entry) for entry in profile.taken if entry.estimates).values()
    ]


MOST_FIGURES = 6
"""The most rows of the first screen."""


def _side_by_side(profiles: Sequence[ModelProfile]) -> Section:
    """Return a table: a row for each main figure, a column for each model, and differences to the first model."""
    rows, differences = [], []
    for entry in _firsts(profiles[0])[:MOST_FIGURES]:
        key = entry.estimates[0].key
        cells = [
            next(
                (
                    estimate
                    for one in profile.taken
                    if (one.part, one.figure) == (entry.part, entry.figure)
                    for estimate in one.estimates
                    if estimate.key == key
                ),
                None,
            )
            for profile in profiles
        ]
        group = f" ({key_words(key)})" if len(entry.estimates) > 1 else ""
        ends = [v for e in cells if e for v in (e.value, e.low, e.high) if v is not None]
        shares = entry.figure.measure_object.scale == "share" and not (entry.figure.contrast or entry.figure.over)
        scale = (0.0, 1.0) if shares else ticks_for([*ends, 0.0]).domain
        rows.append((entry.figure.name + group, cells, scale))
        differences += [
            (len(rows) - 1, place, change)
            for place, other in enumerate(cells[1:], 1)
            if (change := _difference(cells[0], other)) is not None
        ]
    verdicts = above([change for _, _, change in differences])
    words = {(row, place): v for (row, place, _), v in zip(differences, verdicts, strict=True)}
    models = labels([profile.model for profile in profiles])
    head = ["figure", *models.values(), *(f"difference: {name}" for name in list(models.values())[1:])]
    body = [
        Markup('<tr><th scope="row">{}</th>{}{}</tr>').format(
            name,
            Markup("").join(_cell(e, scale, label) for e, label in zip(cells, models.values(), strict=True)),
            Markup("").join(
                _word(words.get((row, place)), list(models.values())[place]) for place in range(1, len(cells))
            ),
        )
        for row, (name, cells, scale) in enumerate(rows)
    ]
    table = Markup('<table class="claims profile"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(
        Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in head), Markup("").join(body)
    )
    note = f"Differences are to {head[1]}, with the intervals that their words rest on: {verdicts.control}."
    return Section("side-by-side", "At a glance", [note] if differences else [], html=[table])


def _difference(first: Estimate | None, other: Estimate | None) -> Estimate | None:
    """Return another model minus the first; None without either figure, or without stored spreads."""
    try:
        return None if first is None or other is None else minus(other, first)
    except UsageError:
        return None


def differences(profiles: Sequence[ModelProfile]) -> tuple[list[dict[str, Any]], str]:
    """Return all differences to the first model, each with the word higher, lower or not decided.

    Gives plain rows, and the error control in words. A figure that one of two models lacks is left out.
    """
    baseline = {_place(entry, one): one for entry in profiles[0].taken for one in entry.estimates}
    compared = [
        (profile.model, entry, key_words(one.key) if len(entry.estimates) > 1 else "", difference)
        for profile in profiles[1:]
        for entry in profile.taken
        for one in entry.estimates
        if (difference := _difference(baseline.get(_place(entry, one)), one)) is not None
    ]
    verdicts = above([difference for *_, difference in compared])
    rows = [
        {
            "model": model, "part": entry.part.name, "figure": entry.figure.name, "group": group,
            "difference": v.estimate.value, "low": v.estimate.low, "high": v.estimate.high,
            "verdict": WORDS[v.answer],
        }
        for (model, entry, group, _), v in zip(compared, verdicts, strict=True)
    ]  # fmt: skip
    return rows, verdicts.control


def _place(entry: ModelFigure, one: Estimate) -> tuple[Any, ...]:
    """Return what an estimate has in common with the same one of other models."""
    return entry.part.name, entry.figure.name, tuple(one.key.items())


def _cell(e: Estimate | None, scale: tuple[float, float], model: str) -> Markup:
    """Return a table cell: value and interval, as text and as a bar on the scale of the row."""
    if e is None:
        return Markup("<td>–</td>")
    low, high = scale
    at = [
        100 * ((v - low) / ((high - low) or 1.0))
        for v in (e.value if e.low is None else e.low, e.value, e.value if e.high is None else e.high)
    ]
    start, middle, end = (min(100.0, max(0.0, x)) for x in at)
    bar = Markup(
        '<svg class="bar" viewBox="-3 0 106 8" width="106" height="8" aria-hidden="true"><path d="M0 4H100" '
        'stroke="var(--rule)"/><path d="M{:.1f} 4H{:.1f}" stroke="{}" stroke-width="3"/>'
        '<circle cx="{:.1f}" cy="4" r="3.5" fill="{}"/></svg>'
    ).format(start, end, MAIN, middle, MAIN)
    return Markup('<td><span class="model">{}: </span>{}<br>{}</td>').format(model, e.text().partition(", n =")[0], bar)


def _word(verdict: Verdict | None, model: str) -> Markup:
    if verdict is None:
        return Markup("<td>–</td>")
    return Markup('<td><span class="model">{}: </span><span class="verdict {}">{}</span> {}</td>').format(
        model, "undecided" if verdict.answer == "undecided" else "", WORDS[verdict.answer],
        verdict.estimate.text().partition(", n =")[0],
    )  # fmt: skip


def _warnings(profiles: Sequence[ModelProfile]) -> list[str]:
    """Return the warnings without repetition; a warning shared by several models names none of them."""
    by_note = grouped((note, labels([one.model])[one.model]) for one in profiles for note in one.notes)
    return [
        f"{note.rstrip('.')}." if len(who) == len(profiles) else f"{', '.join(who)}: {note.rstrip('.')}."
        for note, who in by_note.items()
    ]


def _sections(profiles: Sequence[ModelProfile]) -> list[Section]:
    """One section per part, with a chart per figure."""
    sections: dict[str, Section] = {}
    tables: dict[str, list[list[Any]]] = {}
    for entry in profiles[0].taken:
        part = entry.part
        if part.name not in sections:
            sections[part.name] = Section(f"part-{part.name}", part.title, [part.about] if part.about else [])
        section = sections[part.name]
        number = sum(len(one.figures) for one in sections.values())
        same = [
            next((t for t in profile.taken if (t.part, t.figure) == (part, entry.figure)), None) for profile in profiles
        ]
        by_model = [(profile.model, one) for profile, one in zip(profiles, same, strict=True) if one is not None]
        section.notes += [f"{entry.figure.name}, {model}: {one.error}" for model, one in by_model if one.error]
        if any(one.estimates for _, one in by_model):
            section.figures.append(_figure(entry, by_model, f"f{number}"))
        tables.setdefault(part.name, []).extend(row[1:] for row in _rows_of(by_model))
    for name, rows in tables.items():
        filled = [i for i in range(len(COLUMNS) - 1) if any(row[i] not in (None, "") for row in rows)]
        columns, cells = tuple(COLUMNS[1:][i] for i in filled), [[row[i] for i in filled] for row in rows]
        sections[name].tables.append(
            page_table(Table(name, columns, cells, f"{sections[name].title}: every figure"), "")
        )
    return list(sections.values())


def _figure(entry: ModelFigure, by_model: Sequence[tuple[str, ModelFigure]], prefix: str) -> ShownFigure:
    """Return a chart of dots with whiskers: the models, then published models and people."""
    figure = entry.figure
    models = [model for model, _ in by_model]
    series: dict[str, str] = {**dict(zip(models, colours(models) if len(models) > 1 else [MAIN], strict=True))}
    by_group = any(len(one.estimates) > 1 for _, one in by_model)
    rows = [
        _dot(_group(e) if by_group else model, model, e.value, e.low, e.high)
        for model, one in by_model
        for e in one.estimates
    ]
    for other in entry.beside:
        kind = PEOPLE if other.people else PUBLISHED
        series[kind] = "#009E73" if other.people else LINE
        label = " / ".join(other.group) if by_group and other.group else other.name
        rows.append(_dot(label, kind, other.value, None, None))
    shares = figure.measure_object.scale == "share" and not (figure.contrast or figure.over)
    chart = dots(
        {"": rows},
        axis=figure.words.replace(figure.measure_object.name, figure.measure_object.title.lower(), 1),
        series=series,
        domain=(0, 1) if shares else None,
        zero=bool(figure.contrast or figure.over),
        legend=by_group,
    )
    summary = "; ".join(f"{row['label']}, {row['series']}: {row['mean']:.3g}" for row in rows[:40])
    sources = "; ".join(dict.fromkeys(other.source for other in entry.beside))
    caption = f"{figure.name}. {figure.about} {'Beside it: ' + sources + '.' if sources else ''}".strip()
    return ShownFigure(both_widths(chart, prefix), caption, f"{figure.name}. {summary}.", "")


def _group(estimate: Estimate) -> str:
    return " / ".join(str(value) for name, value in estimate.key.items() if name != "over")


def _dot(label: str, series: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"label": label, "series": series, "mean": value, "low": low, "high": high}


def _rows(profiles: Sequence[ModelProfile]) -> list[list[Any]]:
    return [row for profile in profiles for one in profile.taken for row in _rows_of([(profile.model, one)])]


def _rows_of(figures: Sequence[tuple[str, ModelFigure]]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for model, one in figures:
        head = [one.part.name, one.figure.name]
        rows += [
            [*head, _group(e), model, e.value, e.low, e.high, e.n, e.unit, e.method, "", e.note] for e in one.estimates
        ]
        if one.error:
            rows.append([*head, "", model, None, None, None, None, "", "", "", one.error])
    for other in figures[0][1].beside if figures else ():
        head = [figures[0][1].part.name, figures[0][1].figure.name]
        rows.append([*head, " / ".join(other.group), other.name, other.value, *[None] * 3, "", "", other.source, ""])
    return rows


def as_data(profiles: Sequence[ModelProfile]) -> list[Mapping[str, Any]]:
    """The profiles as plain data."""
    return [
        {
            "model": profile.model,
            "page": str(profile.folder / PAGE),
            "complete": profile.complete,
            "calls": profile.calls,
            "usd": profile.usd,
            "notes": profile.notes,
            "figures": [
                {
                    "part": entry.part.name,
                    "figure": entry.figure.name,
                    "error": entry.error or None,
                    "estimates": [estimate.as_dict() for estimate in entry.estimates],
                    "beside": [
                        {"name": other.name, "value": other.value, "group": list(other.group), "source": other.source}
                        for other in entry.beside
                    ],
                }
                for entry in profile.taken
            ],
        }
        for profile in profiles
    ]


def _write(path: Path, text: str) -> Path:
    refuse_link(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", errors="replace"))
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path
