"""A question after a match: was this a test, and how sure is the player? ``mechanism: {name: ..., recognise: true}``.

It is asked when the last decision has been made, so that it cannot change one, and nothing speaks of it before. Its
answer stays empty where none could be read: a policy would make up what nobody said.
"""

from dataclasses import replace

from ostrom.answers import Record
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import AskSteps, Mechanism, WrappedMechanism, closed_object, drive, unpredicting
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, View

RECOGNISE = "recognise"
FORM = Record(
    "recognition",
    closed_object(
        {"test": {"type": "string", "enum": ["yes", "no"]}, "sure": {"type": "integer", "minimum": 0, "maximum": 100}}
    ),
)


class Recognised(WrappedMechanism):
    """The same rules; then every player with a seat is asked whether this was a test."""

    def __init__(self, rules: Mechanism) -> None:
        if not rules.may_talk:
            raise ValueError("recognise is asked after the last decision of a match: generations go on")
        super().__init__(rules)

    def play(self, game: Game, streams: Streams) -> Play:
        """Play to the end, then ask all players at once, each with its last view."""
        last, members = dict[int, Decision](), self.members(game)

        def ask(due: list[Decision]) -> AskSteps:
            last.update((one.player, one) for one in due if one.player < members)
            return (yield due)

        outcome = yield from drive(self.rules.play(game, streams), ask)
        yield [
            replace(one, kind=RECOGNISE, view=self._after(game, one.view, outcome), form=FORM)
            for _, one in sorted(last.items())
        ]
        return outcome

    def _after(self, game: Game, view: View, outcome: Outcome) -> View:
        """Return what a player knows after the match, with the result of the last round.

        A past that was not played (a sham), or is told in the actions of another game (induced), stays as it was.
        """
        view, rounds = unpredicting(view), outcome.played
        sham = view.facts.get("sham") or rounds[: len(view.history)] != list(view.history)
        if not (self.society or sham or view.game.actions != game.actions):
            view = replace(
                view, round=len(rounds) + 1, history=History(rounds, gaps=any(played.void for played in rounds))
            )
        # Set aside: it leaves no turn in a dialogue. Optional: an unreadable answer is dropped.
        return replace(view, facts={**view.facts, "aside": True, "optional": True})

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """The decisions of the rules, and one more for everybody but observers."""
        return super().decisions_of(game, player, players) + (player < self.members(game))
