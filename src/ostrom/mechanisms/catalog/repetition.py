"""Repetition: the same players play the same game repeatedly."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, ClassVar, Literal, Self

from ostrom.games.game import Game
from ostrom.games.steps import decides_at_once
from ostrom.ground.parameters import Count, PositiveShare, Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import ArrayRules, Mechanism, payoff_range, scores_by_seat
from ostrom.mechanisms.incentives import lasting_game
from ostrom.mechanisms.protocol import History, Outcome, Play, Round
from ostrom.mechanisms.rounds import Rounds, drawn_history, unplayed_rounds


class Repetition(Mechanism):
    """Repeat the game for ``rounds`` rounds, or until chance ends it.

    What the players are *told* about the end is separate from how the end comes about:
    ``told_rounds`` tells the number of rounds, ``told_continuation`` a chance that another round follows.
    ``stopping`` is ``fixed`` (exactly ``rounds``) or ``geometric`` (after each round the match goes on with
    chance ``continuation``, by default the told one, and never beyond ``rounds``).
    ``noise`` replaces what was chosen with another option by accident; histories show what was played.
    ``discount`` makes the score the discounted mean of the payoffs instead of the plain mean.
    """

    name: ClassVar[str] = "repetition"
    may_miss: ClassVar[bool] = True
    any_game: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        rounds: Count = 10,
        told_rounds: Any = False,  # true or false; null and numbers count as one of them
        told_continuation: Share | None = None,
        stopping: Literal["fixed", "geometric"] = "fixed",
        continuation: Share | None = None,
        noise: Share = 0.0,
        discount: PositiveShare | None = None,
    ) -> None:
        if continuation is None:
            continuation = told_continuation
        by_chance = stopping == "geometric"
        for wrong, why in (
            (by_chance and continuation is None, "geometric stopping needs a continuation chance"),
            (
                told_rounds and told_continuation is not None,
                "tell the players either the number of rounds or a continuation chance, not both",
            ),
            (told_rounds and by_chance, "players cannot be told the number of rounds when chance ends the match"),
        ):
            if wrong:
                raise ValueError(why)
        self.rounds, self.stopping, self.continuation = rounds, stopping, continuation
        self.noise, self.discount = float(noise), discount
        self.told: dict[str, Any] = {
            "repeated": True,
            **({"rounds": rounds} if told_rounds else {}),
            **({} if told_continuation is None else {"continuation": told_continuation}),
        }

    def check(self, game: Game) -> None:
        """Refuse a sham in which a player could notice that shown rounds are made up."""
        super().check(game)
        self.require(
            not self.sham or (not game.stateful and decides_at_once(game)),
            f"a sham shows rounds that nobody played, and what the players of {game.name} are told within a round "
            "would give them away",
        )

    sham: bool = False
    """Whether players are shown random rounds, so that nobody learns what was played (a control)."""

    def induced_game(self, game: Game) -> Game | None:
        """Return the game between conditional cooperators and others; see ``lasting_game``."""
        return lasting_game(game, 0.0 if "rounds" in self.told else self.continuation) if game.has_table else None

    def as_sham(self) -> Repetition:
        """Return the sham of these rules: players are shown random rounds instead of those played."""
        return self.with_values(sham=True, told={**self.told, "sham": True})

    def play(self, game: Game, streams: Streams) -> Play:
        """Play round after round; each begins with the state that the previous one left.

        Where nothing is left to play for (``End.over``) rounds that would follow are not played and pay nothing. They
        count in the score, so that an early end is never worth more than a late one.
        """
        rounds: list[Round] = []
        missing, times, facts, gaps, unplayed = self.missing, Counter[int](), dict[str, Any](), False, 0
        sham, by_chance = self.sham, self.stopping == "geometric"
        playing = Rounds(game, self.name, streams, self.told, missing=missing, noise=self.noise)
        at_once = playing.at_once
        for number in range(1, self.rounds + 1):
            if playing.over is not None:
                unplayed += 1
            else:
                shows = partial(drawn_history, game, number, streams=streams) if sham else None
                past = History(rounds, len(rounds), gaps)
                if at_once:
                    played = playing.settle(number, (yield playing.ask(number, past, shows)))
                else:
                    played = yield from playing.play(number, past, shows)
                rounds.append(played)
                gaps = gaps or not played.actions
                if missing is not None and (facts := missing.ending_facts(times, played.missed)):
                    break
                if playing.over is not None:
                    facts = {"over": playing.over, "over_round": number}
            if by_chance and self._ends(number, streams):
                break
        if "over" in facts and by_chance:
            facts["unplayed"] = unplayed  # only chance determines when the match would have ended
        settled = [*rounds, *unplayed_rounds(game, len(rounds), unplayed)]
        return Outcome(settled, scores_by_seat(game, settled, self.discount), {**facts, **playing.hidden_facts()})

    def score_range(self, game: Game) -> tuple[float, float] | None:
        """The range of the game's payoffs, as the score is a weighted mean; None if decisions can be missed."""
        return payoff_range(game) if self.missing is None and type(self) is Repetition else None

    def _ends(self, number: int, streams: Streams) -> bool:
        return self.continuation is not None and streams.chance(number, 0, "continue") >= self.continuation

    def with_rounds(self, rounds: int) -> Self:
        """Return these rules with exactly this many rounds, without a random end."""
        return super().with_rounds(rounds).with_values(stopping="fixed")

    def survival(self, number: int) -> float:
        """Return the chance that a round takes place: the match must have gone on after each earlier round."""
        return (
            1.0 if self.stopping == "fixed" or self.continuation is None else float(self.continuation ** (number - 1))
        )

    def most_decisions(self, game: Game) -> int:
        """The number of decisions of all rounds."""
        return self.rounds * game.turns

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """Return the most decisions of one player in a match."""
        return self.rounds * -(-game.turns // players)

    def array_rules(self, game: Game) -> ArrayRules | None:
        """Return plain repetition, if the moves of a round are an entry of a payoff table."""
        return (
            None
            if self.sham or not game.has_table
            else ArrayRules(
                self.rounds, self.noise, self.continuation if self.stopping == "geometric" else None, self.discount
            )
        )

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """All rounds but the last."""
        return self.rounds - 1


MECHANISM = Repetition
