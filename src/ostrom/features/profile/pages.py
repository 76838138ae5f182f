"""The pages of a profile: one per model, and one that sets several models side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ostrom.analysis.estimate import Estimate, key_words
from ostrom.features.profile.battery import Battery, ModelProfile, Taken
from ostrom.ground.errors import RunError
from ostrom.ground.files import refuse_link, write_whole
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.figures import for_page, need_extras, render
from ostrom.reports.files import as_csv
from ostrom.reports.marks import dots
from ostrom.reports.page import Section, ShownFigure, plain_page, shown_table
from ostrom.reports.panel import Table
from ostrom.reports.theme import LINE, MAIN, colours

PAGE, TABLE = "index.html", "figures.csv"
PUBLISHED, PEOPLE = "published models", "people"
COLUMNS = ("part", "figure", "group", "who", "value", "low", "high", "n", "unit", "method", "source", "note")


def write_pages(out: Path, battery: Battery, profiles: Sequence[ModelProfile], *, about: str) -> list[Path]:
    """Write a page for every model, and with several models one that compares them."""
    need_extras()
    about = f"{battery.about} {about}".strip()
    several = len(profiles) > 1
    pages = {
        profile.folder: plain_page(
            f"Profile by the battery {battery.name}",
            profile.model,
            _sections([profile]),
            about=about,
            findings=[_finding(taken) for taken in _firsts(profile)],
            warnings=profile.notes,
            card=_card(battery, [profile]),
            links=[("../index.html", "Compare with the other models")] if several else [],
        )
        for profile in profiles
    }
    tables = {profile.folder: _rows([profile]) for profile in profiles}
    if several:
        tables[out] = _rows(profiles)
        pages[out] = plain_page(
            f"Profiles by the battery {battery.name}",
            f"{how_many(len(profiles), 'model')} side by side",
            [_side_by_side(profiles), *_sections(profiles)],
            about=about,
            warnings=[f"{profile.model}: {note}" for profile in profiles for note in profile.notes],
            card=_card(battery, profiles),
            links=[(f"{profile.folder.name}/{PAGE}", profile.model) for profile in profiles],
        )
    for folder, rows in tables.items():
        _write(folder / TABLE, as_csv(Table("figures", COLUMNS, rows), safe=True))
    return [_write(folder / PAGE, page) for folder, page in pages.items()]


def _card(battery: Battery, profiles: Sequence[ModelProfile]) -> list[tuple[str, str]]:
    return [
        ("Battery", f"{battery.title} ({battery.name})"),
        ("Models", ", ".join(profile.model for profile in profiles)),
        ("Calls", f"{sum(profile.calls for profile in profiles):,}"),
        ("Spent", f"{sum(profile.usd for profile in profiles):.4f} USD"),
        (
            "Intervals",
            f"{battery.level:.4g}, each by itself; the tables name the unit, mostly a match",
        ),
        ("Published figures", "as printed, without an interval of ours; figures in doubt are left out"),
        ("Data", "the runs lie beside this page, one folder per part (ostrom report, ostrom estimate)"),
    ]


def _firsts(profile: ModelProfile) -> list[Taken]:
    """The first figure of every part; one without groups, where there is one."""
    parts = grouped((taken.part.name, taken) for taken in profile.taken)
    figures = [[taken for taken in of if taken.estimates] for of in parts.values()]
    return [min(of, key=lambda taken: len(taken.estimates) > 1) for of in figures if of]


def _side_by_side(profiles: Sequence[ModelProfile]) -> Section:
    """One row for the first figure of every part, one column for every model."""
    rows = []
    for taken in _firsts(profiles[0]):
        key = taken.estimates[0].key
        cells = [
            next(
                (
                    found.text()
                    for one in profile.taken
                    if (one.part, one.figure) == (taken.part, taken.figure)
                    for found in one.estimates
                    if found.key == key
                ),
                "",
            )
            for profile in profiles
        ]
        group = f" ({key_words(key)})" if len(taken.estimates) > 1 else ""
        rows.append([taken.figure.name + group, *cells])
    table = Table("side_by_side", ("figure", *(profile.model for profile in profiles)), rows, "First figures")
    return Section("side-by-side", "At a glance", tables=[shown_table(table, "", always_open=True)])


def _finding(taken: Taken) -> str:
    (one, *more) = taken.estimates
    group = f" ({key_words(one.key)})" if more else ""
    return f"{taken.figure.name}{group}: {one.text()}"


def _sections(profiles: Sequence[ModelProfile]) -> list[Section]:
    """One section per part, with a chart per figure."""
    sections: dict[str, Section] = {}
    tables: dict[str, list[list[Any]]] = {}
    for taken in profiles[0].taken:
        part = taken.part
        if part.name not in sections:
            sections[part.name] = Section(f"part-{part.name}", part.title, [part.about] if part.about else [])
        section = sections[part.name]
        number = sum(len(one.figures) for one in sections.values())
        same = [
            next((t for t in profile.taken if (t.part, t.figure) == (part, taken.figure)), None)
            for profile in profiles
        ]
        known = [(profile.model, one) for profile, one in zip(profiles, same, strict=True) if one is not None]
        section.notes += [f"{taken.figure.name}, {model}: {one.error}" for model, one in known if one.error]
        if any(one.estimates for _, one in known):
            section.figures.append(_figure(taken, known, f"f{number}"))
        tables.setdefault(part.name, []).extend(row[1:] for row in _rows_of(known))
    for name, rows in tables.items():
        kept = [i for i in range(len(COLUMNS) - 1) if any(row[i] not in (None, "") for row in rows)]
        columns = tuple(COLUMNS[1:][i] for i in kept)
        table = Table(
            name, columns, [[row[i] for i in kept] for row in rows], f"{sections[name].title}: every figure"
        )
        sections[name].tables.append(shown_table(table, ""))
    return list(sections.values())


def _figure(taken: Taken, known: Sequence[tuple[str, Taken]], prefix: str) -> ShownFigure:
    """Dots with whiskers: the models, then published models and people."""
    figure = taken.figure
    models = [model for model, _ in known]
    tones = colours(models) if len(models) > 1 else [MAIN]
    series: dict[str, str] = {**dict(zip(models, tones, strict=True))}
    by_group = any(len(one.estimates) > 1 for _, one in known)
    rows = [
        _dot(_group(e) if by_group else model, model, e.value, e.low, e.high)
        for model, one in known
        for e in one.estimates
    ]
    others = taken.beside
    for other in others:
        kind = PEOPLE if other.people else PUBLISHED
        label = " / ".join(other.group) if by_group and other.group else other.name
        series[kind] = "#009E73" if other.people else LINE
        rows.append(_dot(label, kind, other.value, None, None))
    shares = figure.part.scale == "share" and not (figure.contrast or figure.over)
    chart = dots(
        {"": rows},
        axis=figure.words.replace(figure.part.name, figure.part.title.lower(), 1),
        series=series,
        domain=(0, 1) if shares else None,
        zero=bool(figure.contrast or figure.over),
        legend=by_group,
    )
    svg, _ = render(chart)
    said = "; ".join(f"{row['label']}, {row['series']}: {row['mean']:.3g}" for row in rows[:40])
    sources = "; ".join(dict.fromkeys(other.source for other in others))
    caption = f"{figure.name}. {figure.about} {'Beside it: ' + sources + '.' if sources else ''}".strip()
    return ShownFigure(Markup(for_page(svg, prefix)), caption, f"{figure.name}. {said}.", "")


def _group(estimate: Estimate) -> str:
    return " / ".join(str(value) for name, value in estimate.key.items() if name != "over")


def _dot(label: str, series: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"label": label, "series": series, "mean": value, "low": low, "high": high}


def _rows(profiles: Sequence[ModelProfile]) -> list[list[Any]]:
    return [row for profile in profiles for one in profile.taken for row in _rows_of([(profile.model, one)])]


def _rows_of(known: Sequence[tuple[str, Taken]]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for model, one in known:
        head = [one.part.name, one.figure.name]
        rows += [
            [*head, _group(e), model, e.value, e.low, e.high, e.n, e.unit, e.method, "", e.note]
            for e in one.estimates
        ]
        if one.error:
            rows.append([*head, "", model, None, None, None, None, "", "", "", one.error])
    for other in known[0][1].beside if known else ():
        head = [known[0][1].part.name, known[0][1].figure.name]
        rows.append(
            [*head, " / ".join(other.group), other.name, other.value, *[None] * 3, "", "", other.source, ""]
        )
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
                    "part": taken.part.name,
                    "figure": taken.figure.name,
                    "error": taken.error or None,
                    "estimates": [estimate.as_dict() for estimate in taken.estimates],
                    "beside": [
                        {
                            "name": other.name,
                            "value": other.value,
                            "group": list(other.group),
                            "source": other.source,
                        }
                        for other in taken.beside
                    ],
                }
                for taken in profile.taken
            ],
        }
        for profile in profiles
    ]


def _write(path: Path, text: str) -> Path:
    refuse_link(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode("utf-8", errors="replace"))
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path
