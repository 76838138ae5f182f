"""Where cells go: what makes blocks, rows and colours, by what varied among the finished matches."""

from __future__ import annotations

from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.reports.answers import asked_factors
from ostrom.reports.cells import (
    agents,
    agents_are_told_by_factors,
    levels,
    levels_met,
    listed_games,
    unfinished,
    varied,
    why_nothing,
)
from ostrom.reports.layout import lay_out, tones
from ostrom.reports.theme import PALETTE, colours

from .conftest import Played

GAMES = {"game": ["stag_hunt", "prisoners_dilemma"]}


def _parts(layout: Any) -> tuple[Any, ...]:
    return layout.block, layout.rows, layout.coloured, layout.agents


def test_two_factors_make_blocks_and_rows_and_agents_have_colours(played: Played) -> None:
    data = played(seeds=1)
    assert varied(data) == ["game", "k"] and levels(data, "k") == [4, 1], "levels keep the order of the study"
    assert agents(data) == ["kind", "coin"] == levels(data, "agent")
    assert _parts(lay_out(data)) == ("game", ("k",), True, ("kind", "coin"))
    assert _parts(lay_out(data, "k")) == ("k", ("game",), True, ("kind", "coin"))
    assert _parts(lay_out(data, "rounds"))[0] == "game", "a factor that does not vary makes no blocks"
    assert not agents_are_told_by_factors(data) and unfinished(data) == ""
    assert listed_games(data) == "prisoners_dilemma, stag_hunt"
    assert why_nothing(data).startswith(
        "No finished match is of a game with a cooperative action (played: prison"
    )
    assert why_nothing(data, "score") == "No finished match has a score."
    found = estimate(data, "cooperation", ["k", "agent"])[::-1]
    assert levels_met(data, "k", found) == [4, 1] and levels_met(data, "agent", found) == ["kind", "coin"]
    names = {"coin": "Coin", "kind": "Kind"}
    assert tones(data, "agent", names) == {"Coin": PALETTE[1], "Kind": PALETTE[0]} == tones(data, None, names)
    ordered = dict(zip(("4", "1"), colours([4, 1], ordered=True), strict=True))
    assert tones(data, "k", {4: "4", 1: "1"}) == ordered == tones(data, None, {4: "4", 1: "1"})
    assert tones(data, "model", {"a": "A", "b": "B"}) == {"A": PALETTE[0], "B": PALETTE[1]}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"vary": GAMES}, (None, ("game",), True, ("kind", "coin"))),
        ({"vary": {}}, (None, ("agent",), False, ("kind", "coin"))),
        ({"vary": GAMES, "types": {"coin": "random:0.5"}, "seating": "self"}, (None, ("game",), False, ("coin",))),
        ({"vary": {}, "types": {"coin": "random:0.5"}, "seating": "self"}, (None, ("agent",), False, ("coin",))),
    ],
)  # fmt: skip
def test_with_less_to_tell_apart_rows_are_the_factor_or_the_agents(
    played: Played, changes: dict[str, Any], parts: tuple[Any, ...]
) -> None:
    assert _parts(lay_out(played(seeds=1, **changes))) == parts


def test_a_run_in_which_nothing_is_finished_says_so(played: Played) -> None:
    data = played(limit=0, seeds=1)
    assert unfinished(data) == why_nothing(data) == why_nothing(data, "score")
    assert unfinished(data).endswith("so there is nothing to show.")


@pytest.mark.parametrize(
    ("changes", "factors"),
    [
        ({"vary": {}}, ["agent"]),
        ({"vary": {}, "types": {"coin": "random:0.5"}, "seating": "self"}, []),
        ({"vary": GAMES}, ["game"]),
        ({}, ["k", "game"]),
    ],
)
def test_an_answer_is_about_what_varied_then_who_then_where(
    played: Played, changes: dict[str, Any], factors: list[str]
) -> None:
    assert asked_factors(played(seeds=1, **changes)) == factors
