"""In turn: players decide in the order of the seats and may see earlier decisions."""

from typing import Any, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.ground.parameters import checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.protocol import Outcome, Play, Round, View

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


MECHANISM = InTurn
