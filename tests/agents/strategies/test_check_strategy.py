"""The conformance check finds every kind of fault it promises to find."""

import random
from typing import Any

import pytest

from ostrom.agents.automaton import Automaton
from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Machine, Reciprocator, Strategy
from ostrom.answers import Form
from ostrom.games.function import FunctionGame
from ostrom.games.game import Due, End, Game, Now, Stages
from ostrom.testing.check_strategy import check_strategy


class Sound(Reciprocator):
    """Do what the other did last."""

    title = "Sound"
    citation = "Nobody (2000)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        return C if not past or past.cooperated(-1) else D


class Leaky(Sound):
    """Remembers defections of earlier matches."""

    betrayed = False

    def move(self, past: Past) -> float:
        self.betrayed = self.betrayed or super().move(past) == D
        return D if self.betrayed else C


class Moody(Sound):
    """Asks a global generator."""

    def move(self, past: Past) -> float:
        return float(random.random() < 0.5)


class Forgetful(Sound):
    """Looks further back than it says."""

    memory_depth = 0


class Certain(Sound):
    """Hides that it leaves a move to chance."""

    def move(self, past: Past) -> float:
        return 0.5 if past and not past.cooperated(-1) else C


class Chancy(Sound):
    """Says it is random and is not."""

    stochastic = True


class Partial(Sound):
    """Treats the second seat differently."""

    def move(self, past: Past) -> float:
        return D if past.seat == 1 else super().move(past)


class Misdrawn(Sound):
    """Its automaton is another rule's."""

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:
        return Automaton((1.0,), ((0, 0, 0, 0),))


class Excessive(Sound):
    """States odds above one."""

    needs_cooperation = False

    def mix(self, past: Past) -> list[float]:
        return [1.5, -0.5]


class Nameless(Sound):
    """Cites nobody."""

    citation = ""


class Broken(Machine[bool]):
    """Folds one round too few when it grows."""

    title = "Broken"
    citation = "Nobody (2000)"
    initial = True

    def step(self, state: bool, own: bool, others: bool) -> bool:
        return state and others

    def cooperate(self, state: bool) -> float:
        return float(state)

    def _state_before(self, past: Past) -> tuple[bool, int]:
        state, done = super()._state_before(past)
        return (state, min(done + 1, len(past))) if done else (state, done)


class Gullible(Broken):
    """Takes every longer past for a continuation of the last one."""

    def _state_before(self, past: Past) -> tuple[bool, int]:
        if self._memo is None or len(past) < self._memo[1] or past.rounds[0] is not self._memo[2]:
            return self.initial, 0
        return self._memo[0], self._memo[1]


class Blind(Sound):
    """Plays on where there is nothing to cooperate with."""

    def mix(self, past: Past) -> list[float]:
        return [C, D]


def test_a_sound_strategy_passes() -> None:
    check_strategy(Sound)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Leaky, "with a memory of its own"),
        (Moody, "answers otherwise"),
        (Forgetful, "declares memory_depth 0"),
        (Certain, "declares stochastic False"),
        (Chancy, "declares stochastic True"),
        (Partial, "in seat 1"),
        (Misdrawn, "by its automaton"),
        (Excessive, "are no odds"),
        (Nameless, "no citation"),
        (Broken, "with a memory of its own"),
        (Gullible, "after having seen another branch or seat"),
        (Blind, "against what it declares"),
    ],
)
def test_a_fault_is_found_and_named(kind: type[Strategy], complaint: str) -> None:
    random.seed(1)
    with pytest.raises(AssertionError, match=complaint):
        check_strategy(kind)


def market(now: Now) -> Stages:
    """Both offer high or low; everybody learns the number of low offers, and the price of the next round follows."""
    options = ("high", "low")
    offers = yield [Due(seat, "offer", options, {"round": now.round}) for seat in (0, 1)]
    low = offers.count("low")
    yield [Due(seat, "accept", ("yes", "no")) for seat in (0, 1)]
    return End((2.0 - low, 2.0 - low), {"low": low})


MARKET = FunctionGame("market", (("high", "low", "yes", "no"),) * 2, market, ("offer", "accept"), turns=4)


class Undercuts(Strategy):
    """Offer low after a round with a low offer, as its facts tell; accept."""

    title = "Undercuts"
    citation = "Nobody (2000)"
    memory_depth = 1
    needs_cooperation = False

    def move(self, past: Past) -> float:
        raise NotImplementedError

    def choose(self, past: Past, form: Form) -> Any:
        if past.view.facts["stage"] == "accept":
            return "yes"
        return "low" if past and past.rounds[-1].facts["low"] else "high"


class Invents(Undercuts):
    """Names an option that is none."""

    def choose(self, past: Past, form: Form) -> Any:
        return "middle"


class LongMemory(Undercuts):
    """Looks at the first round."""

    def choose(self, past: Past, form: Form) -> Any:
        if past.view.facts["stage"] == "accept":
            return "yes"
        return "low" if past and past.rounds[0].facts["low"] else "high"


class Draws(Undercuts):
    """Hides that it draws."""

    def choose(self, past: Past, form: Form) -> Any:
        return None


class Counts(Undercuts):
    """Counts how often it was asked."""

    calls = 0

    def choose(self, past: Past, form: Form) -> Any:
        self.calls += 1
        return form.options[self.calls % 2]  # type: ignore[union-attr]


def test_a_strategy_is_checked_in_a_game_by_a_rule_with_named_options_and_facts() -> None:
    check_strategy(Undercuts, games=[MARKET])
    check_strategy("tit_for_tat", games=["prisoners_dilemma", MARKET])
    check_strategy("proportional", games=["public_goods_amounts:3"])
    with pytest.raises(AssertionError, match="plays none of the games it was tried in"):
        check_strategy("tit_for_tat", games=[MARKET])


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Invents, "'middle' in game market, which is not an option here"),
        (LongMemory, "declares memory_depth 1"),
        (Draws, "declares stochastic False"),
        (Counts, "answers otherwise"),
    ],
)
def test_a_fault_in_a_game_by_a_rule_is_found_and_named(kind: type[Strategy], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_strategy(kind, games=[MARKET])
