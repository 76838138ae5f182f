"""Panels about mechanisms and motives: the numbers of the measures, and honest words where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from ostrom.data.rundata import RunData
from ostrom.engine.journal import Journal
from ostrom.features.evolution.replicator import exponential_replicator
from ostrom.features.judging import load_motives
from ostrom.features.judging.plan import JudgePlan, collect, judged_rows, judges_of, write_judged
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.coopeval.streams import REST, corner_place, type_colours
from ostrom.reports.build import build_report
from ostrom.reports.declared import panels
from ostrom.reports.panel import Drawn, Table
from ostrom.studies.run import open_run

from ..conftest import Played, opened

OURS = [name for name in panels.names() if name.startswith(("mechanisms_", "motives_"))]
PD = {"name": "prisoners_dilemma", "preset": "coopeval"}
TOURNAMENT: dict[str, Any] = {
    "game": PD,
    "mechanism": "none",
    "agent": {},
    "types": {"kind": "cooperator", "hard": "defector", "echo": "tit_for_tat"},
    "seating": "ordered",
    "vary": {
        "mechanism": ["none", {"name": "reputation", "rounds": 2}, "mediation", "contracting"],
    },
    "seeds": 2,
}


def draw(data: RunData, spec: Any) -> Drawn:
    return panels.build(spec).draw(data)


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.slow
def test_the_score_panel_shows_hand_computed_means_and_the_scale(played: Played) -> None:
    drawn = draw(played(**TOURNAMENT), "mechanisms_scores")
    assert [figure.name for figure in drawn.figures] == [
        "mechanisms_scores", "mechanisms_scores_by_game_and_type",
    ]  # fmt: skip
    overall, detail, scales = (rows_of(table) for table in drawn.tables)
    by_type = {row["type"]: row["mean"] for row in detail if row["mechanism"] == "none"}
    # Cooperators: (2+2+0+0+2+2)/6 = 4/3; defectors: (1+1+3+3+3+3)/6 = 7/3; the scale runs from 1 to 2.
    assert by_type == pytest.approx({"kind": 1 / 3, "hard": 4 / 3, "echo": 1 / 3})
    assert overall[0]["mechanism"] == "none" and overall[0]["mean"] == pytest.approx(2 / 3)
    assert scales[0]["all defect (0)"] == 1.0 and scales[0]["all cooperate (1)"] == 2.0
    assert overall[0]["method"] == "exact" and overall[0]["low"] == overall[0]["mean"]


def test_a_game_without_a_scale_is_named(played: Played) -> None:
    data = played(game="matching_pennies", mechanism="none", vary={}, types={"heads": "constant:heads"})
    drawn = draw(data, "mechanisms_scores")
    assert drawn.notes == [
        "Left out: game matching_pennies defines no cooperative action, so its scores cannot be normalised."
    ]
    assert not drawn.figures


@pytest.mark.slow
def test_streams_end_where_the_replicator_ends_and_societies_are_explained(played: Played) -> None:
    drawn = draw(played(**TOURNAMENT), {"name": "mechanisms_evolution", "steps": 40})
    assert [figure.name for figure in drawn.figures] == ["mechanisms_streams", "mechanisms_simplex"]
    assert any("reputation" in note and "one society" in note for note in drawn.notes)
    final = {r["type"]: r["final share"] for r in rows_of(drawn.tables[0]) if r["mechanism"] == "none"}
    expected = exponential_replicator(np.array([[2, 0, 2], [3, 1, 3], [2, 0, 2]]), steps=40).final
    assert list(final.values()) == pytest.approx(expected.tolist(), abs=1e-12)
    marks = drawn.figures[0].chart.to_dict()["data"]["values"]
    totals: dict[tuple[str, int], float] = {}
    for mark in marks:
        totals[mark["facet"], mark["step"]] = totals.get((mark["facet"], mark["step"]), 0.0) + mark["share"]
    assert all(total == pytest.approx(1.0) for total in totals.values())
    assert {step for _, step in totals} >= {0, 40}


def test_the_triangle_is_drawn_for_three_types_only(played: Played) -> None:
    types = {"kind": "cooperator", "hard": "defector"}
    changes = {**TOURNAMENT, "types": types, "vary": {}}
    assert [f.name for f in draw(played(**changes), "mechanisms_evolution").figures] == ["mechanisms_streams"]
    assert corner_place([1.0, 0.0, 0.0]) == (0.0, 0.0)
    assert corner_place([0.0, 0.0, 1.0]) == pytest.approx((0.5, 3**0.5 / 2))


def test_more_types_than_colours_flow_together() -> None:
    colours = type_colours([f"t{i}" for i in range(12)])
    assert list(colours)[-1] == REST and len(set(colours.values())) == len(colours)


@pytest.mark.slow
def test_choices_votes_and_designs(played: Played) -> None:
    data = played(**TOURNAMENT)
    actions = {
        (r["mechanism"], r["type"], r["choice"]): r["share"]
        for r in rows_of(draw(data, "mechanisms_actions").tables[0])
    }
    assert actions["none", "kind", "cooperate"] == 1.0 and actions["none", "hard", "cooperate"] == 0.0
    conduct = rows_of(draw(data, "mechanisms_conduct").tables[0])
    assert {"signs the contract", "delegates to the mediator"} <= {row["what"] for row in conduct}
    designs = draw(data, "mechanisms_designs")
    rows = rows_of(designs.tables[0])
    # Three types at two seats, two mechanisms with designs, two replicates.
    assert len(rows) == 24 and {row["state"] for row in rows} == {"done"}
    assert designs.figures


def test_panels_without_anything_to_show_say_so(played: Played) -> None:
    data = played(game=PD, mechanism="none", vary={}, seeds=1)
    assert draw(data, "mechanisms_conduct").notes == [
        "No finished match has votes, signatures or delegation."
    ]
    assert draw(data, "mechanisms_designs").notes == ["No player designed anything in this run."]
    assert "None of the 2 means" in draw(data, "mechanisms_outliers").notes[0]
    for name in ("motives_shares", "motives_agreement"):
        assert "has not been judged" in draw(data, name).notes[0]


@pytest.mark.slow
def test_every_panel_bears_a_run_in_which_nothing_is_finished(played: Played, tmp_path: Path) -> None:
    register("late", "I will not answer in the form that you want.")
    try:
        data = played(game=PD, mechanism="none", types={"late": {"model": "scripted/late"}}, vary={}, seeds=1)
        for name in OURS:
            drawn = draw(data, name)
            assert drawn.notes and not drawn.figures
    finally:
        unregister("late")


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


@pytest.fixture
def judged_run(played: Played, tmp_path: Path) -> Iterator[Path]:
    reply = "I have weighed what both of us get here and I return the kindness that I was shown before. " * 2
    register("kind", reply + "\n[A0]")
    register("hard", reply.replace("return the kindness", "take what I can") + "\n[A1]")

    def judge(request: Request) -> str:
        told = request.messages[0].content.partition("What it replied")[2]
        labels = ["reciprocity"] if "return the kindness" in told else ["own_utility", "competitiveness"]
        return orjson.dumps({"labels": labels, "confidence": 1, "explanation": "its words"}).decode()

    register("judge", judge)
    played(
        game=PD, mechanism="none", seeds=2,
        types={name: {"model": f"scripted/{name}"} for name in ("kind", "hard")},
        vary={"mechanism": ["none", {"name": "repetition", "rounds": 2}]},
    )  # fmt: skip
    with open_run(tmp_path / "small") as run:
        plan = JudgePlan(
            run, "judge-x", judges_of("scripted/judge", passes=2), load_motives(), collect(run, [])
        )
        plan.play()
        folder = run.folder.path / "judge-x"
        journal = Journal(folder / "journal.db")
        write_judged(list(judged_rows(plan, journal)), plan, folder)
        journal.close()
    yield tmp_path / "small"
    for name in ("kind", "hard", "judge"):
        unregister(name)


@pytest.mark.slow
def test_motives_are_mapped_by_every_factor_that_varies(judged_run: Path) -> None:
    with opened(judged_run) as data:
        drawn = draw(data, "motives_shares")
        agreement = draw(data, "motives_agreement")
    assert [figure.name for figure in drawn.figures] == ["motives_mechanism", "motives_model"]
    by_model = next(table for table in drawn.tables if table.name == "motives_model")
    shares = {(r["level"], r["motive"]): r["share"] for r in rows_of(by_model)}
    assert shares["scripted/kind", "reciprocity"] == 1.0 and shares["scripted/hard", "reciprocity"] == 0.0
    assert shares["scripted/hard", "competitiveness"] == 1.0 and shares["scripted/hard", "none"] == 0.0
    tiles = drawn.figures[1].chart.to_dict()["data"]["values"]
    shown = [(tile["x"], tile["y"], tile["value"]) for tile in tiles]
    assert ("scripted/kind", "Reciprocity", 1.0) in shown
    tests = next(table for table in drawn.tables if table.name == "motives_model_tests")
    assert {r["motive"] for r in rows_of(tests) if r["why"] is None} == {
        "reciprocity", "own_utility", "competitiveness",
    }  # fmt: skip
    kappas = {r["motive"]: r["kappa"] for r in rows_of(agreement.tables[0])}
    assert kappas["all motives"] == pytest.approx(1.0) and kappas["legibility"] is None


@pytest.mark.slow
@pytest.mark.pictures
def test_the_whole_page_is_built_without_a_failed_panel(judged_run: Path) -> None:
    with opened(judged_run) as data:
        report = build_report(data, OURS)
    assert report.failures == ()
    assert (judged_run / "report" / "figures" / "motives_model.png").stat().st_size > 1000
