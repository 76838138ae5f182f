"""Shared code: a player's decision may be executed by all seats, as copies of one program.

Similarity in the extreme (Oesterheld et al. 2023), as decision making under imperfect recall has it (Tewolde et al.
2023): whoever decides does not know whether it decides for one seat or for all.
"""

from functools import lru_cache
from typing import Any, ClassVar

from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.incentives import game_with
from ostrom.mechanisms.protocol import Outcome, Play, Round, View


class SharedCode(Mechanism):
    """The game is played once; with ``chance`` all seats run the code of one player, drawn evenly.

    Then what that player chose is what every seat plays, by its place in the seat's list of actions. Nobody is told
    which case it is before the choice.
    """

    name: ClassVar[str] = "shared_code"
    one_shot: ClassVar[bool] = True

    @checked
    def __init__(self, chance: Share = 0.9) -> None:
        self.chance = float(chance)

    def check(self, game: Game) -> None:
        """Refuse games whose seats have different numbers of actions: a decision is copied by index."""
        super().check(game)
        if len({len(names) for names in game.actions}) > 1:
            raise GameError(
                f"mechanism {self.name}: all seats need the same number of actions, game {game.name} has "
                + ", ".join(str(len(names)) for names in game.actions)
            )

    def induced_game(self, game: Game) -> Game:
        """Return the game of payoffs that are expected over the draw of whose decision is executed."""
        return shared_game(game, self.chance)

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask every seat once, then draw whose code the seats run."""
        self.check(game)
        facts = {"chance": self.chance}
        answers = yield [act(View(game, seat, self.name, facts=facts)) for seat in range(game.seats)]
        chosen = profile_of(game, answers)
        whose = (
            int(streams.for_round(1, 0, "whose").integers(game.seats))
            if (streams.for_round(1, 0, "shared").random() < self.chance)
            else None
        )
        played = chosen if whose is None else (chosen[whose],) * game.seats
        payoffs = game.payoff(played)
        expected = expected_payoffs(shared_game(game, self.chance), answers)
        settled = {"chosen": list(chosen), "code_of": None if whose is None else whose + 1}
        return Outcome([Round(1, played, payoffs, expected=expected, facts=settled)], payoffs, settled)

    def most_decisions(self, game: Game) -> int:
        """One decision per seat."""
        return game.seats


@lru_cache(maxsize=256)
def shared_game(game: Game, chance: float) -> Game:
    """Return the game between decisions: with ``chance`` a random seat's decision is played by all.

    Cooperating is an equilibrium of the Prisoner's Dilemma from a chance of two thirds on:

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.incentives import is_equilibrium
    >>> pd = build_game("prisoners_dilemma:coopeval")
    >>> [is_equilibrium(shared_game(pd, chance), (0, 0)) for chance in (0.6, 2 / 3, 0.9)]
    [False, True, True]
    """
    import numpy as np

    def paid(profile: tuple[int, ...]) -> Any:
        alike = [np.array(game.payoff((action,) * game.seats)) for action in profile]
        return (1 - chance) * np.array(game.payoff(profile)) + chance * np.mean(alike, axis=0)

    return game_with(game, "shared", paid)


MECHANISM = SharedCode
