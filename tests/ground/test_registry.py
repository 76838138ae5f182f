"""Parts found by name: what is found must be of the kind that is asked for."""

from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.ground.registry import Registry


def test_a_part_of_another_kind_is_refused_in_one_line() -> None:
    registry: Registry[int] = Registry("number", None, "NUMBER", "ostrom.no_such_group")
    registry.add("seven", int)
    assert registry.part("seven", type) is int
    with pytest.raises(StudyError) as caught:
        registry.part("seven", int)
    assert str(caught.value) == "number seven: is a type, not a int"


def part(first: int, second: int = 2, *, third: int) -> int:
    """A part with a parameter by name alone."""
    return first + second + third


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("part:1", "number part needs 'third'"),
        ("part:1,2", "number part needs 'third'"),
        ("part:1,2,3", "number part takes at most 2 values without a name, found 3"),
        ("part:1,first=2,third=3", "number part: 'first' is given twice, by its place and by its name"),
        ("part:third=3", "number part needs 'first'"),
        ("part", "number part needs 'first', 'third'"),
        (
            "part:1,thrid=3",
            "unknown key 'thrid' of number part, did you mean 'third'? (allowed: first, second, third)",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_told(spec: Any, line: str) -> None:
    registry: Registry[int] = Registry("number", None, "NUMBER", "ostrom.no_such_group")
    registry.add("part", part)
    assert registry.build("part:1,third=3") == 6 and registry.build("part:1,5,third=3") == 9
    with pytest.raises(StudyError) as refused:
        registry.build(spec)
    assert str(refused.value).startswith(line), refused.value
