"""Figures in the shape of a printed table: order, the best of a cell, doubts, and what the caption says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.references import Own, Published
from ostrom.reports.exhibits.declared import MODEL
from ostrom.reports.exhibits.shape import (
    ExhibitEntry,
    _best,
    _ordered,
    entries,
    meets,
    printed_shape,
    single_figures,
)

COLUMNS = ("game", "k")


def exhibit(**more: Any) -> Any:
    fields = {"name": "Table 1", "title": "Rates", "sources": ["T1"], "where": {}, "rows": [MODEL], "columns": ["k"],
              "digits": 1, "best": None, "labels": {}}  # fmt: skip
    return SimpleNamespace(**{**fields, **more})


def printed(model: str | None, k: str, value: float, **more: Any) -> Published:
    fields = {"spread": None, "source": "T1", "status": "verified", **more}
    return Published(("pd", k), model, value, **fields)


def own(agent: str | None, k: str, value: float, **more: Any) -> Own:
    return Own(("pd", k), agent, value, value - 1, value + 1, more.pop("spread", None), 8, **more)


PAPER = [printed("M", "10", 50.0, spread=2.0), printed("M", "2", 40.0), printed("N", "2", 45.0, doubts=("x",)),
         printed("N", "10", 45.0, source="T2")]  # fmt: skip

EMPTY = [
    Published(("pd", "2", ""), "M", 1.0, None, "T1", "verified"),
    Published(("", "2", ""), "M", 2.0, None, "T1", "verified"),
]


def test_figures_of_the_named_sources_and_of_runs_that_meet_the_condition() -> None:
    found = entries(exhibit(), COLUMNS, PAPER, {"r": [own("a", "2", 41.0), own(None, "2", 42.0)]}, {"a": "M"})
    assert [(e.ours, e.model, e.beside, e.value) for e in found] == [
        (False, "M", None, 50.0), (False, "M", None, 40.0), (False, "N", None, 45.0),
        (True, "a", "M", 41.0), (True, "all agents", "all models", 42.0),
    ]  # fmt: skip
    two = entries(exhibit(), COLUMNS, [], {"r": [own("a", "2", 1.0)], "s": [own("a", "2", 2.0)], "t": []}, {})
    assert [(e.model, e.run) for e in two] == [("a in r", "r"), ("a in s", "s")]
    some = entries(exhibit(where={"k": ["2"]}), COLUMNS, PAPER, {"r": [own("a", "10", 1.0)]}, {})
    assert [e.value for e in some] == [40.0, 45.0]
    assert entries(exhibit(), COLUMNS, [printed(None, "2", 1.0, status="uncertain")], {}, {})[0].doubts
    assert meets({"k": "2"}, {"k": "2"}) and not meets({"k": "2"}, {"k": ["3"]}) and meets({}, {})


def test_rows_of_ours_stand_under_those_of_their_model_and_numbers_by_size() -> None:
    runs = {"r": [own("a", "2", 41.0, spread=3.0), own("z", "2", 1.0)]}
    table = printed_shape(exhibit(), entries(exhibit(), COLUMNS, PAPER, runs, {"a": "M"}), "SD")
    assert list(table.columns) == [MODEL, "2", "10"]
    assert [list(row) for row in table.rows] == [
        ["M", "40.0", "50.0 ± 2.0"], ["a (ours)", "41.0 ± 3.0", None], ["N", "45.0 †", None], ["z (ours)", "1.0", None],
    ]  # fmt: skip
    assert table.caption == (
        "Table 1. Rates. Rows or columns marked (ours) are of the run r. After ±: printed SD; ours SD over matches. "
        "† in doubt: the table of single figures says why."
    )
    plain = printed_shape(exhibit(), entries(exhibit(), COLUMNS, PAPER[1:2], {}, {}), "SD")
    assert plain.caption == "Table 1. Rates."
    only = printed_shape(
        exhibit(), entries(exhibit(), COLUMNS, PAPER[:1], {"r": [own("a", "2", 1.0)]}, {}), "SD"
    )
    assert only.caption.endswith("of the run r. After ±: printed SD.")
    turned = exhibit(rows=["k"], columns=[MODEL])
    across = printed_shape(
        turned, entries(turned, COLUMNS, PAPER[:3], {"r": [own("a", "2", 41.0)]}, {"a": "M"}), "SD"
    )
    assert list(across.columns) == ["k", "M", "a (ours)", "N"] and [row[0] for row in across.rows] == [
        "2",
        "10",
    ]
    bare = single_figures(
        exhibit(), ("game", "k", "x"), entries(exhibit(), ("game", "k", "x"), EMPTY, {}, {})
    )
    assert list(bare.columns)[:3] == ["game", "k", "whose"]
    singles = single_figures(exhibit(), COLUMNS, entries(exhibit(), COLUMNS, PAPER[:1], runs, {}))
    assert [row[2] for row in singles.rows] == ["printed", "ours", "ours"]
    assert list(singles.rows[1])[-4:] == [42.0, 8, None, None] and list(singles.rows[0])[-2:] == ["T1", None]


@pytest.mark.parametrize(
    ("best", "values", "chosen"),
    [
        ("highest", (1.0, 3.0, 2.0), [1]), ("lowest", (1.0, 3.0, 2.0), [0]), ("highest", (3.0, 3.0, 2.0), [0, 1]),
        ("highest", (3.0,), []), (None, (1.0, 3.0), []), ("highest", (0.1 + 0.2, 0.3), [0, 1]),
        ("highest", (1000.0, 1000.0 + 1e-7), [0, 1]),
    ],
)  # fmt: skip
def test_the_best_of_several_figures_of_a_cell(
    best: str | None, values: tuple[float, ...], chosen: list[int]
) -> None:
    one = exhibit(best=best)
    found = entries(one, COLUMNS, [printed(f"M{i}", "2", v) for i, v in enumerate(values)], {}, {})
    assert [i for i, e in enumerate(found) if id(e) in _best(one, found)] == chosen
    ours = entries(one, COLUMNS, [], {"r": [own("a", "2", 9.0)]}, {})
    assert id(ours[0]) not in _best(one, [*found, *ours])


def test_the_text_of_a_figure() -> None:
    def text(**more: Any) -> str:
        fields = {"value": 12.345, "spread": None, "doubts": (), **more}
        return ExhibitEntry(
            {}, False, "M", None, low=None, high=None, matches=None, source="", **fields
        ).text(1)

    assert text() == "12.3" and text(spread=0.55, count="2/4") == "12.3 ± 0.6 (2/4)"
    assert (
        text(word="yes", doubts=("x",)) == "yes †"
        and text(word="yes") == "yes"
        and text(doubts=("x",)) == "12.3 †"
    )
    assert _ordered([("10",), ("9",), ("10",)]) == [("9",), ("10",)] and _ordered([("b",), ("1",)]) == [
        ("b",),
        ("1",),
    ]
