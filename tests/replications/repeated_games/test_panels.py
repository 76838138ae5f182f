"""Panels about repeated games: hand-computed figures of scripted tournaments, and words where there is nothing."""

from typing import Any

import pytest

from ostrom.data.rundata import RunData
from ostrom.features.importing import load_mapping, mapping_names
from ostrom.features.robustness.robustness import wordings
from ostrom.ground.errors import OstromError
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.repeated_games.pairs import _meaningful
from ostrom.reports.canvas import WIDE
from ostrom.reports.declared import panel_of, panels
from ostrom.reports.panel import Drawn, Table
from ostrom.studies.load import load_study

from ..conftest import Played

OURS = [name for name in panels.names() if name.startswith(("games_", "inference_"))]
BASE: dict[str, Any] = {"agent": {}, "vary": {}, "seeds": 1, "seating": "ordered"}
PD = {"name": "prisoners_dilemma", "preset": "repeated_games"}
TOURNAMENT = {
    **BASE,
    "game": PD,
    "types": {"kind": "cooperator", "hard": "defector", "echo": "tit_for_tat"},
    "mechanism": {"name": "repetition", "rounds": 4, "told_rounds": True},
}


def draw(data: RunData, spec: Any) -> Drawn:
    return panel_of(spec).draw(data)


def declared(study: str, measure: str) -> Any:
    """The chart of a measure that a built-in study declares first."""
    wanted = load_study(study).report.panels
    return next(spec for spec in wanted if not isinstance(spec, str) and spec.get("measure") == measure)


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def names_of(drawn: Drawn) -> list[str]:
    return [figure.name for figure in drawn.figures]


@pytest.mark.parametrize("name", [name for name in mapping_names() if name.startswith("repeated-games")])
def test_every_shipped_mapping_names_panels_and_figures_that_exist(name: str) -> None:
    report = load_mapping(name)[0].report
    assert report["reference"] == "repeated_games" and report["panels"]
    for spec in report["panels"]:
        panel_of(spec)


def test_a_named_pair_is_drawn_with_what_was_predicted_of_it(played: Played) -> None:
    rules = {"name": "repetition", "rounds": 3, "told_rounds": True, "predict": "players"}
    data = played(**{**TOURNAMENT, "mechanism": rules})
    drawn = draw(data, {"name": "strips", "pair": ["kind", "hard"]})
    assert names_of(drawn) == ["strips_kind_hard"]
    chart = str(drawn.figures[0].chart(WIDE))
    assert chart.count("match ") == 1 and "1 kind" in chart and "2 hard" in chart
    # Scripts predict what they would do there themselves: the cooperator that both cooperate.
    assert "2 \u21b3 kind" in chart and "1 \u21b3 hard" in chart
    assert draw(data, {"name": "strips", "pair": ["kind", "nobody"]}).notes == [
        "There is no finished match of kind and nobody."
    ]


@pytest.mark.parametrize("pair", ["ab", [], [[]], [["a"], "b"], [1, 2], {"a": 1}, 5])
def test_a_pair_that_names_nobody_is_refused(pair: Any) -> None:
    with pytest.raises(OstromError, match="pair must list the players by seat"):
        panel_of({"name": "strips", "pair": pair})


def test_wordings_are_the_factors_that_set_framings_alone() -> None:
    study = load_study("framing-robustness", preset="wide").model_dump(mode="json")
    assert wordings(study) == ["labels", "units", "story", "order", "goal", "outcomes", "hint"]
    assert wordings(load_study("horizon").model_dump(mode="json")) == []
    nested = {"vary": {"tone": {"a": {"agent": {"framing": {"story": "x"}}}, "b": {"agent": {"framing": {}}}}}}
    assert wordings(nested) == ["tone"]
    assert wordings({"vary": {"mixed": {"a": {"agent": {"framing": {"story": "x"}, "style": "direct"}}}}}) == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OURS)
def test_every_panel_says_why_it_is_empty(played: Played, name: str) -> None:
    study = {**BASE, "game": "matching_pennies", "mechanism": "none", "types": {"heads": "constant:heads"}}
    drawn = draw(played(**study), name)
    if name not in ("games_pairs", "games_matrices"):  # coordination has a meaning even here; matrices need no run
        assert not drawn.figures and drawn.notes


@pytest.mark.parametrize("study", ["games-2x2", "pd-tournament", "horizon", "prediction", "bos-tournament"])
def test_every_declared_chart_says_why_it_is_empty(played: Played, study: str) -> None:
    data = played(**{**BASE, "game": "matching_pennies", "mechanism": "none", "types": {"one": "constant:heads"}})
    charts = [spec for spec in load_study(study).report.panels if not isinstance(spec, str)]
    for spec in charts:
        drawn = draw(data, spec)
        assert not drawn.figures and drawn.notes


def test_three_players_make_no_heat_map_of_pairs(played: Played) -> None:
    drawn = draw(played(**{**BASE, "game": "public_goods", "types": {"a": "cooperator"}}), "games_pairs")
    assert not drawn.figures and "between two players" in drawn.notes[0]


def test_maps_show_defection_only_where_all_pairs_can_cooperate() -> None:
    dilemma: dict[str, Any] = dict.fromkeys(["defection1", "defection2", "score1", "coordination"])
    other: dict[str, Any] = dict.fromkeys(["coordination", "favourite1", "score1", "defection1"])
    assert _meaningful({("a", "b"): dilemma}) == ("defection", "score")
    assert _meaningful({("a", "b"): dilemma, ("a", "c"): other}) == ("coordination", "favourite", "score")
    assert _meaningful({("a", "c"): {"score1": other["score1"]}}) == ("score",)


def test_predictions_show_accuracy_and_the_first_right_round(played: Played) -> None:
    study = {
        **TOURNAMENT,
        "types": {"kind": "cooperator", "turn": "alternator"},
        "mechanism": {"name": "repetition", "rounds": 4, "predict": "players"},
    }
    data = played(**study)
    curve = draw(data, declared("bos-tournament", "prediction_settled"))
    settled = {(r["agent"], r["round"]): r["prediction_settled"] for r in rows_of(curve.tables[0])}
    # Of four seats two face an alternator, whom nobody gets right in the end; the match with itself has the others.
    assert [settled["kind", n] for n in (1, 4)] == [pytest.approx(1 / 2)] * 2
    drawn = draw(data, "games_predictions")
    rows = {(r["predicted by"], r["predicted"]): r for r in rows_of(drawn.tables[0])}
    assert set(rows) == {(a, b) for a in ("kind", "turn") for b in ("kind", "turn")}
    # Scripts expect cooperation first and then a repetition: right about a cooperator from the start, and
    # about an alternator only once.
    sure, fooled = rows["turn", "kind"], rows["kind", "turn"]
    assert (sure["median first right round"], sure["never"], sure["accuracy"]) == (1, 0, 1)
    assert (fooled["median first right round"], fooled["never"], fooled["accuracy"]) == (5, 2, 0.25)
    assert (rows["turn", "turn"]["matches"], rows["turn", "turn"]["series"]) == (1, 2)


def test_who_met_whom_shows_scripts_beside_the_model_that_is_studied(played: Played) -> None:
    register("first", lambda _: "[A0]")
    try:
        types = {"m": {"model": "scripted/first", "style": "direct"}, "hard": "defector"}
        drawn = draw(played(**{**TOURNAMENT, "types": types}), "games_pairs")
    finally:
        unregister("first")
    assert names_of(drawn) == ["games_pairs_defection", "games_pairs_score"]
    found = {(row["player1"], row["player2"]): row["defection1"] for row in rows_of(drawn.tables[0])}
    assert found == {("m", "m"): 0, ("m", "hard"): 0, ("hard", "m"): 1, ("hard", "hard"): 1}
