"""What errors say in their one line, which of them are worth another try, and what a command exits with."""

from typing import Any

import pytest

from ostrom.ground import errors
from ostrom.ground.errors import (
    ModelError,
    OstromError,
    StudyError,
    UnknownName,
    UsageError,
    nearest,
    short_repr,
    unknown_key,
)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "is wrong"),
        ({"file": "s.yaml"}, "s.yaml: is wrong"),
        ({"key": "game"}, "game: is wrong"),
        ({"actual": 0}, "is wrong (found 0)"),
        ({"actual": False, "allowed": ["a", "b"]}, "is wrong (found False; allowed: a, b)"),
        ({"allowed": []}, "is wrong (allowed: )"),
        ({"file": "s.yaml", "key": "a", "actual": "x", "allowed": "y"}, "s.yaml: a: is wrong (found 'x'; allowed: y)"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_by_file_key_found_and_allowed(given: dict[str, Any], line: str) -> None:
    assert str(StudyError("is  wrong", **given)) == line


@pytest.mark.parametrize(("length", "cut"), [(298, False), (299, True)])
def test_a_value_is_shown_up_to_300_characters(length: int, cut: bool) -> None:
    shown = short_repr("x" * length)
    assert len(shown) == 300 and shown.endswith("...") == cut
    assert short_repr(10**5000) == "a int too large to show"


@pytest.mark.parametrize(
    ("count", "listed"), [(40, ", ".join(f"n{i}" for i in range(10, 50))), (41, "41 names, see `ostrom list`")]
)
def test_up_to_40_known_names_are_listed(count: int, listed: str) -> None:
    names = [f"n{i}" for i in range(10, 10 + count)][::-1]
    assert str(UnknownName("game", "xyz", names)) == f"unknown game 'xyz' (known: {listed})"


def test_an_unknown_name_has_two_suggestions_and_keeps_its_file_when_it_moves() -> None:
    found = UnknownName("key", "Rounds-", ["rounds", "rounding", "round"], " of x")
    assert str(found) == ("unknown key 'Rounds-' of x (did you mean rounds or round? known: round, rounding, rounds)")
    assert str(found.with_place("s.yaml", "game").moved("vary.game")).startswith("s.yaml: vary.game: unknown key ")
    assert str(UnknownName("game", "x", ["go"]).with_place(None, "game")) == "game: unknown game 'x' (known: go)"
    assert unknown_key("rouns", ["rounds"]) == "unknown key 'rouns', did you mean 'rounds'?"
    assert unknown_key("x", ["rounds"], "y") == "unknown key 'x' of y"


def test_only_what_may_pass_is_tried_again_and_only_wrong_use_exits_with_2() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OstromError)]
    again = {kind.__name__ for kind in kinds if issubclass(kind, ModelError) and kind.retryable}
    assert again == {"RateLimited", "ServerFailed", "TimedOut", "ConnectionFailed", "MalformedReply"}
    assert all(kind.exit_code == (2 if issubclass(kind, UsageError) else 1) for kind in kinds)


def test_keys_of_a_file_that_are_numbers_are_listed_as_names() -> None:
    numbers: list[Any] = [10, 1]
    said = "unknown preset '1x' (did you mean 1? known: 1, 10)"
    assert str(UnknownName("preset", "1x", numbers)) == said
    assert nearest("1x", numbers) == "1"
