"""Payoffs as a formula: what it says is what is scored, and it grows with the players, not with their combinations."""

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.games.describe import formula_of
from ostrom.games.formula import ClaimFormula, Formula, Term
from ostrom.games.game import Game
from ostrom.games.tensor import table_of
from ostrom.ground.errors import GameError, StudyError
from ostrom.mechanisms.base import act
from ostrom.memory import memories
from ostrom.testing.check_memory import draws, view_after

LIBRARY = Library()
LINE = re.compile(
    r"- If you choose (\w+), you receive (?:(-?[\d.]+)(?= [+-]| points)(?: ([+-]) )?)?"
    r"(?:(-?[\d.]+) x k(?: / ([\d.]+))?)? points\."
)


def prompt(game: Game, seat: int = 0, **framing: object) -> str:
    view = view_after(game, [], seat)
    renderer = PromptRenderer(Framing.model_validate({"payoffs": "formula", **framing}), LIBRARY, "reasoned")
    return renderer.prompt(act(view), memories.build("window:2").show(view, draws()), None, {}).text


@pytest.mark.parametrize(
    "spec",
    ["public_goods", {"name": "public_goods", "n": 5, "multiplier": 2.5, "endowment": 10}, "stag_hunt",
     {"name": "prisoners_dilemma", "preset": "memory_curse"}, "trust_symmetric", "chicken"],
)  # fmt: skip
def test_what_is_told_is_what_is_scored(spec: object) -> None:
    game = build_game(spec)  # type: ignore[arg-type]
    for seat in range(game.seats):
        text = prompt(game, seat)
        (counted,) = re.findall(r"who choose (\w+):", text)
        told = {label: rest for label, *rest in LINE.findall(text)}
        labels = [f"A{i}" for i in range(len(game.actions[0]))]
        assert set(told) == set(labels)
        for profile in product(range(len(labels)), repeat=game.seats):
            constant, sign, factor, over = told[labels[profile[seat]]]
            k = sum(labels[a] == counted for a in profile)
            paid = float(constant or 0) + (-1 if sign == "-" else 1) * float(factor or 0) * k / float(over or 1)
            assert paid == pytest.approx(game.payoff(profile)[seat], abs=1e-9)


def test_public_goods_reads_as_the_paper_writes_it() -> None:
    text = prompt(build_game("public_goods"))
    assert "- If you choose A0, you receive 1.5 x k / 3 points." in text
    assert "- If you choose A1, you receive 1 + 1.5 x k / 3 points." in text
    assert "The same holds for every other player." in text


def test_a_prompt_grows_linearly_with_the_players() -> None:
    lengths = {n: len(prompt(build_game({"name": "public_goods", "n": n}))) for n in (4, 8, 16)}
    assert lengths[16] - lengths[8] <= 2 * (lengths[8] - lengths[4]) + 32 and lengths[16] < 2000


def test_a_formula_that_is_not_scored_is_refused() -> None:
    game = build_game("public_goods")
    with pytest.raises(GameError, match="the formula does not give the payoffs"):
        replace(table_of(game), formula=Formula(0, (Term(0, 1.6, 3), Term(1, 1.5, 3))))


CLAIM = re.compile(r"(\w+) claims (-?\d+(?:\.\d+)?)")
RULE = re.compile(r"- If X ([=<>]) Y, you receive ([XY])(?: ([+-]) ([\d.]+))? points\.")


@pytest.mark.parametrize(
    "params", [{}, {"low": 0, "high": 3}, {"high": 9, "bonus": 2.5}, {"bonus": -1.5, "strict": False}]
)
@pytest.mark.parametrize("order", ["given", "reversed"])
def test_claims_are_told_as_they_are_scored(params: dict[str, object], order: str) -> None:
    game = build_game({"name": "travelers_dilemma", **params})
    for seat in range(2):
        text = prompt(game, seat, order=order)
        claims = {label: float(amount) for label, amount in CLAIM.findall(text)}
        rules = {sign: rest for sign, *rest in RULE.findall(text)}
        labels = [f"A{i}" for i in range(len(game.actions[0]))]
        assert set(claims) == set(labels) and set(rules) == {"=", "<", ">"}
        for profile in product(range(len(labels)), repeat=2):
            own, other = claims[labels[profile[seat]]], claims[labels[profile[1 - seat]]]
            base, sign, bonus = rules["=" if own == other else "<" if own < other else ">"]
            paid = (own if base == "X" else other) + (-1 if sign == "-" else 1) * float(bonus or 0)
            assert paid == pytest.approx(game.payoff(profile)[seat], abs=1e-9)


def test_a_claim_of_other_amounts_is_refused() -> None:
    game = table_of(build_game("travelers_dilemma"))
    for formula in (ClaimFormula((2, 3, 4, 6), 2), ClaimFormula((2, 3, 4, 5), 1), ClaimFormula((2, 3), 2)):
        with pytest.raises(GameError, match="the formula does not give the payoffs"):
            replace(game, formula=formula)


def test_games_without_a_formula_say_so_before_a_match() -> None:
    game = build_game("trust")
    assert any(formula_of(game, seat) is None for seat in range(game.seats))
    lacking = PromptRenderer(Framing(payoffs="formula"), LIBRARY, "reasoned").unsupported(game)
    assert lacking is not None and "linear in how many players choose" in lacking
    with pytest.raises(StudyError, match="a formula needs payoffs that are linear"):
        prompt(game)


def test_the_printed_trust_game_pays_as_the_symmetric_one_and_tells_the_printed_payoffs() -> None:
    printed = build_game({"name": "trust_symmetric", "told_victim": 0, "told_betrayer": 6})
    plain = build_game("trust_symmetric")
    assert (printed.payoffs == plain.payoffs).all()
    for seat, other in ((0, "Player 2"), (1, "Player 1")):
        text = prompt(printed, seat, payoffs="sentences")
        assert f"If you choose A1 and {other} chooses A0, you receive 20 points and {other} receives 0 points." in text
        assert f"If you choose A0 and {other} chooses A1, you receive 2 points and {other} receives 6 points." in text
        assert f"If you choose A0 and {other} chooses A0, you receive 10 points and {other} receives 10 points." in text
    assert "Player 2 receives 20 points" in prompt(plain, 0, payoffs="sentences")
    with pytest.raises(GameError, match="seat 1 must be told its own payoffs"):
        replace(table_of(plain), told=np.stack([plain.payoffs * 2, plain.payoffs]))


TWO = np.array([[[4.0, 4], [2, 3]], [[3, 2], [1, 1]]])
CLAIMS = np.array([[[2.0, 2], [3, 1]], [[1, 3], [3, 3]]])
LINEAR = (Term(0, 2), Term(1, 2))


@pytest.mark.parametrize(
    ("formula", "payoffs", "fits"),
    [
        (Formula(0, LINEAR), TWO, True),
        (Formula(0, LINEAR), TWO + 1e-10, True),
        (Formula(0, LINEAR), TWO + 1e-6, False),
        (Formula(0, LINEAR), 1e6 * TWO, False),
        (Formula(0, (Term(0, 2e6), Term(1e6, 4e6, 2))), 1e6 * TWO + 1e-4, True),
        (Formula(1, LINEAR), TWO, False),
        (Formula(2, LINEAR), TWO, False),
        (Formula(0, LINEAR[::-1]), TWO, False),
        (Formula(0, LINEAR[:1]), TWO, False),
        (Formula(0, (*LINEAR, Term(0, 0))), TWO, False),
        (ClaimFormula((2, 3), 1), CLAIMS, True),
        (ClaimFormula((2, 3), -1), CLAIMS, False),
        (ClaimFormula((3, 2), 1), CLAIMS, False),
        (ClaimFormula((2, 3), 1), CLAIMS + 1e-9, True),
        (ClaimFormula((2, 3), 1), CLAIMS + 1e-6, False),
        (ClaimFormula((2, 3, 4), 1), CLAIMS, False),
    ],
)
def test_a_formula_fits_the_payoffs_that_it_gives_and_no_others(
    formula: Formula | ClaimFormula, payoffs: np.ndarray[Any, Any], fits: bool
) -> None:
    assert [formula.fits(payoffs, seat) for seat in (0, 1)] == [fits, fits]
