"""Mediators and contracts for scripts: which designs make cooperation stable, and a stable one.

Names and amounts are those of the forms: an answer is built for the seat of a view.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ostrom.answers import Form, Record
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.designs import Designed, contracted_game
from ostrom.mechanisms.incentives import is_equilibrium, is_weakly_dominant
from ostrom.mechanisms.protocol import View


@lru_cache(maxsize=64)
def rules_of(mechanism: str) -> Designed:
    """The rules of a mechanism with designs, by name."""
    rules = mechanisms.build(mechanism)
    if not isinstance(rules, Designed):
        raise StudyError(f"mechanism {mechanism} has no designs that a script could judge")
    return rules


def makes_cooperation_stable(view: View, design: Sequence[int]) -> bool:
    """Whether everybody cooperating (by itself or by delegating) is an equilibrium under a design."""
    return _stable(view.game, view.mechanism, tuple(design))


@lru_cache(maxsize=4096)
def _stable(game: Game, mechanism: str, design: tuple[int, ...]) -> bool:
    return rules_of(mechanism).stable(game, design)


def makes_delegation_stable(view: View, mediator: Sequence[int]) -> bool:
    """Return whether all delegating, and thereby cooperating, is an equilibrium under a mediator."""
    rules, game = rules_of(view.mechanism), view.game
    together = tuple(rules.pivotal(game, seat) for seat in range(game.seats))
    return together in rules.cooperation(game, mediator) and is_equilibrium(rules.induced(game, mediator), together)


def stable_design(view: View, form: Form) -> dict[str, Any]:
    """Return a design for cooperation: a mediator that defects unless all delegate, or a contract with a fine.

    The fine is the smallest that makes cooperation dominant; if none within the bound does, the smallest that makes it
    an equilibrium; if none does that either, 0.
    """
    game, seat = view.game, view.seat
    names, good = game.actions[seat], game.cooperative[seat]
    record = _design_form(form)
    if good is None or record.name == "mediator":
        return unfriendly_design(view, form) if good is None else _mediator(view, record, good)
    fine = _smallest_fine(game, good, min(int(part["maximum"]) for part in record.schema["properties"].values()))
    return {name: 0 if action == good else -fine for action, name in enumerate(names)}


def unfriendly_design(view: View, form: Form) -> dict[str, Any]:
    """Return an unfriendly design: a mediator that always defects, or no payments."""
    game, seat = view.game, view.seat
    record = _design_form(form)
    if record.name == "contract":
        return dict.fromkeys(game.actions[seat], 0)
    bad = game.defective[seat]
    return dict.fromkeys(record.schema["properties"], game.actions[seat][0 if bad is None else bad])


def _mediator(view: View, form: Record, good: int) -> dict[str, Any]:
    return {**unfriendly_design(view, form), list(form.schema["properties"])[-1]: view.game.actions[view.seat][good]}


@lru_cache(maxsize=1024)
def _smallest_fine(game: Game, good: int, bound: int) -> int:
    def contract(fine: int) -> list[int]:
        return [0 if action == good else -fine for action in range(len(game.actions[0]))]

    def dominant(fine: int) -> bool:
        paying = contracted_game(game, contract(fine))
        return all(is_weakly_dominant(paying, seat, good) for seat in range(game.seats))

    def stable(fine: int) -> bool:
        return is_equilibrium(contracted_game(game, contract(fine)), (good,) * game.seats)

    for enough in (dominant, stable):
        if enough(bound):
            return _least(enough, bound)
    return 0


def _least(enough: Callable[[int], bool], bound: int) -> int:
    """Return the smallest sufficient number up to the bound; more is always sufficient as well."""
    low, high = 0, bound
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _design_form(form: Form) -> Record:
    if not isinstance(form, Record) or form.name not in ("mediator", "contract"):
        raise StudyError(f"scripts design mediators and contracts, not {getattr(form, 'name', form)!r}")
    return form
