"""Compile every expression of the YAML declarations and resolve every name: `make lint`.

No type checker reads these files. A problem is one line: the file, the entry, and what is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from jinja2 import TemplateError, meta
from jinja2.defaults import DEFAULT_NAMESPACE

from ostrom.analysis.measure import measures
from ostrom.ground.registry import own_holders, package_folder, replications
from ostrom.ground.yaml import read_yaml
from ostrom.reports.chart import charts
from ostrom.reports.declared import FILE, HELPERS, PAGE, PLAIN, Column, DeclaredFigure, panels
from ostrom.reports.drawing import KINDS

EVERYWHERE = {*HELPERS, *DEFAULT_NAMESPACE}


def main() -> int:
    """Print every problem; the exit code says whether there is one."""
    lines = list(problems())
    print("\n".join(lines) or "every expression of the declarations compiles, every name is known")
    return 1 if lines else 0


def problems() -> Iterator[str]:
    """What is wrong with the declarations of the package, a line each."""
    checks = {FILE: of_panels, "measures.yaml": of_measures, "exhibits.yaml": of_exhibits}
    for package in ("ostrom.reports", "ostrom.analysis.measures", *own_holders(), *replications().values()):
        for path in package_folder(package).iterdir():
            check = of_measures if package == "ostrom.analysis.measures" else checks.get(path.name)
            if check is not None and path.name.endswith(".yaml"):
                content = read_yaml(path.read_text(encoding="utf-8"), str(path))
                yield from (f"{package}/{path.name}: {line}" for line in check(content, package))


def of_panels(file: Mapping[str, Any], package: str) -> Iterator[str]:
    """What is wrong with the panels of one file."""
    used = {name: module for module, names in (file.get("use") or {}).items() for name in names}
    for name, module in used.items():
        yield from (f"use: {line}" for line in resolved(f"{module}:{name}", package))
    mentioned: set[str] = set()
    for entry, spec in file.items():
        if entry == "use":
            continue
        if "python" in spec:
            yield from (f"{entry}: {line}" for line in resolved(spec["python"], package))
            continue
        parameters = {*(spec.get("parameters") or {}), *(spec.get("needs") or ())}
        if "chart" in spec:
            yield from (f"{entry}: {line}" for line in of_chart(spec, parameters))
            continue
        scope = EVERYWHERE | used.keys() | {*(spec.get("constants") or {})} | parameters
        for place, text, names in expressions(spec, scope):
            problem, free = compiled(text, page=place == "html.page")
            mentioned |= free
            if problem:
                yield f"{entry}: {place}: {problem}: {text}"
            for unknown in sorted(free - names):
                yield f"{entry}: {place}: unknown name {unknown!r}: {text}"
        yield from (f"{entry}: unknown kind of figure {of.get('kind')!r}" for of in spec.get("figures") or ()
                    if of.get("kind") not in KINDS)  # fmt: skip
    yield from (f"use: {name} is used by no entry" for name in sorted(used.keys() - mentioned))


def of_measures(file: Mapping[str, Any], package: str) -> Iterator[str]:
    """What is wrong with the measures of one file: functions that are not there."""
    for name, spec in file.items():
        for of in (spec, *(spec.get(key) for key in ("by_round",))):
            if isinstance(of, Mapping) and "function" in of:
                yield from (f"{name}: {line}" for line in resolved(of["function"], package))


def of_exhibits(file: Mapping[str, Any], package: str) -> Iterator[str]:  # noqa: ARG001
    """What is wrong with the exhibits of a paper: charts, panels and measures that are not there."""
    for exhibit in file.get("exhibits") or ():
        for spec in exhibit.get("panels") or ():
            yield from (f"{exhibit['name']}: {line}" for line in of_chart(spec, set()))


def of_chart(spec: Any, parameters: set[str]) -> Iterator[str]:
    """What is wrong with a chart or panel that is named: its name, or that of its measure."""
    entry = {"name": spec} if isinstance(spec, str) else spec
    if "chart" in entry and entry["chart"] not in charts:
        yield f"unknown chart {entry['chart']!r}"
    if "chart" not in entry and "name" in entry and entry["name"] not in panels:
        yield f"unknown panel {entry['name']!r}"
    measure = entry.get("measure")
    name = measure.get("name") if isinstance(measure, Mapping) else measure
    if isinstance(name, str) and not name.startswith("$") and name not in measures:
        yield f"unknown measure {name!r}"
    for key, value in entry.items():
        if isinstance(value, str) and value.startswith("$") and value[1:] not in parameters:
            yield f"{key}: unknown parameter {value}"


def expressions(spec: Mapping[str, Any], names: set[str]) -> Iterator[tuple[str, str, set[str]]]:
    """The expressions and texts of a panel: where each stands, itself as a template, and the names that it may use."""
    yield from sentences("refuse", spec.get("refuse"), names)
    yield "title", str(spec["title"]), names
    names = names | {"data"}
    yield from sentences("unless", spec.get("unless"), names)
    yield from sentences("refused", spec.get("refused"), names | {*(spec.get("let") or {}), "error"})
    for name, value in (spec.get("let") or {}).items():
        yield from valued(f"let.{name}", value, names)
        names = names | {name}
    yield from sentences("empty", spec.get("empty"), names)
    for key in ("figures", "tables", "notes", "html"):
        for of in spec.get(key) or ():
            yield from part_of(key, {"say": of} if isinstance(of, str) else of, names)


def sentences(key: str, spec: Any, names: set[str]) -> Iterator[tuple[str, str, set[str]]]:
    """The texts of one reason or several."""
    for of in [spec] if isinstance(spec, str | Mapping) else spec or ():
        yield from part_of(key, {"say": of} if isinstance(of, str) else of, names)


def part_of(key: str, of: Mapping[str, Any], names: set[str]) -> Iterator[tuple[str, str, set[str]]]:
    """The expressions and texts of a figure, a table, a note or a fragment."""
    yield from valued(f"{key}.repeat", of.get("repeat"), names)
    names = names | {"part"}
    row, shown = names | {"r"}, names | {"drawn"}
    for place in ("if", "each", "all", "order"):
        yield from valued(f"{key}.{place}", of.get(place), names)
    for place in DeclaredFigure.VALUES:
        yield from valued(f"{key}.{place}", of.get(place), row)
    for place, value in (of.get("draw") or {}).items():
        yield from valued(f"{key}.draw.{place}", value, shown)
    for text in of.get("columns") or ():
        head, equals, value = (part.strip() for part in text.rpartition(" = "))
        if equals:
            yield from valued(f"{key}.columns", value, row)
        if head.startswith("*"):
            yield from valued(f"{key}.columns", head[1:], names)
        Column(text)
    for place in ("label", "facet", "say", "page"):
        if place in of:
            yield f"{key}.{place}", str(of[place]), row if "each" in of else names
    for place in ("name", "caption", "alt", "axis", "x_title", "legend"):
        if place in of:
            yield f"{key}.{place}", str(of[place]), shown if key == "figures" else names


def valued(place: str, value: Any, names: set[str]) -> Iterable[tuple[str, str, set[str]]]:
    """A value of a declaration: an expression where it is a text."""
    return [(place, f"{{{{ ({value}) }}}}", names)] if isinstance(value, str) else []


def compiled(text: str, *, page: bool = False) -> tuple[str, set[str]]:
    """What is wrong with a template, and the names that it does not set itself."""
    environment = PAGE if page else PLAIN
    try:
        environment.compile(text)
        return "", meta.find_undeclared_variables(environment.parse(text))
    except TemplateError as error:
        return f"{type(error).__name__}: {error}", set()


def resolved(address: str, package: str) -> Iterator[str]:
    """What is wrong with the address of a function, ``module:name``."""
    module, _, name = address.partition(":")
    try:
        getattr(import_module(module, package), name)
    except (ImportError, AttributeError) as error:
        yield f"{address}: {error}"


if __name__ == "__main__":
    sys.exit(main())
