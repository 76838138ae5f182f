"""Words that a game may carry: its story, who sits at each seat and what each action means."""

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.ground.errors import GameError


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
    kinds: tuple[str, ...] = ()
    """What sort of player sits at each seat, for analysis: economic, social. No prompt says it."""
    order: tuple[tuple[str, ...], ...] = ()
    """The order in which prompts name the actions of each seat, where it is not that of the game."""

    def __bool__(self) -> bool:
        return any((self.narrative, self.titles, self.personas, self.actions, self.kinds, self.order))

    def naming(self, seat: int, actions: Sequence[str]) -> tuple[int, ...]:
        """The places of a seat's actions in the order in which prompts name them.

        >>> Words(order=(("b", "a"),)).naming(0, ("a", "b"))
        (1, 0)
        """
        if not self.order:
            return tuple(range(len(actions)))
        return tuple(list(actions).index(name) for name in self.order[seat])

    def for_seat(self, seat: int) -> dict[str, str]:
        """What there is to tell a seat, and nothing else: narrative, title, persona.

        >>> Words(titles=("Owner", "Neighbour")).for_seat(1)
        {'title': 'Neighbour'}
        """
        seat_words = {"narrative": self.narrative} if self.narrative else {}
        if self.titles:
            seat_words["title"] = self.titles[seat]
        if self.personas:
            seat_words["persona"] = self.personas[seat]
        return seat_words

    def check(self, game: str, actions: Sequence[Sequence[str]]) -> None:
        """Refuse words that do not fit the seats and actions of a game."""
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
