"""Any mechanism with talk around its decisions: ``mechanism: {name: ..., talk: {...}}``."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.around import Around
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View
from ostrom.mechanisms.societies import pseudonyms
from ostrom.mechanisms.talk import Message, Speaker, Talk, conversation

SILENT = ("state", "code")
"""Questions about a player's own strategy: no round begins with them, so nobody talks before them."""


class Talking(Around):
    """The same rules with talk; what their questions tell a player grows by the messages that it has heard.

    A missed message is an empty one: only what the rules themselves ask for can void a round. In a society
    everybody who is asked in a round talks, and public messages are read by all of them. Observers read public
    messages and send none.
    """

    def __init__(self, rules: Mechanism, talk: Talk) -> None:
        if not rules.may_talk:
            raise ValueError("generations talk in their matches: put talk into mechanism.under")
        super().__init__(rules)
        self.talk = talk

    def check(self, game: Game) -> None:
        """Talk needs somebody who listens, a sender that is there, and a round that it follows."""
        super().check(game)
        if game.seats < 2:
            raise GameError(f"talk: game {game.name} has one seat, nobody would listen")
        if self.talk.sender(game) is not None and self.society:
            raise GameError(
                f"talk.who must be everybody in mechanism {self.name}: its members have no fixed seats"
            )
        if self.talk.when == "after" and self.rules.most_rounds(game) < 2:
            raise GameError(f"talk: when: after needs several rounds; mechanism {self.name} has one")

    def play(self, game: Game, streams: Streams) -> Play:
        """Let the rules ask; talk comes before the first question of a round."""
        floor = _Floor(self, game, streams)
        play = self.rules.play(game, streams)
        due = next(play)
        while True:
            if floor.opens(due):
                yield from floor.talk(due)
            answers = yield [replace(d, view=floor.heard(d.player, d.view)) for d in due]
            try:
                due = play.send(answers)
            except StopIteration as stop:
                outcome: Outcome = stop.value
                return outcome

    def talks(self, game: Game) -> int:
        """How often there is talk at most."""
        rounds = self.rules.most_rounds(game)
        return {"start": 1, "before": rounds, "after": rounds - 1}[self.talk.when]

    def most_decisions(self, game: Game) -> int:
        """Those of the rules, and the messages."""
        senders = 1 if self.talk.sender(game) is not None else self.members(game)
        return self.rules.most_decisions(game) + self.talks(game) * self.talk.turns * senders

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """Those of the rules, and the messages of a player who may send any."""
        sender = self.talk.sender(game)
        silent = player >= players - self.observers or (sender is not None and player != sender)
        own = 0 if silent else self.talks(game) * self.talk.turns
        return super().decisions_of(game, player, players) + own


class _Floor:
    """What has been said in one match, and who may hear which of it."""

    def __init__(self, rules: Talking, game: Game, streams: Streams) -> None:
        talk = rules.talk
        self.rules, self.rules_of_talk, self.when, self.game = rules.rules, talk, talk.when, game
        self.sender, self.round = talk.sender(game), 0
        self.names = pseudonyms(rules.members(game), streams) if rules.society else None
        self.told = {
            "when": talk.when,
            "who": self.sender,
            "order": talk.order,
            "turns": talk.turns,
            "length": talk.length,
            "private": talk.private,
            "shown": talk.shown,
            "several": rules.most_rounds(game) > 1,
        }
        self.said: list[Message] = []

    def opens(self, due: Sequence[Decision]) -> bool:
        """Whether there is talk before these decisions."""
        if due[0].kind in SILENT or due[0].view.facts.get("alone"):
            return False
        number, before = max(decision.view.round for decision in due), self.round
        self.round = max(number, before)
        if number <= before:
            return False
        return before == 0 if self.when == "start" else before > 0 or self.when == "before"

    def talk(self, due: Sequence[Decision]) -> Generator[list[Decision], Sequence[Answer], None]:
        """One talk before these decisions."""
        earlier = self.said if self.rules_of_talk.shown == "all" else []

        def hearing(speaker: Speaker, now: Sequence[Message]) -> View:
            return self._with(speaker.player, speaker.view, [*earlier, *now])

        now, _ = yield from conversation(self.rules_of_talk, self._speakers(due), hearing)
        self.said = [*earlier, *now]

    def heard(self, player: int, view: View) -> View:
        """A view with the messages that its player has heard."""
        return view if view.facts.get("alone") else self._with(player, view, self.said)

    def _with(self, player: int, view: View, said: Sequence[Message]) -> View:
        messages = []
        for message in said:
            own, to = message["from"] == player, message.get("to")
            if to is not None and not own and to != player:
                continue
            told = {"round": message["round"], "own": own, "from": self._name(message["from"])}
            if to is not None:
                told |= {"to": self._name(to), "to_you": to == player}
            messages.append({**told, "text": message["text"]})
        return replace(view, facts={**view.facts, "talk": {**self.told, "messages": messages}})

    def _name(self, player: int) -> str | int:
        """A seat, which a prompt names, or the pseudonym of a member of a society."""
        return player if self.names is None else self.names[player]

    def _speakers(self, due: Sequence[Decision]) -> list[Speaker]:
        asked = {d.player: d for d in due if not d.view.facts.get("observer")}
        first = due[0].view
        players = range(self.game.seats) if self.names is None else sorted(asked)
        speakers = []
        for player in players if self.sender is None else [self.sender]:
            decision = asked.get(player)
            view = self.rules.bystander(first, player) if decision is None else decision.view
            view = replace(
                view, facts={k: v for k, v in view.facts.items() if k not in ("target", "observer")}
            )
            others = [other for other in players if other != player]
            receivers = {self._key(other): other for other in others} if self.rules_of_talk.private else {}
            speakers.append(Speaker(player, view, receivers, None if decision is None else decision.agent))
        return speakers

    def _key(self, player: int) -> str:
        return f"player_{player + 1}" if self.names is None else self.names[player]
