"""Similarity: players may condition their action on how similar they are (Oesterheld et al. 2023)."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import ClassVar

from ostrom.answers import Choice
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, expected_payoffs
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

IF_ALIKE = "if_alike"
"""The additional option: cooperate with those that decide alike."""


class Similarity(Mechanism):
    """Act, or leave it to a comparison: cooperate if all others were found to decide as you do, else defect.

    All decide at the same time. Then every player who chose ``if_alike`` gets one finding of its own: whether all
    players chose the same option. The finding is wrong with the chance ``error``. The game is played once.
    """

    name: ClassVar[str] = "similarity"
    one_shot: ClassVar[bool] = True

    @checked
    def __init__(self, error: Share = 0.1) -> None:
        self.error = float(error)

    def check(self, game: Game) -> None:
        """Refuse games without cooperative and defective actions, or with an action that is named ``if_alike``."""
        if None in game.cooperative or None in game.defective:
            raise GameError(f"mechanism similarity needs a game with cooperative actions; {game.name} has none")
        if any(IF_ALIKE in names for names in game.actions):
            raise GameError(f"mechanism similarity: game {game.name} has an action called {IF_ALIKE}")

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask every seat once, then compare."""
        facts = {
            "error": self.error,
            "cooperative": [int(a) for a in game.cooperative if a is not None],
            "defective": [int(a) for a in game.defective if a is not None],
        }
        answers = yield [
            Decision(seat, "act", View(game, seat, self.name, facts=facts), Choice((*game.actions[seat], IF_ALIKE)))
            for seat in range(game.seats)
        ]
        full_game = compared_game(game, self.error)
        picked = tuple(full_game.index(seat, answer.value) for seat, answer in enumerate(answers))
        alike = all_alike(game, picked)
        signals = [
            alike != bool(streams.for_round(1, seat, "finding").random() < self.error) for seat in range(game.seats)
        ]
        played = realised(game, picked, signals)
        payoffs = game.payoff(played)
        compared = [picked[seat] == len(game.actions[seat]) for seat in range(game.seats)]
        round_ = Round(1, played, payoffs, expected=expected_payoffs(full_game, answers), facts={"if_alike": compared})
        return Outcome([round_], payoffs, {"if_alike": compared, "alike": alike, "found_alike": signals})

    def most_decisions(self, game: Game) -> int:
        """One decision per seat."""
        return game.seats


def all_alike(game: Game, picked: Sequence[int]) -> bool:
    """Return whether all seats picked the option at the same index; ``if_alike`` equals only itself."""
    policies = [picked[seat] == len(game.actions[seat]) for seat in range(game.seats)]
    return all(policies) or (not any(policies) and len(set(picked)) == 1)


def realised(game: Game, picked: Sequence[int], found: Sequence[bool]) -> tuple[int, ...]:
    """Return the actions that follow from the picks and the result of each comparison."""
    played = []
    for seat, option in enumerate(picked):
        if option == len(game.actions[seat]):
            action = game.cooperative[seat] if found[seat] else game.defective[seat]
            assert action is not None
            option = action
        played.append(option)
    return tuple(played)


@lru_cache(maxsize=256)
def compared_game(game: Game, error: float) -> Game:
    """Return the game with ``if_alike`` as an additional action and exact expected payoffs.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.incentives import is_equilibrium
    >>> pd = build_game("prisoners_dilemma:coopeval")
    >>> [is_equilibrium(compared_game(pd, error), (2, 2)) for error in (0.1, 0.4)]
    [True, False]
    """
    import numpy as np

    actions = tuple((*names, IF_ALIKE) for names in game.actions)
    payoffs = np.zeros((*(len(names) for names in actions), game.seats))
    for picked in product(*(range(len(names)) for names in actions)):
        alike = all_alike(game, picked)
        asking = [seat for seat in range(game.seats) if picked[seat] == len(game.actions[seat])]
        total = np.zeros(game.seats)
        for wrong in product((False, True), repeat=len(asking)):
            signals = [alike] * game.seats
            for seat, is_wrong in zip(asking, wrong, strict=True):
                signals[seat] = alike != is_wrong
            chance = error ** sum(wrong) * (1 - error) ** (len(wrong) - sum(wrong))
            total += chance * np.array(game.payoff(realised(game, picked, signals)))
        payoffs[picked] = total
    return TensorGame(f"{game.name}_compared", actions, payoffs)


MECHANISM = Similarity
