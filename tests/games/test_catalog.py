"""The catalog holds the games of the papers, payoff by payoff, and every entry conforms."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.games import Game, build_game, games
from ostrom.games.function import FunctionGame
from ostrom.games.summary import summary
from ostrom.ground.errors import StudyError, UsageError
from ostrom.testing.check_game import check_game

CATALOG = [
    "alternating_offers",
    "battle_of_the_sexes",
    "beauty_contest",
    "centipede",
    "chicken",
    "colonel_blotto",
    "common_pool",
    "coordination",
    "dictator",
    "first_price_auction",
    "gift_exchange",
    "logit_pricing",
    "matching_pennies",
    "minimum_effort",
    "ordinal_2x2",
    "prisoners_dilemma",
    "public_goods",
    "public_goods_amounts",
    "scenario",
    "second_price_auction",
    "stag_hunt",
    "travelers_dilemma",
    "trust",
    "trust_amounts",
    "trust_symmetric",
    "ultimatum",
    "volunteers_dilemma",
]


def cells(game: Game) -> list[tuple[float, ...]]:
    return [game.payoff(profile) for profile in game.profiles()]


def test_the_catalog_is_complete() -> None:
    assert games.names() == CATALOG


def test_the_documentation_lists_every_game_by_a_rule() -> None:
    text = (Path(__file__).parents[2] / "docs" / "games.md").read_text(encoding="utf-8")
    for name in CATALOG:
        if isinstance(build_game(name), FunctionGame):
            assert f"\n| `{name}` | " in text, name


@pytest.mark.parametrize("name", games.names())
def test_every_registered_game_conforms(name: str) -> None:
    check_game(games.get(name))


@pytest.mark.parametrize(
    ("spec", "paid"),
    [
        ("prisoners_dilemma", [(3, 3), (0, 5), (5, 0), (1, 1)]),
        ("prisoners_dilemma:memory_curse", [(200, 200), (-100, 300), (300, -100), (100, 100)]),
        ("prisoners_dilemma:repeated_games", [(8, 8), (0, 10), (10, 0), (5, 5)]),
        ("prisoners_dilemma:coopeval", [(2, 2), (0, 3), (3, 0), (1, 1)]),
        ("trust", [(10, 10), (0, 20), (6, 2), (4, 4)]),
        ("trust_symmetric", [(10, 10), (2, 20), (20, 2), (4, 4)]),
        ("battle_of_the_sexes", [(10, 7), (0, 0), (0, 0), (7, 10)]),
        ("battle_of_the_sexes:7,10", [(7, 10), (0, 0), (0, 0), (10, 7)]),
        ("stag_hunt", [(5, 5), (0, 3), (3, 0), (3, 3)]),
        ("matching_pennies", [(1, -1), (-1, 1), (-1, 1), (1, -1)]),
        ("chicken", [(0, 0), (-1, 1), (1, -1), (-10, -10)]),
        ("coordination:2", [(2, 2), (0, 0), (0, 0), (1, 1)]),
        ("ordinal_2x2:67", [(3, 3), (1, 4), (4, 1), (2, 2)]),
    ],
)
def test_two_seat_games_pay_what_the_papers_print(spec: str, paid: list[tuple[float, float]]) -> None:
    assert cells(build_game(spec)) == paid


def test_travelers_dilemma_pays_the_lower_claim_and_the_bonus() -> None:
    game = build_game("travelers_dilemma")
    assert game.actions[0] == ("claim_2", "claim_3", "claim_4", "claim_5")
    assert (game.cooperative, game.defective) == ((3, 3), (0, 0))
    for i, mine in enumerate((2, 3, 4, 5)):
        for j, yours in enumerate((2, 3, 4, 5)):
            low = min(mine, yours)
            expected = (mine, yours) if mine == yours else (low + 2, low - 2) if mine < yours else (low - 2, low + 2)
            assert game.payoff((i, j)) == expected


@given(st.integers(2, 6), st.floats(1.01, 1.99), st.integers(1, 20))
def test_public_goods_pays_the_share_and_what_was_kept(n: int, multiplier: float, endowment: int) -> None:
    game = build_game({"name": "public_goods", "n": n, "multiplier": multiplier, "endowment": endowment})
    for profile in game.profiles():
        share = endowment * multiplier * profile.count(0) / n
        assert game.payoff(profile) == pytest.approx([share + endowment * a for a in profile])


def test_mean_reward_in_public_goods_is_one_plus_half_the_cooperation_rate() -> None:
    game = build_game("public_goods")
    for profile in game.profiles():
        assert sum(game.payoff(profile)) / 3 == pytest.approx(1 + 0.5 * profile.count(0) / 3)


@pytest.mark.parametrize(
    ("preset", "paid"),
    [
        ("axelrod", (5, 3, 1, 0)),
        ("coopeval", (3, 2, 1, 0)),
        ("memory_curse", (300, 200, 100, -100)),
        ("repeated_games", (10, 8, 5, 0)),
    ],
)
def test_single_values_of_a_preset_can_be_replaced(preset: str, paid: tuple[int, int, int, int]) -> None:
    t, r, p, s = paid
    game = build_game({"name": "prisoners_dilemma", "preset": preset, "R": r + 0.25})
    assert cells(game) == [(r + 0.25, r + 0.25), (s, t), (t, s), (p, p)]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("prisoners_dilemma:T=1", "needs T > R > P > S"),
        ("prisoners_dilemma:T=9,R=4,P=1,S=0", "2R > T + S"),
        (
            "prisoners_dilemma:nope",
            "preset must be one of axelrod, coopeval, memory_curse, repeated_games, found 'nope'",
        ),
        ("prisoners_dilemma:T=abc", "T must be a finite number or null, found 'abc'"),
        ("prisoners_dilemma:strict=maybe", "strict must be true or false, found 'maybe'"),
        ("public_goods:99", "n must be a whole number from 2 to 16, found 99"),
        ("public_goods:3,multiplier=4", "multiplier must lie between 1 and n"),
        ("public_goods:n=inf", "whole number"),
        ("travelers_dilemma:5,2", "high must be a whole number"),
        ("travelers_dilemma:bonus=1", "bonus must be above 1"),
        ("ordinal_2x2:145", "from 1 to 144, found 145"),
        ("stag_hunt:1", "stag > hare"),
        ("chicken:crash=5", "win > tie > lose > crash"),
        ("battle_of_the_sexes:miss=8", "above miss"),
        ("chicken:1,2,3,4,5,6", "takes at most 4 values without a name, found 6"),
        ({"name": "trust", "honoured": 5}, "honoured must be two numbers"),
        ({"name": "trust", "exploited": [0, 1]}, "gain by keeping"),
        ({"name": "trust", "nope": 5}, "unknown key 'nope' of game trust"),
        ({"name": ["x"], "actions": ["a"], "payoffs": []}, "must be text"),
        ({"preset": "coopeval"}, "needs a 'name'"),
        (3, "must be a name"),
    ],
)
def test_wrong_parameters_are_one_line_with_file_and_key(spec: Any, says: str) -> None:
    with pytest.raises(StudyError) as caught:
        build_game(spec, key="game", file="study.yaml")
    text = str(caught.value)
    assert text.startswith("study.yaml: game") and says in text and "\n" not in text


def test_an_unknown_game_names_its_neighbours() -> None:
    with pytest.raises(UsageError, match="did you mean prisoners_dilemma"):
        build_game("prisoner_dilemma")


def test_without_strict_any_payoffs_go() -> None:
    assert build_game("prisoners_dilemma:T=1,R=2,P=3,S=4,strict=false").payoff((0, 1)) == (4, 1)


def test_a_game_object_is_taken_as_it_is() -> None:
    game = build_game("chicken")
    assert build_game(game) is game


@pytest.mark.parametrize("name", [*CATALOG, "public_goods:4", "travelers_dilemma:2,12"])
def test_the_summary_is_json(name: str) -> None:
    game = build_game(name)
    facts = json.loads(json.dumps(summary(game), allow_nan=False))
    if isinstance(game, FunctionGame):
        assert facts["stages"] and "in no table" in facts["left_out"][0]
        return
    assert facts["left_out"] == [] and facts["pareto"]


def test_summary_of_the_prisoners_dilemma() -> None:
    facts = summary(build_game("prisoners_dilemma:coopeval"))
    assert facts["equilibria"]["pure"] == [{"profile": ["defect", "defect"], "payoffs": [1, 1], "strict": True}]
    assert facts["surviving"] == [["defect"], ["defect"]]
    assert facts["social_optimum"] == {"total": 4, "profiles": [["cooperate", "cooperate"]]}
    assert facts["ordinal"] == {
        "number": 67,
        "row": 6,
        "col": 7,
        "label": "Prisoner's Dilemma",
        "other_label": None,
        "family": "pd-family",
    }


def test_a_huge_game_says_what_its_summary_left_out() -> None:
    facts = summary(build_game("public_goods:13"))
    assert facts["pareto"] is None and "pareto" in facts["left_out"][0]


def test_importing_the_games_is_light() -> None:
    code = "import sys, ostrom.games; print([m for m in ('pydantic', 'yaml', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
