"""What is derived from an object that nobody changes is worked out once, and never taken for that of another one."""

from ostrom.ground.values import MOST_CACHED, Derived


def test_the_same_object_is_worked_out_once_and_an_equal_one_for_itself() -> None:
    made: list[dict[str, int]] = []
    size = Derived[dict[str, int], int](lambda params: made.append(params) or len(params))  # type: ignore[func-returns-value]
    one, other = {"a": 1}, {"a": 1}
    assert [size(one), size(one), size(other), size(one)] == [1, 1, 1, 1]
    assert [id(params) for params in made] == [id(one), id(other)]


def test_objects_that_come_and_go_are_never_taken_for_each_other() -> None:
    text = Derived[list[int], str](str)
    assert all(text([number]) == f"[{number}]" for number in range(3 * MOST_CACHED))
