"""Panels as data: the file ``panels.yaml`` of a package says what they compute, draw and list.

An entry is a chart under a name (``chart: dots, measure: cooperation``), or says what it shows::

    memory_recovery:
      title: A cleaned past
      let: {points: recoveries(data)}
      empty: {if: not points, say: No finished match has a sanitized memory.}
      figures:
      - {name: memory_recovery, kind: curve, each: points, x: r.real, series: r.agent, value: r.cooperation, ...}
      tables:
      - {name: memory_recovery, each: points, columns: [agent, game, "cooperation, low, high = r.cooperation"]}
      notes: ["{{ points|length }} points."]

``use`` at the top of the file names the functions of Python modules that entries call; a leading dot is the package of
the file. Values are Jinja expressions and texts are Jinja templates: in both, ``data`` is the run, ``r`` the row of
``each``, and each name in ``parameters`` and ``let`` stands for its value. An empty text is left out.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib import import_module
from itertools import product
from operator import attrgetter
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, TemplateError
from markupsafe import Markup

from ostrom.analysis.estimate import Estimate, fixed, keyed
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.registry import Registry, own_holders, package_folder, parse_spec, replications
from ostrom.ground.yaml import read_yaml
from ostrom.reports.cells import agents, drawn_values, legend_note, levels, varied
from ostrom.reports.chart import Spec, chart_spec, charts, is_chart, sample_sizes_text
from ostrom.reports.drawing import JOINING, KINDS, Row
from ostrom.reports.layout import cell_label, named, tones
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MAIN, MOST_COLOURS
from ostrom.reports.words import Share, join_labels, labels, pretty, upper, written

FILE = "panels.yaml"
"""The file of a package that declares panels."""

Scope = Mapping[str, Any]
Expression = Callable[[Scope], Any]


def _share(value: float | None) -> Share | None:
    return None if value is None else Share(value)


def _short(value: Any, values: Sequence[Any]) -> str:
    return labels(values)[value]


def _must_be(kind: str, name: str, allowed: Iterable[str]) -> str:
    """Raise ``UnknownName`` if a name is not allowed; the result is an empty text."""
    if name not in allowed:
        raise UnknownName(kind, name, allowed)
    return ""


PLAIN = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
PAGE = Environment(undefined=StrictUndefined, autoescape=True)


def values_at(row: Any, columns: Sequence[str]) -> tuple[Any, ...]:
    """The values of an estimate (in its key) or of a row in some columns."""
    return (
        tuple(row.key[name] for name in columns)
        if isinstance(row, Estimate)
        else tuple(getattr(row, name) for name in columns)
    )


def ordered(rows: Iterable[Any], **columns: Sequence[Any]) -> list[Any]:
    """Rows sorted by the order of the levels of some columns; a value that is no level comes first."""
    places = {name: {level: i for i, level in enumerate(levels)} for name, levels in columns.items()}
    return sorted(rows, key=lambda row: [of.get(getattr(row, name), -1) for name, of in places.items()])


def nested(rows: Iterable[Any], path: str) -> list[tuple[Any, Any]]:
    """Each row paired with each element of the list that it has at an attribute path."""
    return [(row, part) for row in rows for part in attrgetter(path)(row)]


def pick(of: Mapping[str, Any], keys: Iterable[str], other: Any = None, unknown: Any = None) -> list[Any]:
    """The values of some keys; ``other`` where the key is missing, ``unknown`` where the value is None."""
    return [unknown if (value := of.get(key, other)) is None else value for key in keys]


def triple(value: Estimate | None) -> list[float | None]:
    """The value, low and high of an estimate, as three cells of a table."""
    return [None, None, None] if value is None else [value.value, value.low, value.high]


HELPERS: Mapping[str, Callable[..., Any]] = {
    "agents": agents,
    "cell_label": cell_label,
    "by_key": lambda rows, column: {row[column]: row for row in rows},
    "fixed": fixed, "join": named, "levels": levels, "listed": join_labels, "marks_told": legend_note,
    "must_be": _must_be, "nested": nested, "ordered": ordered, "pick": pick, "pretty": pretty,
    "product": lambda *parts: list(product(*parts)),
    "quoted": lambda names: [quoted(name) for name in names],
    "rests_on": sample_sizes_text, "share": _share, "short": _short,
    "texts": lambda form, values: [form.format(value) for value in values],
    "unique": lambda values: list(dict.fromkeys(values)),
    "triple": triple, "upper": upper, "varied": varied, "written": written,
    "worded": lambda key: [f"{pretty(name)} {written(value)}" for name, value in key.items()],
    "zip": lambda *parts: list(zip(*parts, strict=True)),
}  # fmt: skip
"""The functions that expressions and texts of every ``panels.yaml`` can call."""

for _environment in (PLAIN, PAGE):
    _environment.filters |= {"at": values_at, "keyed": keyed, "short": _short}


def expression(text: Any) -> Expression:
    """A function from a scope to a declared value: a text is an expression, anything else is the value itself."""
    if not isinstance(text, str):
        return lambda _: text
    compiled = _compiled(text)
    return lambda scope: compiled(dict(scope))


def text_of(source: str, page: Environment = PLAIN) -> Expression:
    """A function from a scope to a declared text, rendered as a Jinja template."""
    template = _template(" ".join(source.split()) if page is PLAIN else source, page)
    return lambda scope: template.render(dict(scope)).strip()


@lru_cache(maxsize=2048)
def _compiled(text: str) -> Callable[..., Any]:
    """An expression, compiled once: panels are made when a study is checked, and again when they are drawn."""
    return PLAIN.compile_expression(text, undefined_to_none=False)


@lru_cache(maxsize=2048)
def _template(text: str, page: Environment) -> Template:
    """A template, compiled once."""
    return page.from_string(text)


class Column:
    """One entry of ``columns``: ``name``, ``head = value``, ``value, low, high = estimate`` or ``*heads = values``."""

    def __init__(self, entry: str) -> None:
        head, equals, value = (part.strip() for part in entry.rpartition(" = "))
        if not equals:
            head, value = value, f"r['{value}']"
        self.spread = head.startswith("*")
        self.heads = [head[1:]] if self.spread else [part.strip() for part in head.split(",")]
        self.listed = expression(head[1:]) if self.spread else None
        self.value = expression(value)

    def names(self, scope: Scope) -> list[str]:
        """The heads of the column: several if it holds an estimate with its interval, or a list."""
        return self.heads if self.listed is None else [str(name) for name in self.listed(scope)]

    def cells(self, scope: Scope) -> list[Any]:
        """The cells of the column in the row of a scope."""
        value = self.value(scope)
        return list(value) if self.spread else [value] if len(self.heads) == 1 else triple(value)


class PanelPart:
    """A figure, a table, a note or a page fragment: its rows (``each``), its condition (``if``) and its ``repeat``."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.each = expression(spec.get("each", "[]"))
        self.wanted = expression(spec.get("if", True))
        self.repeated = expression(spec.get("repeat", [None]))

    def scopes(self, scope: Scope) -> list[dict[str, Any]]:
        """A scope for each time that the part is shown; ``part`` is the value of ``repeat`` that it is shown for."""
        return [own for value in self.repeated(scope) if self.wanted(own := {**scope, "part": value})]

    def rows(self, scope: Scope) -> list[dict[str, Any]]:
        """A scope for each row of ``each``, in which ``r`` is the row."""
        return [{**scope, "r": row} for row in self.each(scope)]


class DeclaredTable(PanelPart):
    """A table: ``name``, ``each``, ``columns``, ``caption`` and ``shown``."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        self.name, self.caption = text_of(spec["name"]), text_of(spec.get("caption", ""))
        self.columns, self.shown = [Column(entry) for entry in spec["columns"]], spec.get("shown", 400)

    def made(self, scope: Scope) -> list[Table]:
        """The table, once for each value of ``repeat``."""
        return [
            Table(
                self.name(own),
                [name for column in self.columns for name in column.names(own)],
                [[cell for column in self.columns for cell in column.cells(row)] for row in self.rows(own)],
                self.caption(own),
                self.shown,
            )
            for own in self.scopes(scope)
        ]


class DeclaredFigure(PanelPart):
    """A figure: its ``kind``, the values that place a row in it, and its settings (``ostrom.reports.drawing``).

    Every level of ``series`` has a colour. If there are more levels than colours, the level becomes part of the row's
    label instead, or with ``split`` the levels are divided among several figures.
    """

    TEXTS = ("label", "facet", "axis", "x_title", "legend")
    VALUES = ("x", "y", "series", "value", "low", "high", "part_of")

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        self.paint, self.split = KINDS[spec["kind"]], spec.get("split", False)
        self.joins = spec["kind"] in JOINING and spec.get("crowd", True)
        self.name, self.caption, self.alt = (text_of(spec[key]) for key in ("name", "caption", "alt"))
        self.texts = {key: text_of(spec[key]) for key in self.TEXTS if key in spec}
        self.values = {key: expression(spec[key]) for key in self.VALUES if key in spec}
        self.settings = {key: expression(of) for key, of in (spec.get("draw") or {}).items()}
        self.order = expression(spec["order"]) if "order" in spec else None

    def made(self, scope: Scope) -> list[Figure]:
        """The figures: one for each value of ``repeat``, and several for it with ``split``."""
        return [figure for own in self.scopes(scope) for figure in self._figures(own)]

    def _figures(self, scope: Scope) -> list[Figure]:
        drawn = ((row["r"], self._row(row)) for row in self.rows(scope))
        placed = [(r, row) for r, row in drawn if row["mean"] is not None]
        met = dict.fromkeys(row["series"] for _, row in placed)
        series = [*dict.fromkeys(name for name in (*(self.order(scope) if self.order else ()), *met) if name in met)]
        groups = [series[i : i + MOST_COLOURS] for i in range(0, len(series), MOST_COLOURS)] if self.split else [series]
        return [
            self._figure(scope, [(r, row) for r, row in placed if row["series"] in group], group, number)
            for number, group in enumerate(groups)
            if group
        ]

    def _row(self, scope: Scope) -> Row:
        row: dict[str, Any] = {key: of(scope) for key, of in self.values.items()}
        value = row.pop("value", None)
        row |= (
            drawn_values(value)
            if isinstance(value, Estimate)
            else {"mean": value, "low": row.get("low"), "high": row.get("high")}
        )
        return {
            "series": "",
            "facet": "",
            "label": "",
            **row,
            **{key: self.texts[key](scope) for key in ("label", "facet") if key in self.texts},
        }

    def _figure(self, scope: Scope, placed: Sequence[tuple[Any, Row]], series: Sequence[Any], number: int) -> Figure:
        scope = {**scope, "drawn": [r for r, _ in placed]}
        names, rows = labels(series), [row for _, row in placed]
        crowded = len(series) > MOST_COLOURS and self.joins
        rows = [
            {
                **row,
                "label": f"{row['label']} · {names[row['series']]}" if crowded else row["label"],
                "series": "all types" if crowded else names[row["series"]],
            }
            for row in rows
        ]
        tints = {"all types": MAIN} if crowded else tones(scope["data"], None, names)
        chart = self.paint(
            rows,
            list(tints),
            tints=tints,
            **{key: of(scope) for key, of in self.texts.items() if key not in ("label", "facet")},
            **{key: of(scope) for key, of in self.settings.items()},
        )
        return Figure(
            self.name(scope) + (f"_{number + 1}" if number else ""), chart, self.caption(scope), self.alt(scope)
        )


class Sentence(PanelPart):
    """A sentence, one sentence for each row of ``each``, or a list of sentences that an expression gives (``all``)."""

    def __init__(self, spec: str | Mapping[str, Any]) -> None:
        spec = {"say": spec} if isinstance(spec, str) else spec
        super().__init__(spec)
        self.single, self.sentences = "each" not in spec, expression(spec.get("all", []))
        self.text = text_of(spec.get("say", "") if "all" in spec else spec["say"])

    def made(self, scope: Scope) -> list[str]:
        """The sentences that are not empty."""
        return [
            sentence
            for own in self.scopes(scope)
            for sentence in (*self.sentences(own), *map(self.text, [own] if self.single else self.rows(own)))
            if sentence
        ]


class Fragment(PanelPart):
    """A fragment of the page for each row: a template whose values are escaped."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        super().__init__(spec)
        self.page = text_of(spec["page"], PAGE)

    def made(self, scope: Scope) -> list[Markup]:
        """The rendered fragments, one for each row."""
        return [Markup(self.page(row)) for own in self.scopes(scope) for row in self.rows(own)]


PARTS: Mapping[str, Callable[[Any], Any]] = {
    "figures": DeclaredFigure, "tables": DeclaredTable, "notes": Sentence, "html": Fragment,
}  # fmt: skip
"""The classes of the parts of a panel, by their key in ``panels.yaml``."""


def reasons(spec: Any) -> list[Sentence]:
    """The sentences of a declared reason, or of a list of them: ``say``, with or without a condition."""
    return [Sentence(of) for of in ([spec] if isinstance(spec, Mapping) else spec or ())]


def first_sentence(sentences: Iterable[Sentence], scope: Scope) -> str | None:
    """The first text that is not empty; None if there is none."""
    return next((text for sentence in sentences for text in sentence.made(scope)), None)


class DeclaredPanel(Panel):
    """A panel that a file ``panels.yaml`` declares, with its parameters.

    ``refuse`` says why parameters do not fit. ``unless`` and ``empty`` say why there is nothing to draw: ``unless`` is
    evaluated before ``let``, ``empty`` after it. ``refused`` is shown instead if ``let`` needs something that the run
    does not have.
    """

    def __init__(self, spec: Mapping[str, Any], used: Scope, parameters: Scope) -> None:
        self.scope: Scope = {**HELPERS, **used, **(spec.get("constants") or {}), **parameters}
        if why := first_sentence(reasons(spec.get("refuse")), self.scope):
            raise ValueError(why)
        self.title = text_of(spec["title"])(self.scope)
        self.let = {name: expression(of) for name, of in (spec.get("let") or {}).items()}
        self.unless, self.empty, self.refused = (reasons(spec.get(key)) for key in ("unless", "empty", "refused"))
        self.parts = {key: [part(of) for of in spec.get(key) or ()] for key, part in PARTS.items()}

    def draw(self, data: RunData) -> Drawn:
        """Compute the values of ``let``, then make figures, tables, notes and fragments, or say why there are none."""
        scope: dict[str, Any] = {**self.scope, "data": data}
        if why := first_sentence(self.unless, scope):
            return Drawn(notes=[why])
        try:
            for name, of in self.let.items():
                scope[name] = of(scope)
        except UsageError as error:
            if not self.refused:
                raise
            return Drawn(notes=[sentence for of in self.refused for sentence in of.made({**scope, "error": error})])
        if why := first_sentence(self.empty, scope):
            return Drawn(notes=[why])
        return Drawn(**{key: [one for part in parts for one in part.made(scope)] for key, parts in self.parts.items()})


def panel_factory(name: str, package: str, file: Mapping[str, Any]) -> Callable[..., Panel]:
    """A function that builds a declared panel; the panel's parameters and their defaults are its signature."""
    spec = file[name]
    if "python" in spec:
        module, _, part = spec["python"].partition(":")
        factory: Callable[..., Panel] = getattr(import_module(module, package), part)
        return factory
    defaults, needed = spec.get("parameters") or {}, spec.get("needs") or ()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(key, kind) for key in needed]
        + [inspect.Parameter(key, kind, default=value) for key, value in defaults.items()]
    )

    def build(*args: Any, **kwargs: Any) -> Panel:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if "chart" in spec:
            return _chart(spec, bound.arguments)
        try:
            return DeclaredPanel(spec, _used(spec, package, file), bound.arguments)
        except (TemplateError, ImportError, KeyError) as error:
            what = f"{type(error).__name__}: {error}"
            raise StudyError(f"panel {name} cannot be read: {what}", file=f"{package}/{FILE}") from error

    build.__doc__, build.__name__ = spec.get("about"), name
    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def _chart(spec: Mapping[str, Any], parameters: Scope) -> Panel:
    """The chart that an entry names; ``$x`` in it stands for the parameter x."""
    return panel_of(
        {
            key: parameters[value[1:]] if isinstance(value, str) and value.startswith("$") else value
            for key, value in spec.items()
            if key not in ("about", "parameters", "needs")
        }
    )


def _used(spec: Mapping[str, Any], package: str, file: Mapping[str, Any]) -> dict[str, Any]:
    """The functions from ``use`` that an entry mentions; no others are imported."""
    words = set(re.findall(r"\w+", repr(spec)))
    return {
        name: getattr(import_module(module, package), name)
        for module, names in (file.get("use") or {}).items()
        for name in names
        if name in words
    }


class PanelRegistry(Registry[Panel]):
    """All panels: those written in Python, one per file, and those declared in a package's ``panels.yaml``."""

    @cached_property
    def _files(self) -> dict[str, str]:
        places = super()._files
        for package in _holders():
            for name in declared_panels(package):
                place = f"{package}/{FILE}"
                if name != "use" and places.setdefault(name, place) != place:
                    self._clashes.setdefault(name, [places[name]]).append(place)
        return places

    def get(self, name: str) -> Callable[..., Panel]:
        """The factory of a panel; if the name is unknown, a ``panels.yaml`` that cannot be read is reported instead."""
        if name not in self:
            for package in replications().values():
                declared_panels(package, strict=True)
        return super().get(name)

    def _loaded(self, name: str) -> Callable[..., Panel]:
        package, slash, _ = self._files.get(name, "").partition("/")
        return super()._loaded(name) if not slash else panel_factory(name, package, declared_panels(package))


@cache
def declared_panels(package: str, *, strict: bool = False) -> dict[str, Any]:
    """The entries of a package's ``panels.yaml``; none if there is no such file, or it cannot be read.

    With ``strict``, a file that cannot be read is an error.
    """
    file = package_folder(package).joinpath(FILE)
    if not file.is_file():
        return {}
    place = f"{package}/{FILE}"
    try:
        entries = read_yaml(file.read_text(encoding="utf-8"), place)
        if not isinstance(entries, dict) or not all(isinstance(of, dict) for of in entries.values()):
            raise StudyError("must map the name of each panel to what it shows", file=place)
    except (StudyError, UnicodeDecodeError) as error:
        if not strict:
            return {}
        raise error if isinstance(error, StudyError) else StudyError(str(error), file=place) from error
    return entries


def _holders() -> list[str]:
    """The packages that may declare panels."""
    return ["ostrom.reports", *own_holders(), *replications().values()]


def shown_with(rows: Mapping[str, int]) -> list[str]:
    """The panels that a report has unasked: those with ``shown_with: TABLE`` where the run has rows in that table."""
    return sorted(
        name
        for package in _holders()
        for name, spec in declared_panels(package).items()
        if rows.get(spec.get("shown_with", ""))
    )


panels: Registry[Panel] = PanelRegistry("panel", None, "PANEL", "ostrom.panels", folder="panels")


def panel_of(spec: Spec, *, key: str = "report.panels", file: str | None = None) -> Panel:
    """A panel from a study file: by its name, or a chart declared as data."""
    return (
        charts.build(chart_spec(spec), key=key, file=file) if is_chart(spec) else panels.build(spec, key=key, file=file)
    )


def panel_name(spec: Spec, *, key: str = "report.panels", file: str | None = None) -> str:
    """The name of a panel or a declared chart in files and messages."""
    return parse_spec(chart_spec(spec) if is_chart(spec) else spec, key=key, file=file)[0]
