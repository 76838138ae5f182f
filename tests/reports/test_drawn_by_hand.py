"""Strips, trade-offs and printed cells, by hand: which matches, which lanes, which words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostrom.analysis.estimate import Estimate
from ostrom.reports.charts.strips import Strips, _amounts, _did, _fits, _pattern, _stretches, _tones
from ostrom.reports.charts.table import EstimateTable
from ostrom.reports.theme import COOPERATES, DEFECTS, MOST_COLOURS, PALETTE, SEQUENCE
from ostrom.reports.trade_off import TradeOff


@pytest.mark.parametrize(
    ("pair", "who", "fits"),
    [
        (["{model}", "{other}"], "x\x1fy", True),
        (["{model}", "{other}"], "x\x1fx", False),
        (["{model}", "{other}"], "x\x1fscript", False),
        (["{model}", "{model} SCoT"], "x\x1fx SCoT", True),
        (["{model}", "{model} SCoT"], "x\x1fy SCoT", False),
        (["s*", "x"], "script\x1fx", True),
        (["s*", "x"], "script\x1fy\x1fx", False),
        (["s.ript"], "script", False),
        (["x"], "x\x1fy", False),
    ],
)
def test_players_are_those_of_a_pair_and_other_words_are_other_models(
    pair: list[str], who: str, fits: bool
) -> None:
    assert _fits(_pattern(pair), who, {"x", "y"}) is fits


def test_a_pair_lists_players_and_matches_are_one_to_a_hundred() -> None:
    assert [Strips(n).matches for n in (1, 100)] == [1, 100]
    assert Strips(pair=["a*", "b"]).title == "Single matches of aany and b"
    assert Strips(pair=[["a", "b"], ["c", "d"]]).pairs == [["a", "b"], ["c", "d"]]
    wrong: list[Any] = [[], "ab", [["a"], []], ["a", 1]]
    for pair in wrong:
        with pytest.raises(ValueError, match="pair must list the players by seat"):
            Strips(pair=pair)
    with pytest.raises(ValueError, match=r"between 1 and 100 \(found 101\)"):
        Strips(101)


def act(at: int, **more: Any) -> dict[str, Any]:
    fields = {"player": 1, "agent": "a", "action": "give", "cooperative": True, "invalid": False}
    return {**fields, "round": at, **more}


@pytest.mark.parametrize(
    ("rows", "longest", "ends"),
    [
        ([act(1), act(2)], 60, [(0.5, 1.5, 1), (1.5, 2.5, 2)]),
        ([act(1), act(2), act(3)], 61, [(0.5, 3.5, 2.0)]),
        ([act(1), act(3)], 61, [(0.5, 1.5, 1), (2.5, 3.5, 3)]),
        ([act(1), act(2, invalid=True)], 61, [(0.5, 1.5, 1), (1.5, 2.5, 2)]),
        ([act(1), act(2, cooperative=False)], 61, [(0.5, 1.5, 1), (1.5, 2.5, 2)]),
        ([act(1), act(2, player=2)], 61, [(0.5, 1.5, 1), (1.5, 2.5, 2)]),
    ],
)
def test_long_matches_are_stretches_of_the_same(rows: Any, longest: int, ends: list[Any]) -> None:
    made = _stretches(rows, longest, {"a": "A"})
    assert [(one["start"], one["end"], one["middle"]) for one in made] == ends and made[0]["lane"] == "1 A"


def test_what_was_done_has_words_and_colours() -> None:
    rows = [act(1), act(1, cooperative=False), act(1, cooperative=None, action="10"),
            act(1, cooperative=None, action="9")]  # fmt: skip
    assert [_did(row) for row in rows] == ["cooperates", "does not cooperate", "10", "9"]
    free = [tone for tone in PALETTE if tone not in (COOPERATES, DEFECTS)]
    assert _tones(rows) == {
        "cooperates": COOPERATES, "does not cooperate": DEFECTS, "9": free[0], "10": free[1]
    }  # fmt: skip
    amounts = [act(1, cooperative=None, action=str(n)) for n in range(MOST_COLOURS + 1)]
    tones = _tones(amounts)
    assert tones["0"] == SEQUENCE[0] and tones[str(MOST_COLOURS)] == SEQUENCE[-1]
    assert set(_tones(amounts[1:]).values()) <= {*PALETTE}
    assert _stretches([act(1, by="a")], 9, {"a": "A"})[0]["lane"] == "1 \u21b3 A"


def test_amounts_have_a_lane_for_each_stage_and_one_scale_for_a_match() -> None:
    rows = [
        act(2, stage="offer", amount=4.0), act(2, stage="reply", amount=7.0),
        act(2, player=2, stage="reply", amount=1.0, invalid=True),
    ]  # fmt: skip
    lanes = _amounts(rows, {"a": "A"})
    assert [lane[0]["lane"] for lane in lanes] == ["1 A, offer", "1 A, reply", "2 A"]
    assert {one["top"] for lane in lanes for one in lane} == {7.0}
    assert (lanes[2][0]["start"], lanes[2][0]["end"], lanes[2][0]["invalid"]) == (1.5, 2.5, True)
    assert _amounts([], {}) == []


def e(value: float, low: float | None, high: float | None, **more: Any) -> Estimate:
    return replace(Estimate({}, value, low, high, 8, "match", "t"), **more)


def test_what_helps_for_sure_is_told_with_its_cost_the_most_first() -> None:
    panel = TradeOff("cooperation", "score", "k", "none", left_out=["reference"])
    gains = {
        ("m", "a"): e(0.2, 0.1, 0.3), ("m", "b"): e(0.4, 0.3, 0.5), ("m", "c"): e(0.5, -0.1, 1.0),
        ("m", "reference"): e(0.9, 0.8, 1.0), ("n", "a"): e(0.1, 0.0, 0.2), ("n", "b"): e(0.05, None, None),
    }  # fmt: skip
    costs = {("m", "a"): e(0.5, 0.4, 0.6), ("m", "b"): e(-1.0, -2.0, 0.0)}
    gain, cost = panel.gain.title.lower(), panel.cost.title.lower()
    assert panel._said("m", e(0.3, 0.2, 0.4), gains, costs) == (
        f"m ({gain} 0.30 with none): raised by b by 0.40 ({cost} -1.00) and a by 0.20 ({cost} +0.50)."
    )
    told = panel._said("n", None, gains, costs)
    assert told == f"n: no level raises it for sure at this size; most does a, {e(0.1, 0.0, 0.2).text()}."


@pytest.mark.parametrize(
    ("options", "found", "text"),
    [
        ({}, e(0.5, 0.4, 0.6, sd=0.25), "0.50 ± 0.25"),
        ({"scale": 100, "digits": 1}, e(0.5, 0.4, 0.6, sd=0.25), "50.0 ± 25.0"),
        ({}, e(0.5, 0.4, 0.6, sd=None), "0.50"),
        ({"show": "interval"}, e(0.5, 0.4, 0.6), "0.50 [0.40, 0.60]"),
        ({"show": "interval"}, e(0.5, None, None), "0.50"),
    ],
)
def test_a_printed_cell_has_its_spread_or_its_interval(
    options: dict[str, Any], found: Estimate, text: str
) -> None:
    assert EstimateTable("cooperation", x="game", **options)._cell(found) == text


def test_a_difference_has_no_spread_over_matches() -> None:
    with pytest.raises(ValueError, match="write show: interval"):
        EstimateTable("cooperation", x="game", contrast={"agent": "a - b"})
    with pytest.raises(ValueError, match="sd or interval"):
        EstimateTable("cooperation", x="game", show="range")  # type: ignore[arg-type]
