"""A game by a rule: a function plays each round, with amounts, sequential moves and state between rounds.

The rule plays one round (``Game.play``) in as many steps as it needs. Profiles are never enumerated, and a round takes
memory for its own moves only.

    def play(now):                                        # the ultimatum game
        (offer,) = yield [Due(0, "offer", Amounts(0, 100))]
        (reply,) = yield [Due(1, "reply", ("accept", "reject"), {"offer": offer})]
        return End((100 - offer, offer) if reply == "accept" else (0, 0))
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any, NoReturn

from ostrom.games.amounts import IDLE, Amounts, Options, Value
from ostrom.games.formula import ClaimFormula, Formula
from ostrom.games.game import Due, End, Game, Now, Profile, Stages, Theory
from ostrom.games.words import Words
from ostrom.ground.errors import GameError

__all__ = ["Due", "End", "FunctionGame", "Now", "Stages", "Theory", "at_once"]


@dataclass(frozen=True, eq=False)
class FunctionGame(Game):
    """A game by a rule. ``actions`` are all possible moves of a seat; its last move names its action.

    >>> def play(now):
    ...     (kept,) = yield [Due(0, "keep", Amounts(0, 10))]
    ...     return End((kept, 10 - kept))
    >>> game = FunctionGame("split", (Amounts(0, 10), (IDLE,)), play, stages=("keep",))
    >>> game.payoff((7, 0))
    (7.0, 3.0)
    """

    name: str
    actions: tuple[Options, ...]
    play: Callable[[Now], Stages]
    stages: tuple[str, ...] = ()
    turns: int = 0
    """The most decisions of a round; 0 for one per seat that decides."""
    stateful: bool = False
    theory: Theory | None = None
    theory_payoffs: tuple[float, ...] = ()
    best_total: float | None = None
    cooperative: tuple[int | None, ...] = ()
    defective: tuple[int | None, ...] = ()
    roles: tuple[str, ...] = ()
    title: str = ""
    citation: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    formula: Formula | ClaimFormula | None = None
    landmarks: Mapping[str, Any] = field(default_factory=dict)
    """Theoretical values by name, printed by `ostrom show game`."""

    def __post_init__(self) -> None:
        seats = len(self.actions)
        self._refuse_if(
            seats == 0 or any(len(options) == 0 for options in self.actions),
            f"every seat needs at least one action ({IDLE!r} if it never decides)",
        )
        self._complete(
            cooperative=self._indices("cooperative", self.cooperative),
            defective=self._indices("defective", self.defective),
            roles=tuple(self.roles) or ("player",) * seats,
            title=self.title or self.name.replace("_", " ").capitalize(),
            turns=self.turns or sum(len(options) > 1 or options[0] != IDLE for options in self.actions),
        )
        self._refuse_if(len(self.roles) != seats, f"{len(self.roles)} roles for {seats} seats")

    def begin(self, now: Now | None = None) -> Stages:
        """Start a round; the rule's questions and end are checked as it goes."""
        return _checked(self, self.play(Now() if now is None else now))

    def index(self, seat: int, action: Value) -> int:
        """Return the index of a seat's move: an amount, or an option by name."""
        try:
            return self.actions[seat].index(action)
        except ValueError:
            raise GameError(f"game {self.name}: seat {seat + 1} has no action {action!r}") from None

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """Return each seat's payoff in a first round in which all its decisions are its action in the profile."""
        stages = self.begin()
        due = next(stages)
        while True:
            done = [self.value(turn.seat, profile[turn.seat]) for turn in due]
            for turn, value in zip(due, done, strict=True):
                if value not in turn.options:
                    raise GameError(f"game {self.name}: {value!r} is no answer at the stage {turn.stage!r}")
            try:
                due = stages.send(done)
            except StopIteration as stop:
                return tuple(float(x) for x in stop.value.payoffs)

    def stated_payoff(self, reader: int, profile: Sequence[int]) -> tuple[float, ...]:  # noqa: ARG002
        """Return the payoffs at a profile: players are always told the actual ones."""
        return self.payoff(profile)

    def index_of(self, seat: int) -> Mapping[str, int]:
        """Return the indices of a seat's actions by name; refused for amounts, which are not listed."""
        if isinstance(self.actions[seat], Amounts):
            self._refuse()
        return super().index_of(seat)

    def profiles(self) -> Iterator[Profile]:
        """Refused: profiles are never enumerated."""
        self._refuse()

    def expected(self, mixtures: Sequence[Sequence[float]]) -> tuple[float, ...]:  # noqa: ARG002
        """Refused: profiles are never enumerated."""
        self._refuse()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the game without its rule, if the catalog can rebuild it."""
        from ostrom.games import games

        state = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.name in games:
            del state["play"], state["theory"]
        return _restored, (state,)

    def __getattr__(self, name: str) -> Any:
        if name == "payoffs":
            self._refuse()
        raise AttributeError(name)

    def wrong(self, what: str) -> GameError:
        """Return the error for a rule that plays an invalid round."""
        return GameError(f"game {self.name}: a round {what}")

    def _refuse(self) -> NoReturn:
        raise GameError(f"game {self.name}: its payoffs follow from a rule and are in no table, which is needed here")


def _checked(game: FunctionGame, stages: Stages) -> Stages:
    """Run a rule's round; impossible questions or ends are refused in one line."""
    count, end = 0, None
    while True:
        try:
            due = next(stages) if end is None else stages.send(end)
        except StopIteration as stop:
            if not count:
                raise game.wrong("asks nobody anything") from None
            return _ended(game, stop.value)
        seats = [turn.seat for turn in due]
        count += len(seats)
        if not seats:
            raise game.wrong("asks nobody anything at a step")
        if len(set(seats)) < len(seats) or not 0 <= min(seats) <= max(seats) < game.seats:
            raise game.wrong(f"asks the seats {[seat + 1 for seat in seats]} at the same time")
        if count > game.turns:
            raise game.wrong(f"asks more than {game.turns} decisions (`turns` says how many there can be)")
        end = yield due


def _ended(game: FunctionGame, end: object) -> End:
    if not isinstance(end, End):
        raise game.wrong(f"returns {type(end).__name__} in place of an End")
    if len(end.payoffs) != game.seats or not all(isfinite(paid) for paid in end.payoffs):
        raise game.wrong(
            f"pays {list(end.payoffs)!r:.80}, which is not one finite number for each of {game.seats} seats"
        )
    return end


def _restored(kept: Mapping[str, Any]) -> FunctionGame:
    """Rebuild an unpickled game."""
    if "play" in kept:
        return FunctionGame(**kept)
    from ostrom.games import games

    built = games.build({"name": kept["name"], **kept["params"]})
    assert isinstance(built, FunctionGame)
    return FunctionGame(**{**kept, "play": built.play, "theory": built.theory})


def at_once(
    stage: str, options: Sequence[Options], pay: Callable[[Sequence[Any]], Sequence[float]]
) -> Callable[[Now], Stages]:
    """Return the rule of a round with one simultaneous decision per seat; ``pay`` gets the moves by seat.

    >>> play = at_once("guess", (Amounts(0, 9),) * 2, lambda guesses: [float(g == max(guesses)) for g in guesses])
    >>> FunctionGame("most", (Amounts(0, 9),) * 2, play, stages=("guess",)).payoff((3, 8))
    (0.0, 1.0)
    """
    turns = [Due(seat, stage, allowed) for seat, allowed in enumerate(options)]

    def play(now: Now) -> Stages:  # noqa: ARG001
        done = yield turns
        return End(pay(done))

    return play
