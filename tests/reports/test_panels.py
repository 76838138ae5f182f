"""What single panels draw: the right numbers in the right places."""

from collections.abc import Iterator
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.analysis.intervals import mean_of
from ostrom.ground.errors import RateLimited, ServerFailed
from ostrom.models.base import Reply, Request, Usage
from ostrom.models.providers import scripted
from ostrom.reports.canvas import WIDE
from ostrom.reports.declared import DeclaredFigure, panel_of, panels
from ostrom.reports.panel import Drawn, Table
from ostrom.reports.rounds import MOST_LINES, CooperationOverRounds, RoundCurve, _band_of, curves_over_rounds
from ostrom.reports.theme import PALETTE, colours

from .conftest import Played


def draw(data: Any, spec: Any) -> Drawn:
    return panels.build(spec).draw(data)


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def marks(chart: Any) -> list[dict[str, Any]]:
    """The data of a chart, wherever it lies."""
    spec = chart(WIDE)
    found: list[dict[str, Any]] = list(spec.get("data", {}).get("values", []))
    for part in ("concat", "vconcat", "layer"):
        for inner in spec.get(part, []):
            found += inner.get("data", {}).get("values", [])
    return found


def test_cooperation_is_exact_where_it_is_known(played: Played) -> None:
    data = played(types={"kind": "cooperator", "hard": "defector", "turn": "alternator"}, vary={})
    [table] = draw(data, "cooperation").tables
    assert {row["agent"]: row["cooperation"] for row in rows_of(table)} == {"kind": 1.0, "hard": 0.0, "turn": 0.6}


def test_cooperation_by_can_show_scores(played: Played) -> None:
    drawn = draw(played(vary={"k": {"set": "agent.memory.k", "to": [1, 2]}}),
                 {"name": "cooperation_by", "x": "k", "measure": "score", "color": "agent"})  # fmt: skip
    assert {row["score"] for row in rows_of(drawn.tables[0]) if row["agent"] == "kind"} == {3.0}


def test_bars_and_maps_show_the_estimates(played: Played) -> None:
    data = played(types={"kind": "cooperator", "hard": "defector"}, vary={"k": {"set": "agent.memory.k", "to": [1, 2]}})
    bars = panel_of({"chart": "bars", "measure": "cooperation", "x": "k", "colour": "agent"}).draw(data)
    tiles = panel_of({"chart": "heat", "measure": "cooperation", "x": "k", "y": "agent"}).draw(data)
    assert {(m["x"], m["series"], m["mean"]) for m in marks(bars.figures[0].chart)} == {
        ("1", "kind", 1.0), ("2", "kind", 1.0), ("1", "hard", 0.0), ("2", "hard", 0.0),
    }  # fmt: skip
    assert {(m["x"], m["y"], m["value"]) for m in marks(tiles.figures[0].chart)} == {
        ("1", "kind", 1.0), ("2", "kind", 1.0), ("1", "hard", 0.0), ("2", "hard", 0.0),
    }  # fmt: skip


def test_the_course_of_an_alternator_is_a_zigzag(played: Played) -> None:
    data = played(types={"turn": "alternator"}, vary={})
    [curve], banded = curves_over_rounds(data, ["agent"], 1)
    assert banded
    assert curve.points == [(1, 1, 1, 1), (2, 0, 0, 0), (3, 1, 1, 1), (4, 0, 0, 0), (5, 1, 1, 1)]


def test_rounds_in_bins_are_averaged_within_matches(played: Played) -> None:
    data = played(types={"turn": "alternator"}, vary={})
    [curve], _ = curves_over_rounds(data, ["agent"], 2)
    assert [point[:2] for point in curve.points] == [(1, 0.5), (3, 0.5), (5, 1)]


def test_a_bin_is_drawn_in_the_middle_of_its_rounds(played: Played) -> None:
    data = played(types={"turn": "alternator"}, vary={}, mechanism={"name": "repetition", "rounds": 60})
    (figure,) = draw(data, "cooperation_over_rounds").figures
    points = sorted({mark["x"] for mark in marks(figure.chart) if "x" in mark})
    assert points == [1.5 + 2 * place for place in range(30)]


def test_a_map_has_a_tile_from_the_first_to_the_last_round_of_a_bin() -> None:
    points = [(1, 0.25, 0.25, 0.25), (6, 0.75, 0.75, 0.75)]
    curves = [RoundCurve({"k": k, "agent": "a"}, 3, points) for k in range(MOST_LINES + 1)]
    notes = list[str]()
    figure = CooperationOverRounds()._map(curves, ["k", "agent"], 5, "round (bins of 5)", notes)
    tiles = marks(figure.chart)
    assert [(t["start"], t["end"], t["mean"]) for t in tiles[:2]] == [(0.5, 5.5, 0.25), (5.5, 10.5, 0.75)]
    assert len(tiles) == 2 * MOST_LINES and "first 300 of 301 lines" in notes[0]
    assert tiles[0]["label"] != tiles[2]["label"] and "a" not in tiles[0]["label"]


def test_matches_that_end_early_count_where_they_were_played(played: Played) -> None:
    data = played(
        types={"kind": "cooperator", "coin": "random:0.5"},
        mechanism={"name": "repetition", "rounds": 40, "stopping": "geometric", "told_continuation": 0.8},
        vary={},
        seeds=8,
    )
    longest = data.query("SELECT max(rounds_played) FROM matches").item()
    curves, _ = curves_over_rounds(data, ["agent"], 1)
    by_agent = {c.key["agent"]: c for c in curves}
    assert {mean for _, mean, _, _ in by_agent["kind"].points} == {1.0}
    assert max(len(c.points) for c in curves) == longest
    bands = [
        (low, mean, high) for c in curves for _, mean, low, high in c.points if low is not None and high is not None
    ]
    assert bands and all(low <= mean + 1e-12 and mean <= high + 1e-12 for low, mean, high in bands)


def test_long_matches_are_drawn_as_stretches(played: Played) -> None:
    data = played(types={"hard": "defector"}, mechanism={"name": "repetition", "rounds": 90}, vary={}, seeds=1)
    strips = marks(draw(data, "strips").figures[0].chart)
    assert [(s["start"], s["end"]) for s in strips] == [(0.5, 90.5), (0.5, 90.5)]


@pytest.mark.slow
def test_agents_have_the_same_colour_in_every_chart(played: Played) -> None:
    data = played()
    for name in ("cooperation", "scores"):
        spec = draw(data, name).figures[0].chart(WIDE)
        scale = spec["concat"][0]["layer"][0]["encoding"]["color"]["scale"]
        assert scale == {"domain": ["kind", "coin"], "range": list(PALETTE[:2])}
    assert len(set(colours(range(12), ordered=True))) == 12


@pytest.fixture
def shaky() -> Iterator[None]:
    """Models that err: one in a fixed pattern, one that never gives an answer."""
    count = 0

    def sometimes(request: Request) -> Reply:
        nonlocal count
        count += 1
        if count % 10 == 0:
            raise RateLimited("slow down", status=429, retry_after=0.0)
        if count % 17 == 0:
            raise ServerFailed("broken", status=500)
        return Reply("No idea." if count % 5 == 0 else "[A0]", usage=Usage(100, 10))

    scripted.register("shaky", sometimes)
    scripted.register("mute", "I say nothing.")
    yield
    scripted.unregister("shaky")
    scripted.unregister("mute")


def test_skipped_matches_are_listed_with_their_reason(played: Played, shaky: None) -> None:
    data = played(
        types={"mute": {"model": "scripted/mute", "constrain": "never"}},
        vary={},
        invalid={"retries": 0, "policy": "skip-match"},
    )
    drawn = draw(data, "readings")
    [row] = rows_of(next(table for table in drawn.tables if table.name == "unfinished"))
    assert (row["state"], row["matches"]) == ("skipped", 3)
    assert row["reason"]
    assert draw(data, "cooperation").notes == ["No match is finished (3 skipped), so there is nothing to show."]


def test_rounds_of_unfinished_matches_are_in_no_curve(played: Played) -> None:
    count = 0

    def gives_up(request: Request) -> str:
        nonlocal count
        count += 1
        return "[A0]" if count <= 6 else "I say nothing."

    scripted.register("gives_up", gives_up)
    try:
        data = played(
            types={"m": {"model": "scripted/gives_up", "constrain": "never"}},
            vary={},
            seeds=1,
            invalid={"retries": 0, "policy": "skip-match"},
        )
    finally:
        scripted.unregister("gives_up")
    assert data.query("SELECT count(*) FROM decisions WHERE cooperative").item() > 0
    assert curves_over_rounds(data, ["agent"], 1)[0] == []
    assert draw(data, "strips").figures == ()


def test_cost_adds_up_and_unknown_prices_are_never_nothing(played: Played, shaky: None) -> None:
    data = played(types={"shaky": {"model": "scripted/shaky", "constrain": "never"}}, vary={}, seeds=1)
    [row] = rows_of(draw(data, "cost").tables[0])
    assert row["tokens in"] == 100 * row["calls"]
    assert row["tokens out"] == 10 * row["calls"]
    data.query("SELECT 1")
    data.connection.execute(
        "CREATE OR REPLACE VIEW calls AS SELECT * REPLACE (CASE WHEN id % 2 = 0 THEN 0.5 END AS usd) "
        f"FROM read_parquet('{data.parquet('calls')}')"
    ).fetchall()
    drawn = draw(data, "cost")
    [row] = rows_of(drawn.tables[0])
    assert str(row["USD"]).startswith("at least ")
    assert any("no price is known for" in note for note in drawn.notes)
    assert not any(note.startswith("In all") for note in drawn.notes)


def test_scripted_runs_cost_nothing_and_say_so(played: Played) -> None:
    assert draw(played(), "cost").notes == ["No model was called, so the run cost nothing."]


def test_a_band_over_rounds_does_not_depend_on_the_order_of_matches() -> None:
    limits = mean_of((0.75, 0.25, 0.5), bounds=(0.0, 1.0), unit="match").limits()
    assert _band_of((0.25, 0.5, 0.75)) == (limits.low, limits.high)


def test_a_row_of_a_declared_figure_has_its_label_its_facet_and_its_value() -> None:
    spec = {
        "kind": "dots",
        "name": "n",
        "caption": "c",
        "alt": "a",
        "label": "L",
        "facet": "F",
        "value": "r",
        "low": "r",
    }
    assert DeclaredFigure(spec)._row({"r": 3}) == {
        "series": "", "facet": "F", "label": "L", "mean": 3, "low": 3, "high": None
    }  # fmt: skip


def test_matches_that_repeat_each_other_are_counted_in_data_quality(played: Played) -> None:
    """At temperature 0 a model answers the same in every seed: twenty matches are one."""
    scripted.register("same", "[A0]")
    try:
        data = played(types={"m": {"model": "scripted/same", "params": {"temperature": 0}}}, vary={}, seeds=20)
    finally:
        scripted.unregister("same")
    assert any(
        note.startswith("20 of 20 matches repeat another of their cell") and "1 are distinct" in note
        for note in draw(data, "readings").notes
    )
    (one,) = estimate(data, "cooperation")
    assert (one.n, one.low, one.bound_low, one.method) == (1, None, None, "exact at temperature 0")
    assert "20 matches, 1 distinct" in one.note
