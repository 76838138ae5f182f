"""Words that a game may carry: its story, who sits at each seat and what each action means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.errors import GameError


@dataclass(frozen=True)
class Words:
    """What framings may say about a game; every part is optional, and payoffs never depend on it.

    >>> bool(Words()), bool(Words(narrative="Two firms share a river."))
    (False, True)
    """

    narrative: str = ""
    titles: tuple[str, ...] = ()
    """What the player at each seat is, as a noun: Industrialist, Citizen."""
    personas: tuple[str, ...] = ()
    """Who the player at each seat is and what moves it, addressed to the player."""
    actions: tuple[tuple[str, ...], ...] = ()
    """What each action of each seat means, in the order of the actions."""

    def __bool__(self) -> bool:
        return bool(self.narrative or self.titles or self.personas or self.actions)

    def at(self, seat: int) -> dict[str, str]:
        """What there is to tell a seat, and nothing else: narrative, title, persona.

        >>> Words(titles=("Owner", "Neighbour")).at(1)
        {'title': 'Neighbour'}
        """
        found = {"narrative": self.narrative} if self.narrative else {}
        if self.titles:
            found["title"] = self.titles[seat]
        if self.personas:
            found["persona"] = self.personas[seat]
        return found

    def check(self, game: str, actions: Sequence[Sequence[str]]) -> None:
        """Refuse words that do not fit the seats and actions of a game."""
        for what, given in (("titles", self.titles), ("personas", self.personas), ("actions", self.actions)):
            if given and len(given) != len(actions):
                raise GameError(
                    f"game {game}: words.{what} has {len(given)} entries for {len(actions)} seats"
                )
            if any(not part for part in given):
                raise GameError(f"game {game}: words.{what} has an empty entry")
        for seat, (meanings, names) in enumerate(zip(self.actions, actions, strict=False), 1):
            if len(meanings) != len(names):
                raise GameError(
                    f"game {game}: words.actions explains {len(meanings)} of the {len(names)} actions "
                    f"of seat {seat}"
                )
