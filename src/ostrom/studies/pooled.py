"""Checks claims, exhibits and published rows of a replication against the factors of their studies."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ostrom.analysis.claims import FILE as CLAIMS
from ostrom.analysis.claims import DeclaredReference, references
from ostrom.analysis.population import averaged_over
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import replications
from ostrom.ground.words import join_words
from ostrom.reports.exhibits.declared import FILE as EXHIBITS
from ostrom.reports.exhibits.declared import Exhibit, exhibits_of
from ostrom.studies.factors import Grid, read_factors
from ostrom.studies.files import builtin_names, read_study
from ostrom.studies.load import apply_preset

Cells = Sequence[Mapping[str, Any]]
"""The cells of a design: the level of every factor, and further known columns (game, traits)."""


def pooled_factors(
    cells: Cells, factors: Sequence[str], where: Mapping[str, Any] | str, visible: Iterable[str]
) -> list[str]:
    """Return the factors that vary between cells that meet a condition and agree in the columns ``visible``.

    A condition in SQL fixes nothing that can be known before a run.

    >>> cells = [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "y"}]
    >>> pooled_factors(cells, ["a", "b"], {"b": "y"}, []), pooled_factors(cells, ["a", "b"], {}, ["b"])
    (['a'], ['a'])
    >>> pooled_factors(cells, ["a", "b"], {"a": 2}, [])
    []
    """
    fixed, columns = {} if isinstance(where, str) else where, tuple(visible)
    matching = [cell for cell in cells if all(_meets(cell, name, wanted) for name, wanted in fixed.items())]
    return [
        *averaged_over([{n: str(cell.get(n)) for n in (*factors, *columns)} for cell in matching], factors, columns)
    ]


def _meets(cell: Mapping[str, Any], name: str, wanted: Any) -> bool:
    """Return whether a cell meets a condition on a column; a column that the design lacks is always met."""
    return name not in cell or str(cell[name]) in map(str, wanted if isinstance(wanted, list | tuple) else [wanted])


def refuse_pooling(
    designs: Mapping[str, tuple[Sequence[str], Cells]],
    where: Mapping[str, Any] | str,
    visible: Collection[str],
    pools: Sequence[str],
    *,
    file: str,
    key: str,
) -> None:
    """Refuse a figure that neither fixes, shows nor names a factor that one of its studies varies."""
    for name in pools:
        varied = dict.fromkeys(factor for factors, _ in designs.values() for factor in factors)
        if name not in varied:
            raise StudyError(
                f"is no factor of {join_words(designs)}", file=file, key=f"{key}.pools", actual=name, allowed=varied
            )
    for study, (factors, cells) in designs.items():
        if names := ", ".join(pooled_factors(cells, factors, where, [*visible, *pools])):
            raise StudyError(
                f"averages over {names}, which the study {study} varies: fix it (where), show it (by) or name it "
                f"(pools: [{names}])",
                file=file, key=key,
            )  # fmt: skip


SHOWING = ("x", "y", "colour", "facet", "by", "balance")
"""Keys of a declared chart whose columns it separates or balances."""


@cache
def design_of(study: str) -> tuple[tuple[str, ...], Cells]:
    """Return the factors of a study and its cells: levels, traits, and the game if a level sets it."""
    raw, file = read_study(study)
    data = apply_preset(raw, None, file)
    factors = read_factors(data.get("vary") or {}, file)
    cells = []
    for places in Grid(factors, data.get("only") or (), file):
        cell: dict[str, Any] = {}
        for factor, place in zip(factors, places, strict=True):
            level = factor.levels[place]
            cell |= level.traits
            if "game" in level.assigns and "game" not in cell:
                game = level.assigns["game"]
                cell["game"] = str(game["name"] if isinstance(game, Mapping) else game)
            cell[factor.name] = level.label
        cells.append(cell)
    return tuple(factor.name for factor in factors if len(factor.levels) > 1), cells


def check_figure(
    studies: Sequence[str], where: Any, columns: Sequence[str], pools: Sequence[str], file: str, key: str
) -> None:
    """Refuse a figure that pools a factor of its studies without saying so."""
    refuse_pooling({study: design_of(study) for study in studies}, where, columns, pools, file=file, key=key)


@cache
def check_replication(name: str) -> None:
    """Refuse declared figures and exhibits of a replication that pool a factor without naming it."""
    reference = references.build(name)
    if isinstance(reference, DeclaredReference):
        for number, claim in enumerate(reference.claims.figures):
            columns = [*claim.by, *claim.compared_columns, *claim.balance]
            studies = claim.study or reference.claims.study or _own_studies(name)
            check_figure(studies, claim.where, columns, claim.pools, f"{name}/{CLAIMS}", f"figures.{number}")
    for one in exhibits_of(name):
        _check_exhibit(name, one)


def _own_studies(name: str) -> tuple[str, ...]:
    """Return the studies of the replication whose reports show its figures."""
    folder = files(replications()[name]).joinpath("studies")
    names = [path.name.removesuffix(".yaml") for path in folder.iterdir()] if folder.is_dir() else []
    reports = {study: read_study(study)[0].get("report") for study in names if study in builtin_names()}
    return tuple(
        study for study, report in reports.items() if isinstance(report, Mapping) and report.get("reference") == name
    )


def _check_exhibit(name: str, one: Exhibit) -> None:
    """Check an exhibit: charts by their declaration, panels in Python by what the exhibit says about them."""
    for place, panel in enumerate(one.panels):
        columns: list[str] = []
        where: Any = one.fixes
        if isinstance(panel, dict) and "chart" in panel:
            columns = [column for key in SHOWING for column in _columns(panel.get(key))]
            columns += [*_columns((panel.get("trend") or {}).get("over")), *(panel.get("contrast") or {})]
            own = panel.get("where") or {}
            where = own if isinstance(own, str) else {**one.fixes, **own}
        check_figure(
            one.study, where, [*columns, *one.shows], one.pools, f"{name}/{EXHIBITS}", f"{one.name}.panels.{place}"
        )


def _columns(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)
