"""Mechanisms: the rules around a game, as pure generators of decisions."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import checked
from ostrom.ground.python_files import is_code
from ostrom.ground.registry import Registry, parse_spec
from ostrom.mechanisms.absent import SHAPES, shape_of
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.missing import missing_of
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.statements import Predicted, Recognised, Stated, StatementForm
from ostrom.mechanisms.talk import Talking, talk_of


def _missing(rules: Mechanism, missed: Any = None, missed_at_most: Any = None) -> Mechanism:
    missing = missing_of(missed, missed_at_most)
    if missing is None:
        return rules
    if not rules.may_miss:
        raise ValueError("has no rule for missed decisions: leave missed out")
    return rules.allowing(missing)


def _predicted(rules: Mechanism, predict: Any = None, watched: Any = None) -> Mechanism:
    return rules if predict is None and watched is None else Predicted(rules, predict, watched)


@checked
def _stated(rules: Mechanism, state: Any = None, state_as: StatementForm = "memory_one") -> Mechanism:
    return rules if state is None else Stated(rules, state, state_as)


def _talking(rules: Mechanism, talk: Any = None) -> Mechanism:
    return rules if talk is None else Talking(rules, talk_of(talk))


@checked
def _recognised(rules: Mechanism, recognise: bool = False) -> Mechanism:
    return Recognised(rules) if recognise else rules


WRAPPERS: tuple[Callable[..., Mechanism], ...] = (_missing, _predicted, _stated, _talking, _recognised)
"""The wrappers of a mechanism, innermost first: talk opens a round before statements and predictions; recognition
comes last."""
KEYS = {name: wrap for wrap in WRAPPERS for name in list(inspect.signature(wrap).parameters)[1:]}


class NamedMechanisms(Registry[Mechanism]):
    """The registry of mechanisms; ``{name: ..., predict: ..., talk: {...}}`` builds one with its wrappers."""

    def build(self, spec: str | Mapping[str, Any], *, key: str | None = None, file: str | None = None) -> Mechanism:
        """Build a mechanism with its wrappers; a key of ``KEYS`` that the mechanism itself has stays its own."""
        name, args, kwargs = parse_spec(spec, key=key or self.kind, file=file)
        own = super().parameters(name) if name in self or name in SHAPES else {}
        around = {word: kwargs.pop(word) for word in [*kwargs] if word in KEYS and word not in own}
        if not around:
            return super().build(spec, key=key, file=file)
        rules = super().build({"name": name, **dict(zip(own, args, strict=False)), **kwargs}, key=key, file=file)
        for wrap in WRAPPERS:
            values = {word: value for word, value in around.items() if KEYS[word] is wrap}
            try:
                rules = wrap(rules, **values) if values else rules
            except (TypeError, ValueError) as error:
                if wrap is _talking:
                    raise StudyError(str(error), key=f"{key or self.kind}.talk", file=file) from error
                raise StudyError(f"{self.kind} {name}: {error}", key=key, file=file) from error
        return rules

    def shapes(self, spec: Any, game: Game, types: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the shapes of mechanisms of other packages in a specification."""
        shapes: dict[str, dict[str, Any]] = {}
        for inner in spec.values() if isinstance(spec, Mapping) else ():
            shapes |= self.shapes(inner, game, types) if isinstance(inner, Mapping) else {}
        if isinstance(spec, str) or isinstance(spec.get("name"), str):
            name, args, params = parse_spec(spec)
            if self.is_foreign(name) or is_code(name):
                own = list(super().parameters(name))
                stated = dict(zip(own, args, strict=False)) | {key: params[key] for key in params if key in own}
                shape = shape_of(name, stated, own, super().build({"name": name, **stated}), game, types)
                shapes[repr(shape)] = shape
        return shapes

    def parameters(self, name: str) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of a mechanism, and the keys of its wrappers."""
        own = super().parameters(name)
        return {
            **own,
            **{
                word: inspect.signature(wrap).parameters[word].replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for word, wrap in KEYS.items()
                if word not in own
            },
        }


mechanisms = NamedMechanisms(
    "mechanism",
    "ostrom.mechanisms.catalog",
    "MECHANISM",
    "ostrom.mechanisms",
    folder="mechanisms",
    table={
        "advice": "ostrom.mechanisms.two_steps:Advised",
        "cheap_talk": "ostrom.mechanisms.two_steps:CheapTalk",
        "contracting": "ostrom.mechanisms.designs:Contracting",
        "disarmament": "ostrom.mechanisms.single:Disarmament",
        "in_turn": "ostrom.mechanisms.single:InTurn",
        "mediation": "ostrom.mechanisms.designs:Mediation",
        "punishment": "ostrom.mechanisms.two_steps:Punishment",
        "reputation": "ostrom.mechanisms.populations:Reputation",
        "shared_code": "ostrom.mechanisms.single:SharedCode",
        "similarity": "ostrom.mechanisms.single:Similarity",
        "society": "ostrom.mechanisms.populations:Society",
    },
    code="ostrom.mechanisms.absent",
)

__all__ = ["Decision", "History", "Mechanism", "Outcome", "Play", "Round", "View", "mechanisms"]
