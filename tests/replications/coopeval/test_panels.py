"""Panels about mechanisms and motives: the numbers of the measures, and honest words where there are none."""

from typing import Any

import pytest

from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.streams import REST, corner_place, type_colours
from ostrom.reports.declared import panels
from ostrom.reports.panel import Drawn, Table

from ..conftest import Played

PD = {"name": "prisoners_dilemma", "preset": "coopeval"}
TOURNAMENT: dict[str, Any] = {
    "game": PD,
    "mechanism": "none",
    "agent": {},
    "types": {"kind": "cooperator", "hard": "defector", "echo": "tit_for_tat"},
    "seating": "ordered",
    "vary": {"mechanism": ["none", {"name": "reputation", "rounds": 2}, "mediation", "contracting"]},
    "seeds": 2,
}


def draw(data: RunData, spec: Any) -> Drawn:
    return panels.build(spec).draw(data)


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_a_game_without_a_scale_is_named(played: Played) -> None:
    data = played(game="matching_pennies", mechanism="none", vary={}, types={"heads": "constant:heads"})
    drawn = draw(data, "mechanisms_scores")
    assert drawn.notes == [
        "Left out: game matching_pennies defines no cooperative action, so its scores cannot be normalised."
    ]
    assert not drawn.figures


def test_the_triangle_is_drawn_for_three_types_only(played: Played) -> None:
    types = {"kind": "cooperator", "hard": "defector"}
    changes = {**TOURNAMENT, "types": types, "vary": {}}
    assert [f.name for f in draw(played(**changes), "mechanisms_evolution").figures] == ["mechanisms_streams"]
    assert corner_place([1.0, 0.0, 0.0]) == (0.0, 0.0)
    assert corner_place([0.0, 0.0, 1.0]) == pytest.approx((0.5, 3**0.5 / 2))


def test_more_types_than_colours_flow_together() -> None:
    colours = type_colours([f"t{i}" for i in range(12)])
    assert list(colours)[-1] == REST and len(set(colours.values())) == len(colours)


def test_panels_without_anything_to_show_say_so(played: Played) -> None:
    data = played(game=PD, mechanism="none", vary={}, seeds=1)
    assert draw(data, "mechanisms_conduct").notes == ["No finished match has votes, signatures or delegation."]
    assert draw(data, "mechanisms_designs").notes == ["No player designed anything in this run."]
    assert "None of the 2 means" in draw(data, "mechanisms_outliers").notes[0]
    for name in ("motives_shares", "motives_agreement"):
        assert "has not been judged" in draw(data, name).notes[0]


def test_an_outlier_is_named_with_its_match(played: Played) -> None:
    # Betraying a cooperator pays a fortune, and one type does it about once in 200 decisions.
    data = played(
        game={
            "name": "fortune", "actions": ["c", "d"], "cooperative": ["c", "c"],
            "payoffs": [[[2, 2], [0, 300]], [[300, 0], [1, 1]]],
        },
        mechanism="none", types={"kind": "cooperator", "rare": "random:0.995"}, seating="ordered", vary={},
        seeds=40,
    )  # fmt: skip
    drawn = draw(data, "mechanisms_outliers")
    betrayals = data.records("SELECT match, agent FROM matches WHERE score = 300 ORDER BY match")
    assert 0 < len(betrayals) <= 5
    named = [r["match"] for r in rows_of(drawn.tables[0]) if r["type"] == "rare"]
    assert sorted(named) == [r["match"] for r in betrayals]
    assert all(r["mean without the named"] == 1.0 for r in rows_of(drawn.tables[0]))
