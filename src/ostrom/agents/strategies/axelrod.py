"""Any player of the Axelrod library in a seat, by replaying the history into it (``axelrod`` extra)."""

from typing import Any, ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import Dilemma
from ostrom.agents.strategy import UNBOUNDED, C, D, Strategy
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.mechanisms.protocol import Round


class AxelrodPlayer(Strategy):
    """Play as the player of that class name in the Axelrod library does.

    Random players draw from a generator of their own: their moves are certain given the ``seed``, which must
    be that of the match. The player is told the game's payoffs from its seat, and the length if the seat is.
    """

    title: ClassVar[str] = "Axelrod library player"
    citation: ClassVar[str] = "Knight et al. (2016)"
    memory_depth = UNBOUNDED
    games_of_two: ClassVar[bool] = True

    def __init__(self, player: str, seed: int | None = None) -> None:
        library = _library()
        classes = {kind.__name__: kind for kind in library.all_strategies}
        if player not in classes:
            raise UnknownName("player of the Axelrod library", player, classes)
        self.name = f"axelrod:{player}"
        self.player, self.seed, self._axelrod, self._kind = player, seed, library, classes[player]
        features = classes[player]().classifier
        if features["inspects_source"] or features["manipulates_source"] or features["manipulates_state"]:
            raise StudyError(f"player {player} of the Axelrod library reads or changes its opponent's code")
        self.random_inside = bool(features["stochastic"])
        # State of the replay: player, opponent, rounds fed, next move, and (first round, last round, seat).
        self._live: tuple[Any, Any, int, float, tuple[Round | None, Round | None, int]] | None = None

    def forget(self) -> None:
        """Replay from the start next time."""
        self._live = None

    def move(self, past: Past) -> float:
        """Feed new rounds to the player and return its move."""
        me, other, fed, move = self._resumed(past)
        for i in range(fed, len(past)):
            own, its = self._action(past.i_cooperated(i)), self._action(past.cooperated(i))
            me.update_history(own, its)
            other.update_history(its, own)
            move = self._move(me, other)
        ends = (past.rounds[0], past.rounds[-1], past.seat) if len(past) else (None, None, past.seat)
        self._live = (me, other, len(past), move, ends)
        return move

    def _resumed(self, past: Past) -> tuple[Any, Any, int, float]:
        if self._live is not None:
            me, other, fed, move, (first, last, seat) = self._live
            if (
                fed <= len(past) and (fed == 0 or (past.rounds[0] is first and past.rounds[fed - 1] is last))
            ) and seat == past.seat:
                return me, other, fed, move
        me, other = self._kind(), self._axelrod.MockPlayer(actions=[])
        rules = Dilemma.from_game(past.game, past.seat, self.name)
        length = past.view.facts.get("rounds", UNBOUNDED)
        me.set_match_attributes(
            length=length,
            game=self._axelrod.Game(r=rules.reward, s=rules.sucker, t=rules.temptation, p=rules.punishment),
            noise=0,
        )
        if self.random_inside:
            if self.seed is None:
                raise StudyError(f"player {self.player} of the Axelrod library is random: it needs a seed")
            me.set_seed(self.seed % 2**32)
        return me, other, 0, self._move(me, other)

    def _move(self, me: Any, other: Any) -> float:
        return C if me.strategy(other) == self._axelrod.Action.C else D

    def _action(self, cooperated: bool) -> Any:
        return self._axelrod.Action.C if cooperated else self._axelrod.Action.D


def _library() -> Any:
    try:
        import axelrod
    except ImportError as error:
        raise StudyError(
            f"strategy axelrod needs the Axelrod library: pip install 'ostrom[axelrod]' ({error})"
        ) from None
    return axelrod


STRATEGY = AxelrodPlayer
