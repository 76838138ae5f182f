"""What `ostrom list` and `ostrom show` say of measures, charts, panels, references, replications and runs."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from ostrom.ground.errors import OstromError, UnknownName

ANALYSIS = ("measures", "charts", "panels", "references", "replications")


def part_row(registry: Any, name: str) -> dict[str, Any]:
    """One line on a part; one of another package that cannot be loaded says why."""
    try:
        part = registry.get(name)
    except OstromError as error:
        return {"name": name, "what": str(error), "parameters": ""}
    return {
        "name": name,
        "what": (inspect.getdoc(part) or "").partition("\n")[0],
        "parameters": parameters_of(registry, name),
    }


def parameters_of(registry: Any, name: str) -> str:
    """The parameters of a part with their defaults."""
    return ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default}"
        for p in registry.parameters(name).values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    )


def bounds_of(registry: Any, name: str) -> dict[str, str]:
    """What the parameters of a part may be, as a row of its record; none where nothing is said."""
    from ostrom.ground.parameters import bounds_in_words

    words = bounds_in_words(registry.get(name))
    return {"bounds": words} if words else {}


def analysis_rows(kind: str) -> list[dict[str, Any]]:
    """What there is of a kind."""
    if kind == "replications":
        return _replications()
    if kind == "references":
        return [_reference(name) for name in _registry(kind).names()]
    registry = _registry(kind)
    return [(_measure if kind == "measures" else part_row)(registry, name) for name in registry.names()]


def _registry(kind: str) -> Any:
    if kind == "measures":
        from ostrom.analysis.measure import measures

        return measures
    if kind == "charts":
        from ostrom.reports.chart import charts

        return charts
    if kind == "panels":
        from ostrom.reports.declared import panels

        return panels
    from ostrom.analysis.claims import references

    return references


def _measure(registry: Any, name: str) -> dict[str, Any]:
    from ostrom.analysis.measure import Measure

    try:
        part = registry.get(name)
    except OstromError as error:
        return {"name": name, "title": str(error), "scale": None, "unit": None, "parameters": ""}
    known = isinstance(part, Measure)
    return {
        "name": name,
        "title": part.title if known else (inspect.getdoc(part) or "").partition("\n")[0],
        "scale": part.scale if known else None,
        "unit": part.unit if known else None,
        "parameters": "" if known else parameters_of(registry, name),
    }


def _reference(name: str) -> dict[str, Any]:
    try:
        reference = _registry("references").build(name)
        return {"name": name, "figures": len(reference.published()), "after": reference.citation}
    except OstromError as error:
        return {"name": name, "figures": None, "after": str(error)}


def _replications() -> list[dict[str, Any]]:
    from ostrom.ground.registry import broken_replications, replication_files, replications
    from ostrom.studies.load import builtin_names

    studies = replication_files("studies", ".yaml", "study").owners
    return [
        {
            "name": name,
            "package": package,
            "studies": ", ".join(study for study in builtin_names() if package in studies[study]),
            "problem": "",
        }
        for name, package in replications().items()
    ] + [
        {"name": name, "package": "", "studies": "", "problem": why}
        for name, why in broken_replications().items()
    ]


def run_rows(runs: Path) -> list[dict[str, Any]]:
    """The runs in a folder: what was played and how far."""
    from ostrom.studies.run import open_run

    rows = []
    for file in sorted(runs.glob("*/run.json")) if runs.is_dir() else []:
        row: dict[str, Any] = {"name": file.parent.name, "study": None, "matches": None, "finished": None}
        try:
            with open_run(file.parent) as opened:
                study = opened.manifest["study"]
                done = sum(state == "done" for state in opened.journal.states().values())
                row |= {
                    "study": study.get("name"),
                    "matches": len(opened.plan),
                    "finished": done,
                    "problem": "",
                }
        except OstromError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows


def analysis_record(kind: str, name: str) -> dict[str, Any]:
    """One of them in full."""
    if kind == "measures":
        return _measure_record(name)
    if kind == "replications":
        found = {row["name"]: row for row in _replications()}
        if name not in found:
            raise UnknownName("replication", name, found)
        return found[name]
    if kind == "references":
        reference = _registry(kind).build(name)
        return {
            "name": name,
            "citation": reference.citation,
            "figures": len(reference.published()),
            "columns": ", ".join(reference.columns),
            "spread": reference.spread,
        }
    registry, bare = _registry(kind), name.partition(":")[0]
    part = registry.get(bare)
    if bare != name:
        registry.build(name)  # parameters that do not fit are refused here as in a study
    record = {"name": bare, "what": inspect.getdoc(part) or "", "parameters": parameters_of(registry, bare)}
    if kind == "charts":
        record["parameters"] = _chart_parameters(part)
    return record


def _measure_record(name: str) -> dict[str, Any]:
    from ostrom.analysis.measure import measures

    registry = measures
    part = registry.named(name)
    low, high = (None, None) if callable(part.bounds) or part.bounds is None else part.bounds
    bounds = "by match" if callable(part.bounds) else f"{_end(low)} to {_end(high)}"
    return {
        "name": part.name,
        "title": part.title,
        "definition": part.definition,
        "unit": part.unit,
        "scale": part.scale,
        "bounds": bounds,
        "needs": ", ".join(part.needs),
        "source": part.source,
        "values": part.values
        if isinstance(part.values, str)
        else f"{part.values.__module__}.{part.values.__qualname__}",
    }


def _end(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"


def _chart_parameters(part: Any) -> str:
    """Those of the kind of chart and those that every chart takes."""
    from ostrom.reports.chart import Chart

    named = {
        p.name: p
        for of in ((Chart, part) if isinstance(part, type) and issubclass(part, Chart) else (part,))
        for p in inspect.signature(of).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    return ", ".join(n if p.default is p.empty else f"{n}={p.default}" for n, p in named.items())
