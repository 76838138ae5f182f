"""Parts found by name: what is found must be of the kind that is asked for."""

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
