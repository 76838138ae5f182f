"""A placeholder for a mechanism whose package is not installed, to read the rows of its run.

The manifest of a run keeps the shape of every mechanism that another package adds: what its plan and its tables depend
on. One shape is stored for each set of parameters and each game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, NoReturn

from pydantic import BaseModel

from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.python_files import from_code
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism

SHAPES: dict[str, list[RulesShape]] = {}
"""The shapes of mechanisms, by name, in the manifests opened by this process."""
LONGEST = 50
"""The most rounds for which explicit weights are stored."""
_SAME = ("one_shot", "society", "observers", "generations", "spreads", "apart", "may_miss", "any_game", "may_talk")
__all__ = ["absent", "from_code", "keep_shapes", "shape_of"]


class RulesShape(BaseModel, extra="forbid", strict=True):
    """The stored shape of a mechanism, for its parameters, one game and the types of one society."""

    name: str
    params: dict[str, Any]
    """The parameters of the mechanism, as in the study."""
    known: list[str]
    """The names of all parameters of the mechanism."""
    game: str
    game_params: dict[str, Any]
    fields: dict[str, bool | int | float | str]
    types: list[str]
    population: list[str] | None
    prepared: list[str | None]
    decisions: int
    rounds: int
    score_range: list[float] | None
    weights: list[list[float]] | None
    """The weights of matches of 1, 2, ... rounds if the rules define their own, empty if there can be too many rounds;
    None for the default weights."""


def shape_of(
    name: str, params: Mapping[str, Any], known: Iterable[str], rules: Mechanism, game: Game, types: Sequence[str]
) -> dict[str, Any]:
    """Return the shape of a mechanism for a manifest."""
    prepared = [rules.preparation(game, seat) for seat in range(game.seats)]
    ends = rules.score_range(game)
    most, own = rules.most_rounds(game), type(rules).weights is not Mechanism.weights
    plain = {key: value for key, value in vars(rules).items() if isinstance(value, bool | int | float | str)}
    return RulesShape(
        name=name, params=dict(params), known=list(known), game=game.name, game_params=dict(game.params),
        fields=plain | {key: getattr(rules, key) for key in _SAME},
        types=list(types), population=list(rules.population(types, game.seats)) if rules.society else None,
        prepared=[None if one is None else one.name for one in prepared],
        decisions=rules.most_decisions(game), rounds=most, score_range=None if ends is None else list(ends),
        weights=[list(rules.weights(n)) for n in range(1, most + 1 if most <= LONGEST else 1)] if own else None,
    ).model_dump()  # fmt: skip


def keep_shapes(shapes: Sequence[Mapping[str, Any]]) -> None:
    """Register the shapes in a manifest."""
    for shape in map(RulesShape.model_validate, shapes):
        siblings = SHAPES.setdefault(shape.name, [])
        if shape not in siblings:
            siblings.append(shape)


def absent(name: str) -> Callable[..., Mechanism] | None:
    """Return the factory of the placeholder, if a run stores the mechanism's shape."""
    if name not in SHAPES:
        return None

    own = list(SHAPES[name][0].known)

    def build(*args: Any, **params: Any) -> Mechanism:
        return AbsentMechanism(name, {**dict(zip(own, args, strict=False)), **params})

    build.__signature__ = Signature([Parameter(one, Parameter.POSITIONAL_OR_KEYWORD, default=None) for one in own])  # type: ignore[attr-defined]
    return build


class AbsentMechanism(Mechanism):
    """A mechanism of which only the shape is known: its matches can be neither played nor replayed."""

    absent = True

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        self._shapes = [shape for shape in SHAPES[name] if shape.params == params] or SHAPES[name]
        vars(self).update(self._shapes[0].fields, name=name)

    def _of(self, game: Game) -> RulesShape:
        return next(
            (shape for shape in self._shapes if shape.game == game.name and shape.game_params == game.params),
            self._shapes[0],
        )

    def fit(self, game: Game) -> None:
        """Refuse no game: the matches were already played."""

    def check(self, game: Game) -> None:
        """Refuse no game: the matches were already played."""

    def allowing(self, missing: Any) -> Mechanism:  # noqa: ARG002
        """Return these rules: finished matches need no rule for missed decisions."""
        return self

    def play(self, game: Game, streams: Streams) -> NoReturn:  # noqa: ARG002
        """Refuse to play."""
        raise GameError(f"mechanism {self.name}: its package is not installed, which playing and replays need")

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """Return the members that the society had."""
        return next(
            (shape.population for shape in self._shapes if shape.types == list(names)), None
        ) or super().population(names, seats)

    def preparation(self, game: Game, seat: int) -> Mechanism | None:
        """Return the placeholder of a preparation, by its name."""
        name = self._of(game).prepared[seat]
        return None if name is None else self.with_values(name=name, one_shot=True)

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:  # noqa: ARG002
        """Return these rules: the preparations were already played."""
        return self

    def most_decisions(self, game: Game) -> int:
        """The upper bound of decisions that the manifest keeps."""
        return self._of(game).decisions

    def most_rounds(self, game: Game) -> int:
        """The upper bound of rounds that the manifest keeps."""
        return self._of(game).rounds

    def score_range(self, game: Game) -> tuple[float, float] | None:
        """The range of scores that the manifest keeps; None where the rules declared none."""
        ends = self._of(game).score_range
        return None if ends is None else (ends[0], ends[1])

    def weights(self, rounds: int) -> Sequence[float]:
        """The weights of rounds that the manifest keeps; the default ones where it keeps none."""
        weights = self._shapes[0].weights
        if weights is None:
            return super().weights(rounds)
        if rounds > len(weights):
            raise GameError(f"mechanism {self.name}: its package is not installed, which the weights of rounds need")
        return weights[rounds - 1]
