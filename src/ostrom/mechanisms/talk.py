"""Talk: non-binding messages between players around the decisions of a mechanism.

``mechanism: {name: ..., talk: {...}}`` puts talk around any mechanism. Messages are data. They travel in the facts
of a view, prompts quote them, and nothing reads an answer from them.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, ParameterError, short_repr
from ostrom.ground.parameters import Ge, InWords, Le, options_of
from ostrom.ground.streams import Streams
from ostrom.ground.values import value
from ostrom.mechanisms.base import AskSteps, Mechanism, WrappedMechanism, closed_object, drive, seat_key, unpredicting
from ostrom.mechanisms.protocol import Decision, Play, View
from ostrom.mechanisms.societies import pseudonyms

EVERYBODY = "everybody"

Message: TypeAlias = dict[str, Any]
"""``from``, ``round`` and ``text``, ``to`` of a private one (players by number), ``channel`` of one on a channel."""
MOST_CHANNELS = 20


@value
class Channel:
    """The readers of a channel: ``everybody``, or seats by number and roles by name.

    ``overseen``: ``told``: players read in the rules that an overseer reads it, and observers do; ``secret``: observers
    read it and players are not told; ``no``: nobody but the members reads it.
    """

    members: Annotated[str | Sequence[Any], InWords(f"{EVERYBODY} or a list of seats and roles")]
    overseen: Literal["no", "told", "secret"] = "no"

    def seats(self, name: str, game: Game) -> tuple[int, ...]:
        """The seats of the members in a game."""
        if self.members == EVERYBODY:
            return tuple(range(game.seats))
        seats: set[int] = set()
        for member in [self.members] if isinstance(self.members, str) else self.members:
            own = (
                {member - 1}
                if type(member) is int and 1 <= member <= game.seats
                else {seat for seat, role in enumerate(game.roles) if role == member}
            )
            if not own:
                roles = ", ".join(dict.fromkeys(game.roles))
                raise GameError(
                    f"talk.channels.{name}: game {game.name} has no seat {member!r} (allowed: {EVERYBODY}, the seats 1 "
                    f"to {game.seats}, the roles {roles})"
                )
            seats |= own
        if len(seats) < 2:
            raise GameError(f"talk.channels.{name}: a channel has at least two members (found {self.members!r})")
        return tuple(sorted(seats))


def channels_of(value: Any) -> dict[str, Channel]:
    """Parse the channels of a study: ``{ring: [1, 2], hall: {members: everybody, overseen: told}}``.

    >>> channels_of({"ring": [1, 2]})["ring"].overseen
    'no'
    """
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MOST_CHANNELS:
        raise ParameterError(
            f"talk.channels must map 1 to {MOST_CHANNELS} names to their members, found {short_repr(value)}"
        )
    channels = {}
    for name, channel in value.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,29}", name):
            raise ParameterError(f"talk.channels: a name has small letters, digits and _ (found {short_repr(name)})")
        channels[name] = options_of(
            Channel, channel if isinstance(channel, Mapping) else {"members": channel}, f"talk.channels.{name}"
        )
    return channels


@value
class Talk:
    """The rules of talk: who may say what, when and to whom.

    ``when``: once at the ``start``, ``before`` every round, or ``after`` every round that another one follows.
    ``who``: ``everybody``, the number of a seat, or the name of a role. ``order``: all write at the same time
    (``simultaneous``) or one after the other, in the order of the seats, reading what was said before
    (``in_turn``). ``turns`` is how many messages each sends in one talk, ``length`` the most characters of one. A
    ``private`` message goes to one other player whom its sender names; others are public. ``shown`` says which
    messages are quoted before a decision: those of the ``last`` talk or of ``all`` talks. ``channels`` are named
    and have members: what is written on one reaches its members alone, and a player who is in several names one.
    """

    when: Literal["start", "before", "after"] = "before"
    who: Annotated[str | int, InWords(f"{EVERYBODY}, the number of a seat or a role")] = EVERYBODY
    order: Literal["simultaneous", "in_turn"] = "simultaneous"
    turns: Annotated[int, Ge(1), Le(20)] = 1
    length: Annotated[int, Ge(1), Le(4000)] = 280
    private: bool = False
    shown: Literal["last", "all"] = "last"
    channels: Annotated[Mapping[str, Any] | None, InWords("a mapping of names to members")] = None

    def __post_init__(self) -> None:
        if self.channels is not None and (self.private or self.who != EVERYBODY):
            raise ParameterError("talk.channels says who reads what: it goes with neither private nor who")

    def open_channels(self, game: Game) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return the seats of every channel, and its oversight."""
        named = {} if self.channels is None else channels_of(self.channels)
        return {name: (channel.seats(name, game), channel.overseen) for name, channel in named.items()}

    def sender(self, game: Game) -> int | None:
        """Return the only seat that may talk; None if everybody may."""
        if self.who == EVERYBODY:
            return None
        if isinstance(self.who, int):
            if not 1 <= self.who <= game.seats:
                raise GameError(f"talk.who {self.who}: game {game.name} has the seats 1 to {game.seats}")
            return self.who - 1
        named = [seat for seat, role in enumerate(game.roles) if role == self.who]
        if len(named) != 1:
            roles = ", ".join(dict.fromkeys(game.roles))
            raise GameError(
                f"talk.who must be {EVERYBODY}, a seat from 1 to {game.seats} or a role that one seat has, found "
                f"{self.who!r} (game {game.name} has the roles: {roles})"
            )
        return named[0]


def talk_of(stated: Any) -> Talk:
    """The talk that a study declares: ``{when: after, length: 400}``, or the time alone.

    >>> talk_of("after").when
    'after'
    >>> talk_of({"length": 0})
    Traceback (most recent call last):
    ostrom.ground.errors.ParameterError: length must be a whole number from 1 to 4000, found 0
    """
    return options_of(Talk, stated, first="when")


def message_form(length: int, receivers: Sequence[str] = (), kind: str = "private") -> Record:
    """Return the form of a message: a bounded, possibly empty text, and the receiver if it is to be named."""
    parts: dict[str, Any] = {"to": {"type": "string", "enum": list(receivers)}} if receivers else {}
    parts["message"] = {"type": "string", "maxLength": length}
    return Record(f"{kind}_message" if receivers else "message", closed_object(parts))


@value
class Speaker:
    """A player who may talk: its view without the talk, and its possible receivers."""

    player: int
    view: View
    receivers: Mapping[str, Message]
    """The message fields of each receiver, by its key in an answer; empty if all read it."""
    agent: int | None = None


Hearing: TypeAlias = Callable[[Speaker, Sequence[Message]], View]
"""Returns the view of a speaker with the messages so far."""
Conversation: TypeAlias = Generator[list[Decision], Sequence[Answer], tuple[list[Message], tuple[int, ...]]]


def conversation(talk: Talk, speakers: Sequence[Speaker], hearing: Hearing) -> Conversation:
    """Ask for all messages of one talk; return them in order, and the players who missed one.

    A missed message has an empty text.
    """
    messages: list[Message] = []
    late: set[int] = set()
    kind = "private" if talk.private else "channel"
    groups = [speakers] if talk.order == "simultaneous" else [[speaker] for speaker in speakers]
    for _ in range(talk.turns):
        for group in groups:
            answers = yield [
                Decision(
                    speaker.player,
                    "message",
                    hearing(speaker, messages),
                    message_form(talk.length, _choice(talk, speaker), kind),
                    speaker.agent,
                )
                for speaker in group
            ]
            spoken = []
            for speaker, answer in zip(group, answers, strict=True):
                missed = answer.reading == "missed"
                message: Message = {
                    "from": speaker.player,
                    "round": speaker.view.round,
                    "text": "" if missed else str(answer.value["message"]),
                }
                if missed:
                    late.add(speaker.player)
                elif speaker.receivers:
                    message |= speaker.receivers[answer.value.get("to", next(iter(speaker.receivers)))]
                spoken.append(message)
            messages = [*messages, *spoken]
    return messages, tuple(sorted(late))


def _choice(talk: Talk, speaker: Speaker) -> tuple[str, ...]:
    """Return the receivers among which a speaker chooses; empty for a single channel."""
    return tuple(speaker.receivers) if talk.private or len(speaker.receivers) > 1 else ()


SILENT = ("state", "code")
"""Questions about a player's own strategy: they start no round, so there is no talk before them."""


class Talking(WrappedMechanism):
    """The same rules with talk; views contain the messages that the player has heard.

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
        """Refuse games without listeners, without the sender's seat, or without a following round."""
        super().check(game)
        if game.seats < 2:
            raise GameError(f"talk: game {game.name} has one seat, nobody would listen")
        self.talk.open_channels(game)
        stated = "who" if self.talk.sender(game) is not None else "channels" if self.talk.channels else None
        if stated is not None and self.society:
            rule = "must be everybody" if stated == "who" else "cannot be stated"
            raise GameError(f"talk.{stated} {rule} in mechanism {self.name}: its members have no fixed seats")
        if self.talk.when == "after" and self.rules.most_rounds(game) < 2:
            raise GameError(f"talk: when: after needs several rounds; mechanism {self.name} has one")

    def play(self, game: Game, streams: Streams) -> Play:
        """Play by the rules; talk comes before the first question of a round."""
        floor = _Floor(self, game, streams)

        def ask(due: list[Decision]) -> AskSteps:
            if floor.opens(due):
                yield from floor.talk(due)
            return (yield [replace(d, view=floor.heard(d.player, d.view)) for d in due])

        return drive(self.rules.play(game, streams), ask)

    def talks(self, game: Game) -> int:
        """The most talks in a match."""
        rounds = self.rules.most_rounds(game)
        return {"start": 1, "before": rounds, "after": rounds - 1}[self.talk.when]

    def most_decisions(self, game: Game) -> int:
        """The decisions of the wrapped mechanism plus the messages."""
        return self.rules.most_decisions(game) + self.talks(game) * self.talk.turns * sum(
            self._speaks(game, player) for player in range(self.members(game))
        )

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """A player's decisions in the wrapped mechanism, plus its messages if it may send any."""
        speaks = player < players - self.observers and self._speaks(game, player)
        return super().decisions_of(game, player, players) + (self.talks(game) * self.talk.turns if speaks else 0)

    def _speaks(self, game: Game, player: int) -> bool:
        sender, channels = self.talk.sender(game), self.talk.open_channels(game)
        return (not channels or any(player in seats for seats, _ in channels.values())) and sender in (None, player)


class _Floor:
    """The messages of one match, and who may read them."""

    def __init__(self, rules: Talking, game: Game, streams: Streams) -> None:
        talk = rules.talk
        self.rules, self.rules_of_talk, self.when, self.game = rules.rules, talk, talk.when, game
        self.sender, self.round = talk.sender(game), 0
        self.channels = talk.open_channels(game)
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
        """Return whether there is talk before these decisions."""
        if due[0].kind in SILENT or due[0].view.facts.get("alone"):
            return False
        number, before = max(decision.view.round for decision in due), self.round
        self.round = max(number, before)
        return number > before and (before == 0 if self.when == "start" else before > 0 or self.when == "before")

    def talk(self, due: Sequence[Decision]) -> Generator[list[Decision], Sequence[Answer], None]:
        """Ask for the messages of one talk before these decisions."""
        earlier = self.said if self.rules_of_talk.shown == "all" else []

        def hearing(speaker: Speaker, now: Sequence[Message]) -> View:
            return self._with(speaker.player, speaker.view, [*earlier, *now])

        now, _ = yield from conversation(self.rules_of_talk, self._speakers(due), hearing)
        self.said = [*earlier, *now]

    def heard(self, player: int, view: View) -> View:
        """Return a view with the messages that its player has heard."""
        hears = not view.facts.get("alone") and (not self.channels or self._channels_of(player))
        return self._with(player, view, self.said) if hears else view

    def _channels_of(self, player: int) -> dict[str, tuple[int, ...]]:
        """Return the channels that a player reads: its own; for an observer, those overseen."""
        observer = player >= self.game.seats
        return {
            name: seats
            for name, (seats, overseen) in self.channels.items()
            if (overseen != "no" if observer else player in seats)
        }

    def _with(self, player: int, view: View, said: Sequence[Message]) -> View:
        messages, open_to = [], self._channels_of(player)
        for message in said:
            own, to = message["from"] == player, message.get("to")
            if not own and (to not in (None, player) or (self.channels and message.get("channel") not in open_to)):
                continue
            entry = {"round": message["round"], "own": own, "from": self._name(message["from"])}
            if to is not None:
                entry |= {"to": self._name(to), "to_you": to == player}
            if len(open_to) > 1 and "channel" in message:
                entry["channel"] = message["channel"]
            messages.append({**entry, "text": message["text"]})
        talk = {**self.told, "messages": messages}
        if open_to:
            talk["channels"] = [
                {"name": name, "members": list(seats), "overseen": self.channels[name][1] == "told"}
                for name, seats in open_to.items()
            ]
        return replace(view, facts={**view.facts, "talk": talk})

    def _name(self, player: int) -> str | int:
        """Return the seat, or the pseudonym of a member of a society."""
        return player if self.names is None else self.names[player]

    def _speakers(self, due: Sequence[Decision]) -> list[Speaker]:
        by_player = {d.player: d for d in due if not d.view.facts.get("observer")}
        first = due[0].view
        players = range(self.game.seats) if self.names is None else sorted(by_player)
        speakers = []
        for player in players if self.sender is None else [self.sender]:
            decision = by_player.get(player)
            view = self.rules.observer_view(first, player) if decision is None else decision.view
            others = [other for other in players if other != player] if self.rules_of_talk.private else []
            receivers: dict[str, Message] = {
                **{self._key(other): {"to": other} for other in others},
                **{name: {"channel": name} for name in self._channels_of(player)},
            }
            if self.channels and not receivers:
                continue
            speakers.append(
                Speaker(player, unpredicting(view), receivers, None if decision is None else decision.agent)
            )
        return speakers

    def _key(self, player: int) -> str:
        return seat_key(player) if self.names is None else self.names[player]
