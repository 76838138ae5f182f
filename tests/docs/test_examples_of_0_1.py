"""Parts written after the examples that CONTRIBUTING of 0.1 named: `none.py`, `window.py`, `proportional.py`."""

from typing import Any

import pytest

from ostrom.games import build_game
from ostrom.testing import check_mechanism, check_memory, check_strategy

MECHANISM = """
from ostrom.games.function import FunctionGame
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.missing import missed_by, missing_of, void_round
from ostrom.mechanisms.protocol import EMPTY, Outcome, Round, View
from ostrom.mechanisms.rounds import hidden_facts, play_round
from ostrom.streams import Streams

class Once(Mechanism):
    name = "none"
    one_shot = True
    any_game = True

    def __init__(self, missed=None):
        self.missing = missing_of(missed)

    def play(self, game, streams):
        if isinstance(game, FunctionGame):
            round_, end = yield from play_round(game, self.name, 1, EMPTY, {}, streams, self.missing)
            ENDS.append(end)
            return Outcome([round_], round_.payoffs, hidden_facts([end]))
        answers = yield [act(View(game, seat, self.name)) for seat in range(game.seats)]
        profile = profile_of(game, answers)
        payoffs = game.payoff(profile)
        return Outcome([Round(1, profile, payoffs, expected=expected_payoffs(game, answers))], payoffs)

    def most_decisions(self, game):
        return game.turns if isinstance(game, FunctionGame) else game.seats
"""
MEMORY = """
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, Shown
from ostrom.memory.parameters import whole

class Last(Memory):
    name = "window"

    def __init__(self, k):
        self.k = whole("k", k, least=0)

    def show(self, view, draw, notes=()):
        return Shown(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds):
        return min(rounds, self.k)
"""
STRATEGY = """
from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount
from ostrom.agents.strategies._dilemma import chance
from ostrom.answers import Number
from ostrom.games.amounts import Value

class Part(ByAmount):
    'Name a part of what may be named.'

    title = "Part"
    citation = "own"
    memory_depth = 0

    def __init__(self, share=0.5):
        self.share = chance("share", share)

    def amount(self, past, form):
        return form.amounts.nearest(form.low + self.share * (form.high - form.low))
"""


def written(text: str) -> dict[str, Any]:
    """The names that a module of another package has."""
    names: dict[str, Any] = {"__name__": "elsewhere", "ENDS": []}
    exec(text, names)
    return names


def test_a_mechanism_plays_rounds_of_any_game() -> None:
    names = written(MECHANISM)
    check_mechanism(names["Once"](), games=["prisoners_dilemma"])
    assert not names["ENDS"]
    check_mechanism(names["Once"](), games=[build_game("ultimatum"), build_game("first_price_auction")])
    assert names["ENDS"] and all(end.payoffs for end in names["ENDS"])
    assert any(names["hidden_facts"]([end]) for end in names["ENDS"]), "an auction keeps the values to itself"
    assert names["hidden_facts"]([None]) == {}


def test_a_memory_reads_its_parameters() -> None:
    last = written(MEMORY)["Last"]
    check_memory(last(2))
    with pytest.raises(ValueError, match="k must be a whole number of at least 0, found -1"):
        last(-1)


def test_a_strategy_names_amounts() -> None:
    part = written(STRATEGY)["Part"]
    check_strategy(part(0.3))
    with pytest.raises(ValueError, match="share must be a number from 0 to 1, found 2"):
        part(2)
