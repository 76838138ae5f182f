"""Talk: messages that players send each other around the decisions of a mechanism. Words bind nobody.

Messages are data. They travel in the facts of a view, prompts quote them, and nothing reads an answer from them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, InWords, Le, options_of
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import Decision, View

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

    when: Literal["start", "before", "after"] = "before"
    who: Annotated[str | int, InWords(f"{EVERYBODY}, the number of a seat or a role")] = EVERYBODY
    order: Literal["simultaneous", "in_turn"] = "simultaneous"
    turns: Annotated[int, Ge(1), Le(20)] = 1
    length: Annotated[int, Ge(1), Le(4000)] = 280
    private: bool = False
    shown: Literal["last", "all"] = "last"

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


def talk_of(stated: Any) -> Talk:
    """The talk that a study declares: ``{when: after, length: 400}``, or the time alone.

    >>> talk_of("after").when
    'after'
    >>> talk_of({"length": 0})
    Traceback (most recent call last):
    ostrom.ground.errors.ParameterError: length must be a whole number from 1 to 4000, found 0
    """
    return options_of(Talk, stated, first="when")


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
