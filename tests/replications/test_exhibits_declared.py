"""The tables and figures that the personas and the mechanisms paper print: declared, complete, and drawn."""

import pytest

from ostrom.analysis.claims import references
from ostrom.reports.exhibits.declared import check_exhibits, exhibits_of
from ostrom.studies.files import builtin_names


@pytest.mark.parametrize("name", ["personas", "coopeval"])
def test_every_published_figure_stands_in_an_exhibit(name: str) -> None:
    found, reference = exhibits_of(name), references.build(name)
    check_exhibits(found, reference, name)
    sources = {source for one in found if one.rows for source in one.sources}
    published = reference.published()
    assert {p.source for p in published} <= sources
    for p in published:
        cell = dict(zip(reference.columns, p.cell, strict=True))
        assert any(
            p.source in one.sources
            and all(cell[k] in (v if isinstance(v, list) else [v]) for k, v in one.where.items())
            for one in found
            if one.rows
        ), p
    assert {study for one in found for study in one.study} <= set(builtin_names())


def test_the_personas_paper_has_all_its_tables_and_figures() -> None:
    names = {one.name for one in exhibits_of("personas")}
    tables = {f"Table {n}" for n in range(1, 13)} - {"Table 6"} | {"Table 6a", "Table 6b"}
    assert names == tables | {f"Figure {n}" for n in range(1, 9)}
