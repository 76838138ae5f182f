"""Texts of a game: its story, the players' titles and personas, and the meaning of actions."""

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.ground.errors import GameError


@dataclass(frozen=True)
class Words:
    """Texts that framings may use; all are optional, and payoffs never depend on them.

    >>> bool(Words()), bool(Words(narrative="Two firms share a river."))
    (False, True)
    """

    narrative: str = ""
    titles: tuple[str, ...] = ()
    """The title of each seat as a noun: Industrialist, Citizen."""
    personas: tuple[str, ...] = ()
    """The persona of each seat, addressed to the player."""
    actions: tuple[tuple[str, ...], ...] = ()
    """The meaning of each action of each seat, in the order of the actions."""
    kinds: tuple[str, ...] = ()
    """The kind of player at each seat for analysis (economic, social); no prompt uses it."""
    order: tuple[tuple[str, ...], ...] = ()
    """The order in which prompts list each seat's actions, if it is not the game's."""

    def __bool__(self) -> bool:
        return any((self.narrative, self.titles, self.personas, self.actions, self.kinds, self.order))

    def naming(self, seat: int, actions: Sequence[str]) -> tuple[int, ...]:
        """Return the indices of a seat's actions in the order of prompts.

        >>> Words(order=(("b", "a"),)).naming(0, ("a", "b"))
        (1, 0)
        """
        if not self.order:
            return tuple(range(len(actions)))
        return tuple(list(actions).index(name) for name in self.order[seat])

    def for_seat(self, seat: int) -> dict[str, str]:
        """Return the texts for a seat: narrative, title, persona.

        >>> Words(titles=("Owner", "Neighbour")).for_seat(1)
        {'title': 'Neighbour'}
        """
        parts = (("narrative", self.narrative), ("title", self.titles), ("persona", self.personas))
        return {name: part if isinstance(part, str) else part[seat] for name, part in parts if part}

    def check(self, game: str, actions: Sequence[Sequence[str]]) -> None:
        """Refuse texts that do not fit the seats and actions of a game."""
        parts: list[tuple[str, Sequence[Sequence[str]]]] = [
            ("titles", self.titles), ("personas", self.personas), ("actions", self.actions),
            ("kinds", self.kinds), ("order", self.order),
        ]  # fmt: skip
        for what, entries in parts:
            if entries and len(entries) != len(actions):
                raise GameError(f"game {game}: words.{what} has {len(entries)} entries for {len(actions)} seats")
            if any(not part for part in entries):
                raise GameError(f"game {game}: words.{what} has an empty entry")
        for seat, (meanings, names) in enumerate(zip(self.actions, actions, strict=False), 1):
            if len(meanings) != len(names):
                raise GameError(
                    f"game {game}: words.actions explains {len(meanings)} of the {len(names)} actions of seat {seat}"
                )
        for seat, (ordered, names) in enumerate(zip(self.order, actions, strict=False), 1):
            if sorted(ordered) != sorted(names):
                raise GameError(
                    f"game {game}: words.order of seat {seat} must name each of its actions once: {', '.join(names)}"
                )
