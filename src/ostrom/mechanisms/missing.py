"""Missed decisions: how the rules of a match treat them.

An agent (a person, say, whose clock ran out) answers with the reading ``missed`` and no value. It never chooses
an action instead: what follows is a declared rule of the mechanism, and stands in every table.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, nearest
from ostrom.ground.parameters import Ge, checked
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import NOTHING, Round

RULES = ("mark", "end-visit", "default:<action>")
MISSED = Answer(None, "missed")


@value
class Missing:
    """The rule for missed decisions.

    ``mark`` voids the round for all at the table: it has no actions, pays 0 and counts as a round of the match.
    ``end-visit`` does the same and ends the match there. ``default:<action>`` plays the named action, which the
    tables and the players' history mark as not chosen. ``at_most`` ends the match as soon as a player has missed
    more rounds than that.
    """

    rule: str
    at_most: int | None = None

    @property
    def default(self) -> str | None:
        """Return the action played for a player who misses, if the rule has one."""
        return self.rule.partition(":")[2] or None

    def check(self, game: Game) -> None:
        """Refuse a default that is not an action of every seat."""
        for seat, names in enumerate(game.actions, 1):
            if self.default is not None and not game.has_action(seat - 1, self.default):
                raise GameError(
                    f"missed: {self.rule}: seat {seat} of game {game.name} has no such action "
                    f"(found {self.default!r}, allowed: {', '.join(names)})"
                )

    @property
    def voids(self) -> bool:
        """Return whether a round with a missed decision is void."""
        return self.default is None

    def filled(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return the answers with the default in place of missed ones."""
        return [Answer(self.default, "missed") if a.reading == "missed" else a for a in answers]

    def ending_facts(self, times: Counter[int], late: Sequence[int]) -> dict[str, Any]:
        """Return the facts of a match that ends because of missed rounds; empty if it continues.

        ``late`` are the players who missed this round; ``times`` counts missed rounds by player and is updated.
        """
        times.update(late)
        past = self.rule == "end-visit" or (
            self.at_most is not None and any(times[player] > self.at_most for player in late)
        )
        return {"ended": "missed", "missed_by": [player + 1 for player in late]} if late and past else {}


@checked
def missing_of(missed: Any, missed_at_most: Annotated[int, Ge(0)] | None = None) -> Missing | None:
    """Return the rule that a study states; None if decisions cannot be missed.

    >>> missing_of("mark", 2)
    Missing(rule='mark', at_most=2)
    >>> missing_of("marc")
    Traceback (most recent call last):
    ValueError: missed must be mark, end-visit or default:<action>, found 'marc', did you mean 'mark'?
    """
    if missed is None:
        if missed_at_most is not None:
            raise ValueError("missed_at_most needs a rule: set missed to mark or default:<action>")
        return None
    if not isinstance(missed, str) or not (
        missed in RULES[:2] or (missed.startswith("default:") and missed != "default:")
    ):
        near = nearest(str(missed), RULES)
        hint = f", did you mean {near!r}?" if near else ""
        raise ValueError(f"missed must be {', '.join(RULES[:2])} or {RULES[2]}, found {missed!r}{hint}")
    if missed_at_most is not None and missed == "end-visit":
        raise ValueError("missed_at_most does not go with missed: end-visit, which ends at the first one")
    return Missing(missed, missed_at_most)


def missed_by(answers: Sequence[Answer]) -> tuple[int, ...]:
    """Return the indices of missed answers (seats, if answers are by seat)."""
    return tuple(place for place, answer in enumerate(answers) if answer.reading == "missed")


def void_round(
    game: Game, number: int, missed: tuple[int, ...], players: tuple[int, ...] = (), facts: Mapping[str, Any] = NOTHING
) -> Round:
    """Return a void round: no actions, 0 for every seat."""
    return Round(number, (), (0.0,) * game.seats, players, facts=facts, missed=missed)
