"""Trust, gift exchange, centipede, Blotto, volunteers and minimum effort: what they pay, and what theory says."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.games import build_game
from ostrom.games.catalog._sequential import COSTS
from ostrom.games.catalog.colonel_blotto import divisions
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.testing.check_mechanism import check_mechanism, drive, played_by

RULED = ("trust_amounts", "gift_exchange", "centipede", "colonel_blotto", "minimum_effort")


def paid(game: Game, *types: str) -> tuple[float, ...]:
    """What strategies are paid who meet once."""
    streams = Streams(0, 0)
    return drive(mechanisms.build("none"), game, streams, played_by(types, streams)).outcome.scores


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RULED)
def test_a_game_keeps_the_contract_with_rounds_and_talk(name: str) -> None:
    check_mechanism("none", games=[name], seeds=1)
    check_mechanism(
        {"name": "repetition", "rounds": 3, "talk": {"when": "after", "order": "in_turn"}}, games=[name], seeds=1
    )


@pytest.mark.parametrize("name", [name for name in RULED if name not in ("colonel_blotto", "minimum_effort")])
def test_players_who_look_ahead_end_where_theory_says(name: str) -> None:
    game = build_game(name)
    assert isinstance(game, FunctionGame)
    assert paid(game, "best_response", "best_response") == pytest.approx(game.theory_payoffs)


@given(sent=st.integers(0, 10), share=st.floats(0, 1), multiplier=st.integers(2, 5))
def test_trust_pays_what_is_kept_sent_and_returned(sent: int, share: float, multiplier: int) -> None:
    game = build_game({"name": "trust_amounts", "multiplier": multiplier, "trustee_endowment": 4})
    returned = int(share * sent * multiplier)
    back = game.index(1, str(returned) if sent else "no_move")
    assert game.payoff((sent, back)) == (10 - sent + returned, 4 + multiplier * sent - returned)


def test_a_trustee_is_not_asked_when_nothing_arrives() -> None:
    streams = Streams(0, 0)
    game = build_game("trust_amounts")
    played = drive(mechanisms.build("none"), game, streams, played_by(("constant:0", "proportional:1"), streams))
    assert [[d.player for d in step] for step in played.asked] == [[0]]
    assert played.outcome.scores == (10.0, 0.0)


def test_gift_exchange_pays_by_wage_and_effort() -> None:
    game = build_game("gift_exchange")
    for wage, place in product((0, 37, 100), range(10)):
        effort = (place + 1) / 10
        assert game.payoff((wage, place)) == pytest.approx((100 * effort - wage, wage - COSTS[place]))
    assert isinstance(game, FunctionGame) and game.best_total == 82


@pytest.mark.parametrize(("at", "expected"), [(1, (4, 1)), (2, (2, 8)), (3, (16, 4)), (4, (8, 32)), (None, (64, 16))])
def test_the_centipede_pays_where_somebody_takes(at: int | None, expected: tuple[int, int]) -> None:
    stages = build_game("centipede").begin()
    due, ended = next(stages), None
    for move in range(1, 5):
        assert due[0].seat == (move - 1) % 2
        try:
            due = stages.send(["take" if move == at else "pass"])
        except StopIteration as stop:
            ended = stop.value
            break
    assert ended is not None and tuple(ended.payoffs) == expected and ended.facts["taken_at"] == at


def test_blotto_is_zero_sum_and_every_division_can_be_beaten() -> None:
    game = build_game("colonel_blotto")
    names = game.actions[0]
    assert len(names) == 28 and all(sum(division) == 6 for division in divisions(6, 3))
    won = {(a, b): game.payoff((a, b)) for a, b in product(range(28), repeat=2)}
    assert all(x == -y and (x, y) == won[b, a][::-1] for (a, b), (x, y) in won.items())
    assert all(any(won[b, a][0] > 0 for b in range(28)) for a in range(28))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_volunteers_are_indifferent_in_the_symmetric_equilibrium(n: int) -> None:
    game = build_game({"name": "volunteers_dilemma", "n": n, "benefit": 10, "cost": 4})
    wait = (4 / 10) ** (1 / (n - 1))
    odds = [[1 - wait, wait]] * n
    for own in ([1.0, 0.0], [0.0, 1.0]):
        assert game.expected([own, *odds[1:]])[0] == pytest.approx(10 - 4)


@given(st.lists(st.integers(1, 7), min_size=2, max_size=6))
def test_minimum_effort_pays_by_the_weakest(efforts: list[int]) -> None:
    game = build_game({"name": "minimum_effort", "n": len(efforts)})
    assert game.payoff([e - 1 for e in efforts]) == tuple(60 + 20 * min(efforts) - 10 * e for e in efforts)


def test_every_common_effort_is_an_equilibrium_and_the_highest_pays_most() -> None:
    game = build_game({"name": "minimum_effort", "n": 3})
    for level in range(7):
        alike = game.payoff((level,) * 3)[0]
        assert all(game.payoff((other, level, level))[0] <= alike for other in range(7))
        assert alike == 60 + 10 * (level + 1)


def test_a_thousand_players_choose_an_effort_at_once() -> None:
    game = build_game({"name": "minimum_effort", "n": 1000, "levels": 101})
    assert set(paid(game, *["proportional:1"] * 1000)) == {60.0 + 10 * 101}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"name": "trust_amounts", "multiplier": 1}, "multiplier must be a number above 1"),
        ({"name": "public_goods_amounts", "n": 4, "multiplier": 4}, "needs a multiplier between 1 and n"),
        ({"name": "public_goods_amounts", "n": 4, "multiplier": 1}, "needs a multiplier between 1 and n"),
        ({"name": "centipede", "small": 3}, "factor x small must be below large"),
        ({"name": "colonel_blotto", "troops": 50, "fields": 5}, "more than 500"),
        ({"name": "colonel_blotto", "troops": 31}, "31 troops can be divided over 3 fields in 528 ways"),
        ({"name": "volunteers_dilemma", "cost": 10}, "cost must lie between 0 and the benefit"),
        ({"name": "minimum_effort", "cost": 20}, "cost must lie between 0 and the gain"),
        ({"name": "gift_exchange", "value": 0}, "value must be a number above 0"),
    ],
)
def test_a_parameter_without_sense_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises((GameError, StudyError), match=words):
        build_game(spec)
    assert len(build_game({"name": "colonel_blotto", "troops": 30}).actions[0]) == 496
