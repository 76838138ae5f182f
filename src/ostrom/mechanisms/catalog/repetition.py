"""The same players play the same game again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from ostrom.answers import Answer, Choice
from ostrom.games.function import End, FunctionGame
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.arrays import ArrayRules
from ostrom.mechanisms.base import Mechanism, choice_of, profile_of
from ostrom.mechanisms.lasting import drawn_history, lasting_game
from ostrom.mechanisms.missing import missed_by, missing_of, void_round
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.rounds import hidden_facts, play_round
from ostrom.mechanisms.scoring import match_score
from ostrom.mechanisms.stating import FORMS, check_stating, statement_form, table_form, times_of

Questions: TypeAlias = Generator[list[Decision], Sequence[Answer], None]
"""Questions whose answers change nothing in the match."""


class Repetition(Mechanism):
    """Repeat the game for ``rounds`` rounds, or until chance ends it.

    What the players are *told* about the end is separate from how the end comes about:
    ``told_rounds`` tells the number of rounds, ``told_continuation`` a chance that another round follows.
    ``stopping`` is ``fixed`` (exactly ``rounds``) or ``geometric`` (after each round the match goes on with
    chance ``continuation``, by default the told one, and never beyond ``rounds``).
    ``noise`` replaces a chosen action with another one by accident; histories show what was played.
    ``discount`` makes the score the discounted mean of the payoffs instead of the plain mean.
    ``predict`` asks for predictions before every round (Akata et al. 2025): ``players`` lets each seat
    predict every other one, ``observer`` adds a player who has no seat and predicts all seats, or only the
    one that is ``watched``. Nobody is ever told a prediction, and no history holds one.
    ``missed`` and ``missed_at_most`` say what follows where somebody does not answer in time (``Missing``).
    ``state`` asks every player for its strategy ``before`` the first round, ``during`` the match (in the middle) or
    ``after`` it, or at several of these times, in the form ``state_as``: ``words``, ``memory_one`` or ``automaton``.
    Nobody is told what a player states, the player itself neither.
    """

    name: ClassVar[str] = "repetition"
    may_miss: ClassVar[bool] = True
    any_game: ClassVar[bool] = True

    def __init__(
        self,
        rounds: int = 10,
        told_rounds: bool = False,
        told_continuation: float | None = None,
        stopping: str = "fixed",
        continuation: float | None = None,
        noise: float = 0.0,
        discount: float | None = None,
        predict: str | None = None,
        watched: int | None = None,
        missed: str | None = None,
        missed_at_most: int | None = None,
        state: str | Sequence[str] | None = None,
        state_as: str = "memory_one",
    ) -> None:
        self.missing = missing_of(missed, missed_at_most)
        if state_as not in FORMS:
            raise ValueError(f"state_as must be one of {', '.join(FORMS)}, found {state_as!r}")
        self.state, self.state_as = times_of(state), state_as
        if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 1:
            raise ValueError(f"rounds must be a whole number of at least 1, found {rounds!r}")
        if stopping not in ("fixed", "geometric"):
            raise ValueError(f"stopping must be fixed or geometric, found {stopping!r}")
        for label, chance in (("told_continuation", told_continuation), ("continuation", continuation)):
            if chance is not None and not (_is_number(chance) and 0 <= chance <= 1):
                raise ValueError(f"{label} must lie between 0 and 1, found {chance!r}")
        if not (_is_number(noise) and 0 <= noise <= 1):
            raise ValueError(f"noise must lie between 0 and 1, found {noise!r}")
        if discount is not None and not (_is_number(discount) and 0 < discount <= 1):
            raise ValueError(f"discount must lie in (0, 1], found {discount!r}")
        if continuation is None:
            continuation = told_continuation
        if stopping == "geometric" and continuation is None:
            raise ValueError("geometric stopping needs a continuation chance")
        if told_rounds and told_continuation is not None:
            raise ValueError(
                "tell the players either the number of rounds or a continuation chance, not both"
            )
        if told_rounds and stopping == "geometric":
            raise ValueError("players cannot be told the number of rounds when chance ends the match")
        if predict not in (None, "players", "observer"):
            raise ValueError(f"predict must be players, observer or null, found {predict!r}")
        if watched is not None and predict != "observer":
            raise ValueError("only an observer has a watched seat: set predict to observer")
        if watched is not None and (not isinstance(watched, int) or isinstance(watched, bool) or watched < 1):
            raise ValueError(f"watched must be the number of a seat, found {watched!r}")
        self.predict, self.watched = predict, watched
        self.observers = int(predict == "observer")
        self.rounds, self.stopping, self.continuation = rounds, stopping, continuation
        self.noise, self.discount = float(noise), discount
        told: dict[str, Any] = {"repeated": True}
        if told_rounds:
            told["rounds"] = rounds
        if told_continuation is not None:
            told["continuation"] = told_continuation
        self.told = told

    def check(self, game: Game) -> None:
        """An observer can only watch a seat that is there, a player only predict others."""
        super().check(game)
        if isinstance(game, FunctionGame) and (self.noise or self.predict or self.state or self.sham):
            raise GameError(
                f"mechanism {self.name}: noise, predict, state and a sham need a game with a table of payoffs, and "
                f"those of {game.name} follow from a rule"
            )
        if self.watched is not None and self.watched > game.seats:
            raise GameError(f"watched seat {self.watched}: game {game.name} has {game.seats} seats")
        if self.predict == "players" and game.seats < 2:
            raise GameError(f"game {game.name} has one seat: there is nobody to predict")
        if self.state:
            check_stating(self.name, game)

    sham: bool = False
    """Whether players are shown rounds that chance drew, so that nobody ever learns what they did (a control)."""

    def induced_game(self, game: Game) -> Game | None:
        """The game between those who cooperate as long as all do, and all others; see ``lasting_game``."""
        if isinstance(game, FunctionGame):
            return None
        return lasting_game(game, 0.0 if "rounds" in self.told else self.continuation)

    def powerless(self) -> Repetition:
        """The same rounds, of which each player is shown others than those that were played."""
        sham = copy(self)
        sham.sham, sham.told = True, {**self.told, "sham": True}
        return sham

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask all seats at the same time, round after round, or in each round as the game says."""
        if isinstance(game, FunctionGame):
            return (yield from self._rule(game, streams))
        rounds: list[Round] = []
        # What stays the same is looked up once: with scripts the rules take as long as the players.
        name, told, noise, by_chance = self.name, self.told, self.noise, self.stopping == "geometric"
        seats = [(seat, choice_of(game.named_actions(seat))) for seat in range(game.seats)]
        missing, times, facts, gaps = self.missing, Counter[int](), dict[str, Any](), False
        for number in range(1, self.rounds + 1):
            history = History(rounds, gaps=gaps)
            if number == 1 and "before" in self.state:
                yield from self._statements(game, number, history, "before")
            if number == max(2, self.rounds // 2 + 1) and "during" in self.state:
                yield from self._statements(game, number, history, "during")
            if self.predict is not None:
                yield from self._predictions(game, number, history)
            due = []
            for seat, form in seats:
                shown = history if not self.sham else drawn_history(game, number, seat, streams)
                view = View(game, seat, name, number, shown, told)
                due.append(Decision(seat, "act", view, form))
            answers = yield due
            late = missed_by(answers) if missing is not None else ()
            if missing is not None and late and missing.voids:
                rounds.append(void_round(game, number, late))
                gaps = True
            else:
                played = profile_of(
                    game, missing.filled(answers) if missing is not None and late else answers
                )
                if noise:
                    played = self._tremble(game, played, number, streams)
                rounds.append(Round(number, played, game.payoff(played), missed=late))
            if missing is not None and (facts := missing.ends(times, late)):
                break
            if by_chance and self._ends(number, streams):
                break
        if "after" in self.state:
            yield from self._statements(game, len(rounds) + 1, History(rounds, gaps=gaps), "after")
        scores = tuple(
            match_score([r.payoffs[seat] for r in rounds], self.discount) for seat in range(game.seats)
        )
        return Outcome(rounds, scores, facts)

    def _rule(self, game: FunctionGame, streams: Streams) -> Play:
        """Rounds of a game that says itself who decides when; each begins with what the one before left behind.

        Where nothing is left to play for (``End.over``) rounds that would follow are not played and pay nothing. They
        count in the score, so that an early end is never worth more than a late one.
        """
        rounds: list[Round] = []
        ends: list[End | None] = []
        times, facts, gaps, unplayed = Counter[int](), dict[str, Any](), False, 0
        for number in range(1, self.rounds + 1):
            if "over" in facts:
                unplayed += 1
            else:
                history = History(rounds, gaps=gaps)
                played, end = yield from play_round(
                    game, self.name, number, history, self.told, streams, self.missing
                )
                rounds.append(played)
                ends.append(end)
                gaps = gaps or played.void
                if self.missing is not None and (facts := self.missing.ends(times, played.missed)):
                    break
                if end is not None and end.over is not None:
                    facts = {"over": end.over, "over_round": number}
            if self.stopping == "geometric" and self._ends(number, streams):
                break
        if "over" in facts and self.stopping == "geometric":
            facts["unplayed"] = unplayed  # only chance knows when the match would have ended
        scores = tuple(
            match_score([*(r.payoffs[seat] for r in rounds), *[0.0] * unplayed], self.discount)
            for seat in range(game.seats)
        )
        return Outcome(rounds, scores, {**facts, **hidden_facts(ends)})

    def _statements(self, game: Game, number: int, history: History, when: str) -> Questions:
        """What every seat states at the same time; words are then put into a table by whoever said them."""
        told = {**self.told, "when": when, "aside": True}
        views = [View(game, seat, self.name, number, history, told) for seat in range(game.seats)]
        answers = yield [
            Decision(v.seat, "state", v, statement_form(self.state_as, game, v.seat)) for v in views
        ]
        if self.state_as == "words":
            said = [(v, str(a.value)) for v, a in zip(views, answers, strict=True) if a.reading != "missed"]
            if said:
                yield [
                    Decision(v.seat, "code", replace(v, facts={**told, "statement": text}), table_form())
                    for v, text in said
                ]

    def _predictions(self, game: Game, number: int, history: History) -> Questions:
        """The questions before a round: one other seat at a time, asked of all who predict at once."""
        if self.predict == "players":
            for distance in range(1, game.seats):
                yield [
                    self._prediction(game, seat, seat, (seat + distance) % game.seats, number, history)
                    for seat in range(game.seats)
                ]
        elif self.predict == "observer":
            for target in range(game.seats) if self.watched is None else (self.watched - 1,):
                yield [self._prediction(game, game.seats, target, target, number, history)]

    def _prediction(
        self, game: Game, player: int, seat: int, target: int, number: int, history: History
    ) -> Decision:
        facts = self.told | {"target": target} | ({"observer": True} if player == game.seats else {})
        view = View(game, seat, self.name, number, history, facts)
        return Decision(player, "predict", view, Choice(game.named_actions(target)))

    def _tremble(
        self, game: Game, intended: tuple[int, ...], number: int, streams: Streams
    ) -> tuple[int, ...]:
        played = list(intended)
        for seat, action in enumerate(intended):
            if streams.chance(number, seat, "tremble") < self.noise:
                others = [a for a in range(len(game.actions[seat])) if a != action] or [action]
                played[seat] = others[int(streams.chance(number, seat, "slip") * len(others))]
        return tuple(played)

    def _ends(self, number: int, streams: Streams) -> bool:
        return self.continuation is not None and streams.chance(number, 0, "continue") >= self.continuation

    def most_decisions(self, game: Game) -> int:
        """Every seat decides in every round; predictions come on top."""
        players = game.seats + self.observers
        return sum(self.decisions_of(game, player, players) for player in range(players))

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """What one player is asked in a whole match at most."""
        if isinstance(game, FunctionGame):
            return self.rounds * -(-game.turns // players)
        if player == game.seats:
            return self.rounds * (game.seats if self.watched is None else 1)
        stated = len(self.state) * (2 if self.state_as == "words" else 1)
        return self.rounds * (game.seats if self.predict == "players" else 1) + stated

    def array_rules(self, game: Game) -> ArrayRules | None:
        """Plain repetition as it is, unless somebody predicts."""
        if self.predict is not None or self.sham or self.state or isinstance(game, FunctionGame):
            return None
        continuation = self.continuation if self.stopping == "geometric" else None
        return ArrayRules(self.rounds, self.noise, continuation, self.discount)

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """All rounds but the last."""
        return self.rounds - 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


MECHANISM = Repetition
