"""Questions beside the decisions of a match: statements of strategies, predictions, and whether it was a test.

A statement is in ``words`` (and then turned into a table by the same player), a ``memory_one`` table (how often in a
hundred the first action is taken in the first round and after each combination of the last actions), or an
``automaton`` of three states (an action in each, and the state that follows each action of the other). The two tables,
and so the table that words are turned into, are about two seats with two actions.

Predictions around any mechanism with seats: ``mechanism: {name: ..., predict: players}`` (Akata et al. 2025).

``mechanism: {name: ..., recognise: true}`` asks after a match: was this a test, and how sure is the player? The last
decision has been made then, so that the question cannot change one, and nothing speaks of it before. Its answer stays
empty where none could be read: a policy would make up what nobody said.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from ostrom.answers import Answer, Form, Record, Text
from ostrom.games.game import Game
from ostrom.games.steps import steps_of
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, InWords, checked
from ostrom.ground.streams import Streams
from ostrom.ground.words import join_words
from ostrom.mechanisms.base import AskSteps, Mechanism, WrappedMechanism, closed_object, drive, unpredicting
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, View
from ostrom.mechanisms.rounds import form_of

WHEN = ("before", "during", "after")
StatementForm: TypeAlias = Literal["words", "memory_one", "automaton"]
STATES = 3
MOST_WORDS = 80
PLACES = ((1, 1), (1, 2), (2, 1), (2, 2))
"""Own and other action of the last round, by their places in the lists of actions."""


def times_of(when: Any) -> tuple[str, ...]:
    """Return the times at which players are asked, as written in a study: one, a list, or none.

    >>> times_of("after"), times_of(["after", "before"]), times_of(None)
    (('after',), ('before', 'after'), ())
    """
    moments = [] if when is None else [when] if isinstance(when, str) else list(when)
    for time in moments:
        if time not in WHEN:
            raise ValueError(f"state must be one or several of {', '.join(WHEN)}, found {time!r}")
    return tuple(time for time in WHEN if time in moments)


def has_tables(game: Game) -> bool:
    """Return whether strategies of the game fit into a table: it has two seats with two actions each."""
    return game.seats == 2 and all(len(names) == 2 for names in game.actions)


def check_stating(mechanism: str, game: Game) -> None:
    """Refuse a game whose strategies cannot be put into a table."""
    if not has_tables(game):
        raise GameError(
            f"mechanism {mechanism}: strategies are stated for two seats with two actions, game {game.name} has "
            f"{join_words(len(names) for names in game.actions)} actions (state_as: words holds any game)"
        )


def place_key(own: int, other: int) -> str:
    """Return the key of the reaction to a round, by the indices of both actions.

    >>> place_key(1, 2)
    'after_1_2'
    """
    return f"after_{own}_{other}"


def table_form() -> Record:
    """The answer form of a memory-one table: five percentages."""
    return Record(
        "memory_one",
        closed_object(
            {
                key: {"type": "integer", "minimum": 0, "maximum": 100}
                for key in ["first", *(place_key(own, other) for own, other in PLACES)]
            }
        ),
    )


def statement_form(how: str, game: Game, seat: int) -> Form:
    """The form in which a seat states its strategy."""
    match how:
        case "words":
            return Text(words=MOST_WORDS)
        case "memory_one":
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
    """Ask players for statements at the same time; statements in words are then put into a table.

    ``who`` names each player, what it knows, and whose agent answers where that is not its own.
    """
    targets = [(p, replace(v, facts={**v.facts, "when": when, "aside": True}), agent) for p, v, agent in who]
    answers = yield [Decision(p, "state", v, statement_form(how, v.game, v.seat), agent) for p, v, agent in targets]
    words = [
        Decision(p, "code", replace(v, facts={**v.facts, "statement": str(answer.value)}), table_form(), agent)
        for (p, v, agent), answer in zip(targets, answers, strict=True)
        if how == "words" and answer.reading != "missed" and has_tables(v.game)
    ]
    if words:
        yield words


def statement_count(times: Sequence[str], how: str) -> int:
    """Return the most questions about its strategy that a player gets in a match."""
    return len(times) * (2 if how == "words" else 1)


class Stated(WrappedMechanism):
    """The same rules with private statements of strategies: ``mechanism: {name: ..., state: after}``.

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
        """Refuse a game that the rules refuse; statements other than words need two seats with two actions."""
        super().check(game)
        if self.state_as != "words":
            check_stating(self.name, game)

    def play(self, game: Game, streams: Streams) -> Play:
        """Play by the rules; statements come before the first question of a round, and at the end."""
        reached, middle, views = 0, max(2, self.most_rounds(game) // 2 + 1), list[View]()

        def ask(due: list[Decision]) -> AskSteps:
            nonlocal reached, views
            views = [decision.view for decision in due]
            number = max(view.round for view in views)
            if reached == 0 and "before" in self.state:
                yield from self._statements(views, "before")
            if reached < middle <= number and "during" in self.state:
                yield from self._statements(views, "during")
            reached = max(reached, number)
            return (yield due)

        outcome = yield from drive(self.rules.play(game, streams), ask)
        if "after" in self.state:
            rounds = outcome.played
            past = History(rounds, gaps=any(played.void for played in rounds))
            yield from self._statements([replace(view, round=len(rounds) + 1, history=past) for view in views], "after")
        return outcome

    def _statements(self, views: Sequence[View], when: str) -> Generator[list[Decision], Sequence[Answer], None]:
        """Ask every seat, whether the rules ask it now or not."""
        views = [unpredicting(view) for view in views]
        by_seat = {view.seat: view for view in views}
        seats = [
            (seat, self.rules.observer_view(by_seat.get(seat, views[0]), seat), None)
            for seat in range(views[0].game.seats)
        ]
        return statements(seats, self.state_as, when)

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """A player's decisions in the wrapped mechanism, plus its statements if it has a seat."""
        return super().decisions_of(game, player, players) + (
            statement_count(self.state, self.state_as) if player < game.seats else 0
        )


Predictors = Annotated[Literal["players", "observer"] | None, InWords("players, observer or null")]
Watched = Annotated[Annotated[int, Ge(1)] | None, InWords("the number of a seat")]


class Predicted(WrappedMechanism):
    """The same rules with private predictions of other seats' next actions.

    ``predict: players`` lets each seat predict the others, ``observer`` adds a player who has no seat and predicts all
    seats, or only the one that is ``watched``. In a game with a table everybody predicts everybody before the first
    action of a round. In a game without one, those who decide at the same time predict each other, and an observer
    predicts each of them from what that player is told.
    """

    @checked
    def __init__(self, rules: Mechanism, predict: Predictors, watched: Watched = None) -> None:
        if watched is not None and predict != "observer":
            raise ValueError("only an observer has a watched seat: set predict to observer")
        if rules.society:
            raise ValueError("predict goes with rules that give every player a seat, not with a society")
        super().__init__(rules)
        self.predict, self.watched = predict, watched
        self.observers = rules.observers + (predict == "observer")

    def check(self, game: Game) -> None:
        """Refuse a watched seat that the game does not have, and players who would have nobody to predict."""
        super().check(game)
        mutual = self.predict == "players"
        for wrong, why in (
            ((self.watched or 0) > game.seats, f"watched seat {self.watched}: game {game.name} has {game.seats} seats"),
            (mutual and game.seats < 2, f"game {game.name} has one seat: there is nobody to predict"),
            (
                mutual and not any(len(step) > 1 for step in steps_of(game)),
                f"predict: players is about those who decide at the same time, and in game {game.name} nobody does",
            ),
        ):
            if wrong:
                raise GameError(why)

    def play(self, game: Game, streams: Streams) -> Play:
        """Play by the rules; predictions come before the actions that they are about."""
        reached = 0

        def ask(due: list[Decision]) -> AskSteps:
            nonlocal reached
            first = due[0]
            if first.kind == "act" and (not game.has_table or first.view.round > reached):
                reached = first.view.round
                yield from self._predictions(game, due)
            return (yield due)

        return drive(self.rules.play(game, streams), ask)

    def _predictions(self, game: Game, due: Sequence[Decision]) -> Generator[list[Decision], Sequence[Answer], None]:
        """Ask all predictors at once, one target at a time."""
        acting = list(due)
        if game.has_table and len(due) < game.seats:
            by_seat = {decision.view.seat: decision for decision in due}
            acting = [
                by_seat.get(seat) or replace(due[0], player=seat, view=self.rules.observer_view(due[0].view, seat))
                for seat in range(game.seats)
            ]
        if self.predict == "players":
            for distance in range(1, len(acting)):
                yield [
                    self._prediction(own, acting[(place + distance) % len(acting)]) for place, own in enumerate(acting)
                ]
            return
        observer = game.seats + self.rules.observers
        for target in acting:
            if self.watched is None or target.view.seat == self.watched - 1:
                yield [self._prediction(target, target, observer)]

    def _prediction(self, own: Decision, target: Decision, observer: int | None = None) -> Decision:
        """Return the question about a target: from a player's own view, or for an observer from the target's."""
        game, seat = own.view.game, target.view.seat
        facts = {**own.view.facts, "target": seat}
        if observer is not None:
            facts["observer"] = True
            if self.watched is not None:
                facts["watched"] = seat
        if not game.has_table:
            facts["target_stage"] = target.view.facts["stage"]
        form = form_of(game.actions[seat]) if game.has_table else target.form
        seen = own.view
        return Decision(
            own.player if observer is None else observer,
            "predict",
            View(game, seen.seat, seen.mechanism, seen.round, seen.history, facts, seen.names),
            form,
            own.agent,
        )

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """An upper bound of a player's decisions under the rules and its predictions; an observer only predicts."""
        total = super().decisions_of(game, player, players)
        if self.predict == "players":
            # Before an act at most all others are predicted; a game with a table has one act per round.
            acts = self.rules.most_rounds(game) if game.has_table else total
            return total + (0 if player >= game.seats else acts * (game.seats - 1))
        return (
            total
            if player < players - 1
            else self.rules.most_rounds(game) * (1 if self.watched is not None and game.has_table else game.turns)
        )


RECOGNISE = "recognise"
FORM = Record(
    "recognition",
    closed_object(
        {"test": {"type": "string", "enum": ["yes", "no"]}, "sure": {"type": "integer", "minimum": 0, "maximum": 100}}
    ),
)


class Recognised(WrappedMechanism):
    """The same rules; then every player with a seat is asked whether this was a test."""

    def __init__(self, rules: Mechanism) -> None:
        if not rules.may_talk:
            raise ValueError("recognise is asked after the last decision of a match: generations go on")
        super().__init__(rules)

    def play(self, game: Game, streams: Streams) -> Play:
        """Play to the end, then ask all players at once, each with its last view."""
        last, members = dict[int, Decision](), self.members(game)

        def ask(due: list[Decision]) -> AskSteps:
            last.update((one.player, one) for one in due if one.player < members)
            return (yield due)

        outcome = yield from drive(self.rules.play(game, streams), ask)
        yield [
            replace(one, kind=RECOGNISE, view=self._after(game, one.view, outcome), form=FORM)
            for _, one in sorted(last.items())
        ]
        return outcome

    def _after(self, game: Game, view: View, outcome: Outcome) -> View:
        """Return what a player knows after the match, with the result of the last round.

        A past that was not played (a sham), or is told in the actions of another game (induced), stays as it was.
        """
        view, rounds = unpredicting(view), outcome.played
        sham = view.facts.get("sham") or rounds[: len(view.history)] != list(view.history)
        if not (self.society or sham or view.game.actions != game.actions):
            view = replace(
                view, round=len(rounds) + 1, history=History(rounds, gaps=any(played.void for played in rounds))
            )
        # Set aside: it leaves no turn in a dialogue. Optional: an unreadable answer is dropped.
        return replace(view, facts={**view.facts, "aside": True, "optional": True})

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """The decisions of the rules, and one more for everybody but observers."""
        return super().decisions_of(game, player, players) + (player < self.members(game))
