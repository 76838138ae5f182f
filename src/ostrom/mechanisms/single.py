"""Mechanisms under which the game is played once, without messages.

In turn: players decide in the order of the seats and may see earlier decisions. Disarmament: players cap, in turns, how
often they will play an action (Deng and Conitzer 2017).

Similarity: players may condition their action on how similar they are (Oesterheld et al. 2023).

Shared code: a player's decision may be executed by all seats, as copies of one program. That is similarity in the
extreme (Oesterheld et al. 2023), as decision making under imperfect recall has it (Tewolde et al. 2023): whoever
decides does not know whether it decides for one seat or for all.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

from ostrom.answers import Answer, Choice, Mixture, Record
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, Le, Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, closed_object, expected_payoffs, profile_of
from ostrom.mechanisms.incentives import game_with
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

MOST_CHARACTERS = 2000
"""The number of characters of each player's reasons shown to others."""


class InTurn(Mechanism):
    """The game is played once. ``shown`` says what later players see of earlier ones.

    ``nothing``: a fixed order alone. ``actions``: what they chose. ``words``: also the reasons that they gave, where
    they are asked for them (``answer: explained``), as a conversation so far.
    """

    name: ClassVar[str] = "in_turn"

    @checked
    def __init__(self, shown: Literal["nothing", "actions", "words"] = "words") -> None:
        self.shown = shown

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask one seat after the other."""
        answers: list[Any] = []
        earlier: list[dict[str, Any]] = []
        for seat in range(game.seats):
            facts = {"shown": self.shown, "before": [dict(entry) for entry in earlier]}
            (answer,) = yield [act(View(game, seat, self.name, facts=facts))]
            answers.append(answer)
            if self.shown != "nothing":
                entry: dict[str, Any] = {"seat": seat, "action": game.index(seat, answer.value)}
                if self.shown == "words":
                    entry["reasons"] = str((answer.facts or {}).get("rationale") or "")[:MOST_CHARACTERS]
                earlier.append(entry)
        profile = profile_of(game, answers)
        payoffs = game.payoff(profile)
        # Odds that depend on earlier draws give no expectation.
        return Outcome(
            [Round(1, profile, payoffs, expected=expected_payoffs(game, answers) if self.shown == "nothing" else None)],
            payoffs,
        )

    def most_decisions(self, game: Game) -> int:
        """One decision per seat."""
        return game.seats


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
        taken = any(IF_ALIKE in names for names in game.actions)
        self.require(not taken, f"game {game.name} has an action called {IF_ALIKE}")

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
    pairs = zip(game.cooperative, game.defective, found, strict=True)
    if_alike = [int(cooperates if alike else defects) for cooperates, defects, alike in pairs]  # type: ignore[arg-type]
    return tuple(if_alike[seat] if option == len(game.actions[seat]) else option for seat, option in enumerate(picked))


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
        self.require_equal_actions(game)

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


Caps = list[list[int]]
"""By seat and action: the highest percentage with which the action may be played."""


class Disarmament(Mechanism):
    """Lower the caps on your own actions in turns until nobody moves any more; then play within the caps.

    One question concerns one action of one player, so that every answer within its bounds leaves the player
    something to play: caps of a player always sum to at least 100. All caps are public and never rise. A
    sweep asks every player about every action that it can still cap; the talks end after a sweep without a
    move, or after ``sweeps`` sweeps. The game is then played once, with a mixed strategy under the caps.
    """

    name: ClassVar[str] = "disarmament"
    one_shot: ClassVar[bool] = True

    @checked
    def __init__(self, sweeps: Annotated[int, Ge(1), Le(100)] = 5) -> None:
        self.sweeps = sweeps

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask for caps in turns, then for simultaneous acts."""
        caps: Caps = [[100] * len(names) for names in game.actions]
        moves: list[dict[str, int]] = []
        for sweep in range(1, self.sweeps + 1):
            before = len(moves)
            for seat in range(game.seats):
                for action in range(len(game.actions[seat])):
                    low, high = lowest_cap(caps[seat], action), caps[seat][action]
                    if low == high:
                        continue
                    facts = self._facts(caps, moves) | {"action": action, "least": low, "sweep": sweep}
                    form = closed_object({"cap": {"type": "integer", "minimum": low, "maximum": high}})
                    view = View(game, seat, self.name, facts=facts)
                    answers = yield [Decision(seat, "disarm", view, Record("cap", form))]
                    cap = answers[0].value["cap"]
                    if cap < high:
                        caps[seat][action] = cap
                        moves.append({"sweep": sweep, "seat": seat, "action": action, "from": high, "to": cap})
            if len(moves) == before:
                break
        facts = self._facts(caps, moves)
        answers = yield [
            Decision(seat, "act", View(game, seat, self.name, facts=facts), capped_form(game, seat, caps))
            for seat in range(game.seats)
        ]
        odds = [_odds(game, seat, answer) for seat, answer in enumerate(answers)]
        played = tuple(
            int(streams.for_round(1, seat, "play").choice(len(chances), p=chances)) for seat, chances in enumerate(odds)
        )
        payoffs = game.payoff(played)
        return Outcome(
            [Round(1, played, payoffs, expected=game.expected(odds))],
            payoffs,
            {"caps": [list(row) for row in caps], "moves": list(moves)},
        )

    def _facts(self, caps: Caps, moves: Sequence[dict[str, int]]) -> dict[str, Any]:
        return {"sweeps": self.sweeps, "caps": [list(row) for row in caps], "moves": [dict(move) for move in moves]}

    def most_decisions(self, game: Game) -> int:
        """Every action of every seat in every sweep, and one act per seat."""
        return self.sweeps * sum(len(names) for names in game.actions) + game.seats


def lowest_cap(caps: Sequence[int], action: int) -> int:
    """Return the lowest cap on an action that leaves 100 per cent in total.

    >>> lowest_cap([100, 100], 0), lowest_cap([30, 100], 1)
    (0, 70)
    """
    return max(0, 100 - sum(cap for other, cap in enumerate(caps) if other != action))


def capped_form(game: Game, seat: int, caps: Caps) -> Mixture:
    """A mixed strategy within a seat's caps."""
    names = game.named_actions(seat)
    return Mixture(names, {name: cap for name, cap in zip(names, caps[seat], strict=True) if cap < 100})


def _odds(game: Game, seat: int, answer: Answer) -> list[float]:
    return [answer.value[name] / 100 for name in game.actions[seat]]
