"""Which rounds a player remembers at a decision, and every way to leave one out or to flip it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.engine.entries import Place
from ostrom.framing.history_renderer import short_name
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.mechanisms.rounds import otherwise
from ostrom.memory import Note, memories
from ostrom.memory.catalog.edited import no_flip

AS_IT_WAS = "as it was"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to one remembered round; ``back`` 1 is the last round shown."""

    back: int
    round: int
    """The number under which the round is shown."""
    edit: str
    seat: int | None
    row: str
    """What kind of change it is: left out, own flipped, P2 flipped."""

    @property
    def label(self) -> str:
        """The change in words."""
        return f"R{self.round} {self.row}"

    def applied(self, memory: str | Mapping[str, Any]) -> dict[str, Any]:
        """The memory with this change."""
        spec: dict[str, Any] = {"name": "edited", "of": memory, "back": self.back, "edit": self.edit}
        return spec if self.seat is None else {**spec, "seat": self.seat}


def remembered(
    config: AgentConfig, decision: Decision, streams: Streams, answers: Mapping[Place, Any]
) -> Sequence[Round]:
    """The rounds that the player was shown when it decided."""
    memory = memories.build(config.memory)
    notes = [
        Note.from_answer(answer)
        for (_, player, part), (answer, *_) in sorted(answers.items(), key=itemgetter(0))
        if player == decision.player and part == memory.asks and memory.takes_notes
    ]
    shown = memory.show(
        decision.view,
        lambda number, purpose: streams.about(number, decision.player, f"memory:{purpose}"),
        notes,
    )
    return shown.rounds


def _can_flip(game: Game, played: Round, seat: int) -> bool:
    return no_flip(game, seat) is None if game.has_table else otherwise(game, played, seat) is not None


def edits(view: View, rounds: Sequence[Round], method: str, last: int | None = None) -> Iterator[Edit]:
    """Every change of the method to every remembered round (of the ``last`` so many), the oldest first.

    Rounds that cannot be flipped for a seat are not: where a game does not say to what, or nobody what would follow.
    """
    first = 0 if last is None else max(0, len(rounds) - last)
    for place in range(first, len(rounds)):
        back, number = len(rounds) - place, rounds[place].number
        if method in ("drop", "both"):
            yield Edit(back, number, "drop", None, "left out")
        if method in ("flip", "both"):
            for seat in sorted(range(view.game.seats), key=lambda s: (s != view.seat, s)):
                if not _can_flip(view.game, rounds[place], seat):
                    continue
                who = "own" if seat == view.seat else short_name(view, seat)
                yield Edit(back, number, "flip", seat + 1, f"{who} flipped")
