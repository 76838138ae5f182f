"""Catalog games that are a payoff table with parameters, declared in one YAML file each.

A file reads like any game file (``ostrom.games.yaml_file``), and states besides::

    what: Swerve or drive straight at each other. ``win`` is paid to ...   # names every parameter
    parameters: {win: 1, tie: 0, lose: -1, crash: -10}                     # a name means the value of that parameter
    presets: {study: {win: 2}, ...}                                        # optional; the first one is the default
    strict: {win > tie > lose > crash: needs win > tie > lose > crash}     # lifted by strict=False; error texts
    payoffs:
      swerve, swerve: [tie, tie]                                           # numbers, parameters, sums and products
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from operator import add, ge, gt, le, lt, mul, sub
from typing import Annotated, Any

from ostrom.games.game import Game
from ostrom.games.parameters import Pair, require, shown
from ostrom.games.yaml_file import game_from_mapping
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Number, OneOf, checked

OPERATIONS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Gt: gt, ast.GtE: ge, ast.Lt: lt, ast.LtE: le}
CATALOG = "ostrom.games.catalog"


class DeclaredGames(Mapping[str, Callable[..., Game]]):
    """The factories of games with a YAML file; a file is read when its game is requested."""

    def __iter__(self) -> Iterator[str]:
        names = (file.name for file in files(CATALOG).iterdir())
        return iter(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Callable[..., Game]:
        return _factory(name)


@lru_cache(maxsize=64)
def _factory(name: str) -> Callable[..., Game]:
    from ostrom.ground.yaml import read_yaml

    return factory_of(
        name, read_yaml(files(CATALOG).joinpath(f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml")
    )


def factory_of(name: str, declaration: Mapping[str, Any]) -> Callable[..., Game]:
    """The function that builds a declared game from its parameters.

    >>> build = factory_of("toy", {"what": "``a``", "parameters": {"a": 1}, "strict": {"a > 0": "needs a > 0"},
    ...     "actions": ["up", "down"], "payoffs": [[["a", "-a"], [0, 0]], [[0, 0], ["2 * a", "a - 1"]]]})
    >>> build(3).payoff((1, 1)), list(inspect.signature(build).parameters)
    ((6.0, 2.0), ['a', 'strict'])
    """
    own = {"what", "parameters", "presets", "strict"}
    facts = {key: part for key, part in declaration.items() if key not in own}
    usual: dict[str, Any] = declaration["parameters"]
    presets: dict[str, dict[str, Any]] = declaration.get("presets", {})

    @lru_cache(maxsize=256)
    def game(params: tuple[tuple[str, Any], ...]) -> Game:
        """Return the game with these parameters, cached: games never change."""
        chosen = {key: list(value) if isinstance(value, tuple) else value for key, value in params}
        values = {key: chosen[key] for key in usual}
        if chosen["strict"]:
            stated = ", ".join(f"{key}={_as_text(value)}" for key, value in values.items())
            for condition, words in declaration["strict"].items():
                require(name, bool(evaluate(condition, values)), words, stated)
        return game_from_mapping({**facts, "payoffs": _filled(facts["payoffs"], values), "params": chosen}, name=name)

    def build(*args: Any, **kwargs: Any) -> Game:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        chosen = bound.arguments
        for key, default in (usual | presets.get(chosen.get("preset", ""), {})).items():
            value = default if chosen[key] is None else chosen[key]
            chosen[key] = _plain(chosen[value] if isinstance(value, str) else value)
        return game(tuple(chosen.items()))

    signature = build.__signature__ = _signature(usual, presets)  # type: ignore[attr-defined]
    build.__doc__, build.__name__ = declaration["what"], name
    return checked(build)


def _signature(usual: Mapping[str, Any], presets: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature: preset, parameters with defaults (None if derived), and ``strict``."""
    place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = []
    if presets:
        names = tuple(presets)
        kind: Any = Annotated[str, OneOf(names)]
        parameters.append(inspect.Parameter("preset", place, default=names[0], annotation=kind))
    for key, value in usual.items():
        depends = value is None or isinstance(value, str)
        kind = Pair if isinstance(value, list) else Number | None if depends else Number
        default = None if depends else tuple(value) if isinstance(value, list) else value
        parameters.append(inspect.Parameter(key, place, default=default, annotation=kind))
    return inspect.Signature(
        [*parameters, inspect.Parameter("strict", by_name, default=True, annotation=bool)], return_annotation=Game
    )


def _plain(value: Any) -> Any:
    return tuple(map(float, value)) if isinstance(value, list | tuple) else float(value)


def _as_text(value: Any) -> str:
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, list) else shown(value)


def _filled(payoffs: Any, values: Mapping[str, Any]) -> Any:
    """Replace formulas of parameters in payoffs by their values."""
    match payoffs:
        case Mapping():
            return {outcome: _filled(paid, values) for outcome, paid in payoffs.items()}
        case list():
            return [_filled(paid, values) for paid in payoffs]
    return evaluate(payoffs, values) if isinstance(payoffs, str) else payoffs


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a formula of parameters: sums, differences, products, entries of a pair, comparisons.

    >>> evaluate("2 * R > T + S", {"T": 5, "R": 3, "S": 0}), evaluate("-p[0]", {"p": [4, 2]})
    (True, -4)
    """
    return _value(_parsed(text), values)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.Subscript(value=pair, slice=place):
            return _value(pair, values)[_value(place, values)]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATIONS:
            return OPERATIONS[type(operator)](_value(left, values), _value(right, values))
        case ast.Compare(left=first, ops=ops, comparators=others) if OPERATIONS.keys() >= {*map(type, ops)}:
            pairs = pairwise(_value(part, values) for part in (first, *others))
            return all(OPERATIONS[type(op)](*pair) for op, pair in zip(ops, pairs, strict=True))
    raise GameError(f"a formula has parameters, numbers, + - * and comparisons, found {ast.unparse(node)!r}")


DECLARED = DeclaredGames()
