"""One door for parameters: what a part's annotations do not allow is refused in one line, however it is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from ostrom.agents.strategies import strategies
from ostrom.games import games
from ostrom.ground.errors import ParameterError, StudyError
from ostrom.ground.parameters import Ge, Lt, checked, rule_of, rules_of
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
    with pytest.raises(
        StudyError, match=r"mode must be drop or decay, found 'dekay', did you mean 'decay'\?"
    ):
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
