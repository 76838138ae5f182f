"""What prompt files may do with values: bounds of work, parts of loops, filters and tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from jinja2 import Environment, StrictUndefined
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.runtime import LoopContext

from ostrom.framing.access import (
    CURRENT,
    FILTERS,
    MOST_STEPS,
    MOST_TEXT,
    TESTS,
    RenderWork,
    attribute,
    call_method,
    entry,
    items_of,
    join_texts,
    quoted,
    slice_of,
    text_of,
)
from ostrom.framing.payoffs import by_payoff, standing
from ostrom.games import build_game
from ostrom.ground.errors import StudyError


@pytest.fixture
def work() -> Iterator[RenderWork]:
    """The work of a rendering under way."""
    work = RenderWork()
    token = CURRENT.set(work)
    yield work
    CURRENT.reset(token)


def module(**values: Any) -> TemplateModule:
    """What ``import`` gives for a file that sets these values."""
    source = "".join(f"{{% set {name} = {value!r} %}}" for name, value in values.items())
    return Environment().from_string(source).module


def test_work_ends_behind_its_bounds_and_not_before() -> None:
    work = RenderWork()
    work.spend(MOST_STEPS, MOST_TEXT)
    with pytest.raises(SecurityError, match="more than 400,000 steps"):
        work.spend(1)
    with pytest.raises(SecurityError, match="more than 4,000,000 characters"):
        RenderWork().spend(0, MOST_TEXT + 1)
    work = RenderWork()
    for _ in range(40):
        work.enter()
    with pytest.raises(SecurityError, match="nested more than 40 deep"):
        work.enter()


@pytest.mark.parametrize(
    ("value", "steps", "characters"),
    [
        (7, 0, 0), ("x" * 99, 0, 99), ([1, 2, 3], 3, 0), ({"a": 1}, 2, 1), ({"a": [1, 2]}, 4, 1), ((1, (2, 3)), 4, 0),
        (range(5), 5, 0), (np.zeros((2, 3)), 6, 0), ({"x" * 100: "y" * 200}, 2, 300), ({1, 2}, 2, 0),
    ],
)  # fmt: skip
def test_what_is_nested_in_a_value_is_counted(value: Any, steps: int, characters: int) -> None:
    work = RenderWork()
    assert work.weigh(value) is value
    assert (MOST_STEPS - work.steps, MOST_TEXT - work.characters) == (steps, characters)


def test_a_loop_knows_its_place() -> None:
    names = ("index", "index0", "revindex", "revindex0", "first", "last", "length")
    rows = []
    for item, loop in LoopContext("abc", StrictUndefined):
        rows.append([attribute(loop, name) for name in names])
        if item == "b":
            assert (attribute(loop, "previtem"), attribute(loop, "nextitem")) == ("a", "c")
        for name, end, words in (("previtem", "a", "no previous item"), ("nextitem", "c", "no next item")):
            if item == end:
                with pytest.raises(UndefinedError, match=words):
                    str(attribute(loop, name))
        for name in ("cycle", "changed", "depth"):
            with pytest.raises(SecurityError):
                attribute(loop, name)
    assert rows == [[1, 0, 3, 2, True, False, 3], [2, 1, 2, 1, False, False, 3], [3, 2, 1, 0, False, True, 3]]


def test_parts_that_are_not_there_are_undefined_and_others_cannot_be_read() -> None:
    assert attribute({"a": 1}, "a") == 1 and attribute(module(a=2), "a") == 2
    for holder in ({"a": 1}, module(), 7):
        assert isinstance(attribute(holder, "nothing"), StrictUndefined)
    for value, name in (("x", "upper"), ([1], "append"), ({}, "_a"), (module(), "_body_stream")):
        with pytest.raises(SecurityError):
            attribute(value, name)
    assert entry([5, 6], 1) == 6 and entry({"a": 1}, "a") == 1 and entry(np.array([[1, 2]]), (0, 1)) == 2
    assert (entry(range(4, 9), 2), entry("abc", 1), entry((5, 6), -1)) == (6, "b", 6)
    assert isinstance(entry([5], 1), StrictUndefined) and isinstance(entry({}, 3), StrictUndefined)
    with pytest.raises(TypeError, match="an array takes whole numbers"):
        entry(np.zeros(3), slice(None))


def test_what_can_be_written_and_looped_over(work: RenderWork) -> None:
    assert [text_of(value) for value in ("a", 1, 0.5, None, True, [1])] == ["a", "1", "0.5", "None", "True", "[1]"]
    with pytest.raises(SecurityError, match="a TemplateModule cannot be written into a prompt"):
        text_of(module())
    steps, characters = work.steps, work.characters
    assert items_of({"a": 1}) == ["a"] and items_of((1, 2)) == (1, 2)
    assert steps - work.steps == 1
    assert join_texts(["x" * 50] * 2, "-" * 50) == "x" * 50 + "-" * 50 + "x" * 50
    assert (steps - work.steps, characters - work.characters) == (3, 200)
    assert slice_of("abcd", 1, 3) == "bc" and slice_of([1, 2, 3], None, 2) == [1, 2]
    assert (steps - work.steps, characters - work.characters) == (6, 204)
    assert list(call_method({"a": 1}, "values")) == [1]
    with pytest.raises(SecurityError, match="'index' of a dict cannot be called"):
        call_method({"a": 1}, "index")
    with pytest.raises(TypeError, match="a list is needed, not a str"):
        items_of("abc")


ROWS = [{"a": 1, "n": "x"}, {"a": 0, "n": "y"}, {"a": 2, "n": "z"}]


@pytest.mark.parametrize(
    ("name", "value", "arguments", "result"),
    [
        ("join", ["a", "b", "c"], (" and ",), "a, b and c"),
        ("join", ["a", "b"], (" and ",), "a and b"),
        ("join", ["a", "b", "c"], ("; ",), "a; b; c"),
        ("join", [1, 2], (), "12"),
        ("selectattr", ROWS, ("a",), [ROWS[0], ROWS[2]]),
        ("selectattr", ROWS, ("a", "equalto", 0), [ROWS[1]]),
        ("replace", "aXbX", ("X", "--"), "a--b--"),
        ("default", StrictUndefined(name="x"), (3,), 3),
        ("default", 0, (3,), 0),
        ("round", 1.26, (1,), 1.3),
        ("round", 125.0, (-1,), 120.0),
        ("round", 1.5, (15,), 1.5),
        ("length", "abc", (), 3),
        ("length", {"a": 1, "b": 2}, (), 2),
        ("sum", [1, 2.5], (), 3.5),
        ("sort", [3, 1, 2], (), [1, 2, 3]),
        ("unique", [2, 1, 2], (), [2, 1]),
        ("first", (4, 5), (), 4),
        ("last", (4, 5), (), 5),
        ("max", [1, 3, 2], (), 3),
        ("min", [2, 1, 3], (), 1),
        ("remainder", 7, (4,), 3),
        ("percent", 0.125, (), "12.5 %"),
        ("number", 1e6, (), "1000000"),
        ("trim", " a ", (), "a"),
    ],
)
def test_filters_by_hand(name: str, value: Any, arguments: tuple[Any, ...], result: Any) -> None:
    assert FILTERS[name](value, *arguments) == result


@pytest.mark.parametrize(
    ("name", "value", "arguments", "error"),
    [
        ("round", 1.5, (16,), SecurityError),
        ("round", 1.5, (-16,), SecurityError),
        ("round", 1.5, (1.0,), SecurityError),
        ("replace", "a", ("", "b"), SecurityError),
        ("replace", "a", ("x" * 1001, "b"), SecurityError),
        ("selectattr", ROWS, ("a", "gt", 0), SecurityError),
        ("selectattr", ROWS, (1,), TypeError),
        ("sum", [1, "2"], (), TypeError),
        ("percent", "1", (), TypeError),
    ],
)
def test_wrong_use_of_a_filter_is_refused(
    name: str, value: Any, arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        FILTERS[name](value, *arguments)
    assert FILTERS["replace"]("a", "x" * 1000, "b") == "a"


def test_tests_and_quotes_by_hand() -> None:
    undefined = StrictUndefined(name="x")
    values = (undefined, None, 2, 3, "s")
    expected = {"defined": "01111", "undefined": "10000", "none": "01000", "number": "00110", "string": "00001"}
    for name, found in expected.items():
        assert "".join(str(int(TESTS[name](value))) for value in values) == found
    assert [TESTS["odd"](n) for n in (2, 3)] == [TESTS["even"](n) for n in (3, 2)] == [False, True]
    assert quoted("a`\u202eb\u2028é") == '"a\\u0060\\u202eb\\u2028é"'


def test_payoffs_are_ranked_and_sorted_by_own_action() -> None:
    game = build_game("battle_of_the_sexes")
    best = sorted({float(x) for x in game.payoffs[..., 1].ravel()}, reverse=True)
    assert [standing(game, 1, x) for x in best] == [(i, len(best)) for i in range(len(best))]
    rows = [
        {"own": own, "value": value, "at": i} for i, (own, value) in enumerate([("B", 1), ("A", 2), ("B", 3), ("A", 2)])
    ]
    assert [row["at"] for row in by_payoff(rows)] == [2, 0, 1, 3]
    with pytest.raises(StudyError, match=r"agent\.framing\.rows: needs a presentation .* \(found 'sorted'\)"):
        by_payoff([{"own": "A"}])
