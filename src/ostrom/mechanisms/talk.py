"""Talk: messages that players send each other around the decisions of a mechanism. Words bind nobody.

Messages are data. They travel in the facts of a view, prompts quote them, and nothing reads an answer from them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, nearest
from ostrom.ground.values import value
from ostrom.mechanisms.parameters import whole
from ostrom.mechanisms.protocol import Decision, View

WHEN = ("start", "before", "after")
ORDERS = ("simultaneous", "in_turn")
SHOWN = ("last", "all")
EVERYBODY = "everybody"

Message: TypeAlias = dict[str, Any]
"""``from`` and, of a private one, ``to`` (players by number), ``round`` and ``text``."""


@value
class Talk:
    """Who may say what, when and to whom.

    ``when``: once at the ``start``, ``before`` every round, or ``after`` every round that another one follows.
    ``who``: ``everybody``, the number of a seat, or the name of a role. ``order``: all write at the same time
    (``simultaneous``) or one after the other, in the order of the seats, reading what was said before
    (``in_turn``). ``turns`` is how many messages each sends in one talk, ``length`` the most characters of one. A
    ``private`` message goes to one other player whom its sender names; others are public. ``shown`` says which
    messages are quoted before a decision: those of the ``last`` talk or of ``all`` talks.
    """

    when: str = "before"
    who: str | int = EVERYBODY
    order: str = "simultaneous"
    turns: int = 1
    length: int = 280
    private: bool = False
    shown: str = "last"

    def sender(self, game: Game) -> int | None:
        """The seat that alone may talk; None where everybody may."""
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


def talk_of(given: Any) -> Talk:
    """The talk that a study declares: ``{when: after, length: 400}``, or the time alone.

    >>> talk_of("after").when
    'after'
    >>> talk_of({"lenght": 100})
    Traceback (most recent call last):
    ValueError: has no 'lenght', did you mean 'length'? (allowed: when, who, order, turns, length, private, shown)
    """
    if isinstance(given, str):
        given = {"when": given}
    if not isinstance(given, Mapping):
        raise ValueError(f"must be a mapping such as {{when: before}}, found {given!r}")
    known = [field.name for field in fields(Talk)]
    for key in given:
        if key not in known:
            near = nearest(str(key), known)
            hint = f", did you mean {near!r}?" if near else ""
            raise ValueError(f"has no {key!r}{hint} (allowed: {', '.join(known)})")
    talk = Talk(**given)
    for key, allowed in (("when", WHEN), ("order", ORDERS), ("shown", SHOWN)):
        if (found := getattr(talk, key)) not in allowed:
            raise ValueError(f"{key} must be one of {', '.join(allowed)}, found {found!r}")
    if not isinstance(talk.private, bool):
        raise ValueError(f"private must be true or false, found {talk.private!r}")
    if not isinstance(talk.who, str | int) or isinstance(talk.who, bool):
        raise ValueError(f"who must be {EVERYBODY}, the number of a seat or a role, found {talk.who!r}")
    whole("turns", talk.turns, 1, 20)
    whole("length", talk.length, 1, 4000)
    return talk


def message_form(length: int, receivers: Sequence[str] = ()) -> Record:
    """A bounded text, to one of the receivers where there are any; the empty one says nothing."""
    parts: dict[str, Any] = {"to": {"type": "string", "enum": list(receivers)}} if receivers else {}
    parts["message"] = {"type": "string", "maxLength": length}
    schema = {
        "type": "object", "properties": parts, "required": list(parts), "additionalProperties": False,
    }  # fmt: skip
    return Record("private_message" if receivers else "message", schema)


@value
class Speaker:
    """One player who may talk: what it knows but for the talk, and whom it can write to in private."""

    player: int
    view: View
    receivers: Mapping[str, int]
    """Players by the key that names them in an answer; none where messages are public."""
    agent: int | None = None


Hearing: TypeAlias = Callable[[Speaker, Sequence[Message]], View]
"""The view of a speaker with what it has heard so far in this talk."""
Conversation: TypeAlias = Generator[list[Decision], Sequence[Answer], tuple[list[Message], tuple[int, ...]]]


def conversation(talk: Talk, speakers: Sequence[Speaker], hearing: Hearing) -> Conversation:
    """One talk: ask for every message, return them in the order of speaking and the players who missed one.

    Whoever misses a message says nothing.
    """
    said: list[Message] = []
    late: set[int] = set()
    groups = [speakers] if talk.order == "simultaneous" else [[speaker] for speaker in speakers]
    for _ in range(talk.turns):
        for group in groups:
            answers = yield [
                Decision(
                    speaker.player,
                    "message",
                    hearing(speaker, said),
                    message_form(talk.length, tuple(speaker.receivers)),
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
                    message["to"] = speaker.receivers[answer.value["to"]]
                spoken.append(message)
            said = [*said, *spoken]
    return said, tuple(sorted(late))
