"""Mistakes that are found before the first match: parameters that no model takes, strategies out of place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ostrom.agents.strategies import strategies
from ostrom.engine.plan import Seated
from ostrom.errors import StudyError
from ostrom.games.game import Game
from ostrom.mechanisms import Mechanism
from ostrom.mechanisms.protocol import View

RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("must be a number of at least 0", lambda v: _is_number(v) and v >= 0),
    "top_p": ("must be a number from 0 to 1", lambda v: _is_number(v) and 0 <= v <= 1),
    "max_tokens": ("must be a whole number of at least 1", lambda v: _is_number(v) and v >= 1 and v % 1 == 0),
    "extra": ("must map names to values", lambda v: isinstance(v, dict)),
}


def check_params(params: Mapping[str, Any], file: str | None) -> None:
    """Refuse what no server could take; which parameters a model knows, its client says."""
    for name, (rule, holds) in RULES.items():
        if params.get(name) is not None and not holds(params[name]):
            raise StudyError(rule, file=file, key=f"agent.params.{name}", found=params[name])


def check_strategies(
    game: Game, mechanism: Mechanism, seatings: Iterable[Sequence[Seated]], file: str | None
) -> None:
    """Refuse a strategy that has no meaning in the game, by asking for its first move where it sits."""
    seats = {
        (seat, id(seated.config)): seated.config.strategy
        for seating in seatings
        for place, seated in enumerate(seating)
        if seated.config.strategy is not None and not seated.observes
        for seat in (range(game.seats) if mechanism.society else [place % game.seats])
    }
    for (seat, _), spec in seats.items():
        assert spec is not None
        strategy = strategies.build(spec)
        if getattr(strategy, "seed", 0) is None:
            continue  # one that draws by the seed of its match
        try:
            strategy.odds(View(game, seat, mechanism.name))
        except StudyError as error:
            raise StudyError(str(error), file=file, key="strategy", found=spec) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
