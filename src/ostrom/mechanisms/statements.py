"""Statements of a strategy: when players are asked for one, and the forms in which they give it.

A statement is in ``words`` (and then turned into a table by the same player), a ``memory_one`` table (how often in a
hundred the first action is taken in the first round and after each combination of the last actions), or an
``automaton`` of three states (an action in each, and the state that follows each action of the other). The two tables,
and so the table that words are turned into, are about two seats with two actions.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from ostrom.answers import Answer, Form, Record, Text
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import checked
from ostrom.ground.streams import Streams
from ostrom.ground.words import listed
from ostrom.mechanisms.base import Around, Asked, Mechanism, closed_object, relay, unpredicting
from ostrom.mechanisms.protocol import Decision, History, Play, View

WHEN = ("before", "during", "after")
StatementForm: TypeAlias = Literal["words", "memory_one", "automaton"]
STATES = 3
MOST_WORDS = 80
PLACES = ((1, 1), (1, 2), (2, 1), (2, 2))
"""Own and other action of the last round, by their places in the lists of actions."""


def times_of(when: Any) -> tuple[str, ...]:
    """The times at which players are asked, as written in a study: one, a list, or none.

    >>> times_of("after"), times_of(["after", "before"]), times_of(None)
    (('after',), ('before', 'after'), ())
    """
    given = [] if when is None else [when] if isinstance(when, str) else list(when)
    for time in given:
        if time not in WHEN:
            raise ValueError(f"state must be one or several of {', '.join(WHEN)}, found {time!r}")
    return tuple(time for time in WHEN if time in given)


def has_tables(game: Game) -> bool:
    """Whether strategies of the game can be put into a table."""
    return game.seats == 2 and all(len(names) == 2 for names in game.actions)


def check_stating(mechanism: str, game: Game) -> None:
    """Refuse a game whose strategies cannot be put into a table."""
    if not has_tables(game):
        raise GameError(
            f"mechanism {mechanism}: strategies are stated for two seats with two actions, game {game.name} has "
            f"{listed(len(names) for names in game.actions)} actions (state_as: words holds any game)"
        )


def place_key(own: int, other: int) -> str:
    """The key of what is done after a round, by the places of both actions.

    >>> place_key(1, 2)
    'after_1_2'
    """
    return f"after_{own}_{other}"


def table_form() -> Record:
    """The answer form of a memory-one table: five percentages."""
    keys = ["first", *(place_key(own, other) for own, other in PLACES)]
    chance = {"type": "integer", "minimum": 0, "maximum": 100}
    return Record("memory_one", closed_object(dict.fromkeys(keys, chance)))


def statement_form(how: str, game: Game, seat: int) -> Form:
    """The form in which a seat states its strategy."""
    if how == "words":
        return Text(words=MOST_WORDS)
    if how == "memory_one":
        return table_form()
    names, state = list(game.actions[seat]), {"type": "integer", "minimum": 1, "maximum": STATES}
    parts: dict[str, Any] = {}
    for number in range(1, STATES + 1):
        parts[f"state_{number}_action"] = {"type": "string", "enum": names}
        parts |= {f"state_{number}_after_{other}": state for other in (1, 2)}
    return Record("automaton", closed_object(parts), tuple(names))


def statements(
    who: Sequence[tuple[int, View, int | None]], how: str, when: str
) -> Generator[list[Decision], Sequence[Answer], None]:
    """What players state at the same time; words are then put into a table by whoever said them, where there is one.

    ``who`` names each player, what it knows, and whose agent answers where that is not its own.
    """
    asked = [(p, replace(v, facts={**v.facts, "when": when, "aside": True}), agent) for p, v, agent in who]
    answers = yield [
        Decision(p, "state", v, statement_form(how, v.game, v.seat), agent) for p, v, agent in asked
    ]
    words = [
        Decision(
            p, "code", replace(v, facts={**v.facts, "statement": str(answer.value)}), table_form(), agent
        )
        for (p, v, agent), answer in zip(asked, answers, strict=True)
        if how == "words" and answer.reading != "missed" and has_tables(v.game)
    ]
    if words:
        yield words


def asked_times(times: Sequence[str], how: str) -> int:
    """How many questions about its strategy a player is asked in a match at most."""
    return len(times) * (2 if how == "words" else 1)


class Stated(Around):
    """The same rules, with statements of strategies that nobody else is told: ``mechanism: {name: ..., state: after}``.

    Every player is asked ``before`` the first round, ``during`` the match (in the middle) or ``after`` it, or at
    several of these times, in the form ``state_as``.
    """

    @checked
    def __init__(self, rules: Mechanism, state: Any, state_as: StatementForm = "memory_one") -> None:
        if rules.society:
            raise ValueError("has no rule for statements: its members have no fixed seats")
        super().__init__(rules)
        self.state, self.state_as = times_of(state), state_as

    def check(self, game: Game) -> None:
        """Tables need two seats with two actions."""
        super().check(game)
        if self.state_as != "words":
            check_stating(self.name, game)

    def play(self, game: Game, streams: Streams) -> Play:
        """Let the rules ask; statements come before the first question of a round, and at the end."""
        reached, middle, views = 0, max(2, self.most_rounds(game) // 2 + 1), list[View]()

        def ask(due: list[Decision]) -> Asked:
            nonlocal reached, views
            views = [decision.view for decision in due]
            number = max(view.round for view in views)
            if reached == 0 and "before" in self.state:
                yield from self._statements(views, "before")
            if reached < middle <= number and "during" in self.state:
                yield from self._statements(views, "during")
            reached = max(reached, number)
            return (yield due)

        outcome = yield from relay(self.rules.play(game, streams), ask)
        if "after" in self.state:
            rounds = list(outcome.rounds)
            past = History(rounds, gaps=any(played.void for played in rounds))
            after = [replace(view, round=len(rounds) + 1, history=past) for view in views]
            yield from self._statements(after, "after")
        return outcome

    def _statements(
        self, views: Sequence[View], when: str
    ) -> Generator[list[Decision], Sequence[Answer], None]:
        """Ask every seat, whoever of them the rules ask now."""
        views = [unpredicting(view) for view in views]
        known = {view.seat: view for view in views}
        seats = [
            (seat, self.rules.bystander(known.get(seat, views[0]), seat), None)
            for seat in range(views[0].game.seats)
        ]
        return statements(seats, self.state_as, when)

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """A player's decisions in the wrapped mechanism, plus its statements if it has a seat."""
        stated = asked_times(self.state, self.state_as) if player < game.seats else 0
        return super().decisions_of(game, player, players) + stated
