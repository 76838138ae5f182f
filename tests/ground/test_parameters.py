"""One door for parameters: what a part's annotations do not allow is refused in one line, however it is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest

from ostrom.agents.strategies import strategies
from ostrom.games import games
from ostrom.ground.errors import ParameterError, StudyError
from ostrom.ground.parameters import (
    Amount,
    Count,
    Ge,
    Gt,
    InWords,
    Le,
    Length,
    Lt,
    NoFraction,
    Number,
    OneOf,
    PositiveShare,
    Share,
    bounds_in_words,
    checked,
    options_of,
    rule_of,
    rules_of,
)
from ostrom.ground.registry import Registry
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.networks import networks
from ostrom.memory import memories
from ostrom.memory.recent import Window

if TYPE_CHECKING:
    from ostrom.games import Game

NEEDED = {"k": 3, "of": "full", "back": 1, "action": 0, "player": "TitForTat", "genomes": ["Be kind."]}
STRANGE: list[Any] = [["?"], {"?": 1}, "?", -(10**9) - 0.5]


def bounded() -> Iterator[tuple[Registry[Any], str, str, Any]]:
    """Every parameter of ours that has a rule, with a value that it does not allow."""
    registries: list[Registry[Any]] = [games, strategies, memories, mechanisms, networks]
    for registry in registries:
        for name in registry.names():
            for parameter, rule in rules_of(registry.get(name)).items():
                outside = next(value for value in STRANGE if not rule.fits(value))
                yield registry, name, parameter, outside


CASES = list(bounded())


def test_every_builtin_part_refuses_what_its_bounds_do_not_allow() -> None:
    assert len(CASES) > 100
    for registry, name, parameter, outside in CASES:
        rule = rules_of(registry.get(name))[parameter]
        needs = {key: NEEDED[key] for key, p in registry.parameters(name).items() if p.default is p.empty}
        with pytest.raises(StudyError) as caught:
            registry.build({"name": name, **needs, parameter: outside}, key="part", file="study.yaml")
        line = str(caught.value)
        start = f"study.yaml: part: {registry.kind} {name}: {parameter} must be {rule.words}, found "
        assert line.startswith(start) and "\n" not in line, line


@pytest.mark.parametrize("wrong", ["5", True, -1, 3.0, None])
def test_direct_construction_refuses_the_same(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number of at least 0, found"):
        Window(wrong)
    with pytest.raises(ParameterError, match="win must be a finite number, found 'x'"):
        games.get("chicken")(win="x")


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(StudyError, match=r"mode must be drop or decay, found 'dekay', did you mean 'decay'\?"):
        memories.build("forgetting:mode=dekay")


@pytest.mark.parametrize(
    ("annotation", "allowed", "refused"),
    [
        (float, [1, 1.5, float("inf")], ["1", True, None]),
        (Annotated[float, Ge(0), Lt(1)], [0, 0.5], [1, -0.1, float("nan")]),
        (Literal["a", 2, None], ["a", 2, None], ["b", 2.0, True]),
        (int | str, [1, "x"], [1.5, None]),
    ],
)
def test_nothing_is_coerced(annotation: Any, allowed: list[Any], refused: list[Any]) -> None:
    rule = rule_of(annotation)
    assert rule is not None
    assert all(map(rule.fits, allowed)) and not any(map(rule.fits, refused))


def test_parts_without_annotations_take_what_they_took() -> None:
    def plain(k=1, **rest):  # type: ignore[no-untyped-def]
        return k, rest

    def hidden(game: Game, size: Annotated[int, Ge(1)] = 1) -> Any:  # a name of the type checker alone
        return game, size

    def implicit(k: int = None) -> Any:  # type: ignore[assignment]  # noqa: RUF013
        return k

    registry: Registry[Any] = Registry("part", None, "PART", "ostrom.no_such_group")
    for name, part in (("plain", plain), ("hidden", hidden), ("implicit", implicit)):
        registry.add(name, part)
    assert registry.build({"name": "plain", "k": "5", "more": [1]}) == ("5", {"more": [1]})
    assert registry.build({"name": "hidden", "game": "any"}) == ("any", 1)
    assert registry.build({"name": "implicit", "k": None}) is None
    with pytest.raises(StudyError, match="part hidden: size must be a whole number of at least 1, found 0"):
        registry.build({"name": "hidden", "game": "any", "size": 0})


def test_a_checked_function_still_says_what_it_misses() -> None:
    @checked
    def part(k: int) -> int:
        return k

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        part()  # type: ignore[call-arg]


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("annotation", "words", "allowed", "refused"),
    [
        (Share, "a number from 0 to 1", [0, 1, 0.5], [-0.01, 1.01, NAN, False]),
        (PositiveShare, "a number above 0 and at most 1", [0.01, 1], [0, 1.01]),
        (Amount, "a number of at least 0", [0, 7.5], [-0.1, INF, NAN, 10**400]),
        (Number, "a finite number", [-3, 0.5, np.float64(2)], [INF, -INF, NAN, 10**400, True]),
        (Count, "a whole number of at least 1", [1, 10**400, np.int64(2)], [0, 1.0, True, np.bool_(True)]),
        (Annotated[float, Lt(3)], "a number below 3", [2.9], [3]),
        (Annotated[float, Le(3)], "a number of at most 3", [3], [3.1]),
        (Annotated[float, Gt(0), Lt(3)], "a number above 0 and below 3", [1], [0, 3]),
        (Annotated[int, Ge(0), Lt(3)], "a whole number of at least 0 and below 3", [0, 2], [3, -1]),
        (Annotated[float, NoFraction()], "a whole number", [3, 3.0], [3.5, INF, NAN, "3"]),
        (Literal[1, 2], "1 or 2", [1, 2], [1.0, True, 3]),
        (Literal[1, 2, 3], "one of 1, 2, 3", [3], [0, "1"]),
        (Annotated[str, OneOf(("a", "b"))], "a or b", ["a"], ["c", None]),
        (Annotated[list[str], Length(2, "two texts")], "two texts", [["a", "b"]], ["ab", ["a"], ["a", 1], 2]),
        (Annotated[str | None, InWords("one or none")], "one or none", ["x", None], [1]),
        (Annotated[str, "a mark of others"], "a text", ["x"], [1]),
        (bool | None, "true or false or null", [True, None], [1, 0]),
    ],
)  # fmt: skip
def test_bounds_hold_at_their_ends(annotation: Any, words: str, allowed: list[Any], refused: list[Any]) -> None:
    rule = rule_of(annotation)
    assert rule is not None and rule.words == words
    assert [value for value in allowed if not rule.fits(value)] == []
    assert [value for value in refused if rule.fits(value)] == []


@pytest.mark.parametrize("annotation", [Any, list, dict[str, int], int | list[int]])
def test_an_annotation_of_something_else_allows_everything(annotation: Any) -> None:
    assert rule_of(annotation) is None


@dataclass
class Talk:
    when: Literal["before", "after"]
    length: Count = 280


@pytest.mark.parametrize(
    ("options", "key", "first", "line"),
    [
        (7, "talk", "when", "talk must be a mapping, found 7 (allowed: when, length)"),
        ("after", "talk", None, "talk must be a mapping, found 'after' (allowed: when, length)"),
        ({"length": 3}, "talk", None, "talk needs 'when', found {'length': 3} (allowed: when, length)"),
        ({"when": "after", "x": 1}, "talk", None, "unknown key 'x' of talk (allowed: when, length)"),
        ("aftr", "talk", "when", "talk.when must be before or after, found 'aftr', did you mean 'after'?"),
        ({"when": "after", "length": 0}, "", None, "length must be a whole number of at least 1, found 0"),
    ],
)
def test_options_are_refused_where_they_stand(options: Any, key: str, first: str | None, line: str) -> None:
    with pytest.raises(ParameterError) as caught:
        options_of(Talk, options, key, first=first)
    assert str(caught.value) == line
    assert options_of(Talk, "after", "talk", first="when") == Talk("after")


def test_checks_reach_arguments_by_place_and_by_name_and_spare_defaults() -> None:
    @checked
    def part(first: Count, *rest: Any, low: Share = 2.0, high: Count = 1, **more: Any) -> Any:
        return first, rest, low, high, more

    assert part(1, -1, low=2.0, more=-1) == (1, (-1,), 2.0, 1, {"more": -1})
    for arguments, named in ((((0,), {}), "first"), (((1,), {"low": 3.0}), "low"), (((1,), {"high": 0}), "high")):
        with pytest.raises(ParameterError, match=f"^{named} must be"):
            part(*arguments[0], **arguments[1])
    assert set(rules_of(part)) == {"first", "low", "high"}
    assert bounds_in_words(part) == "first, high: a whole number of at least 1; low: a number from 0 to 1"
