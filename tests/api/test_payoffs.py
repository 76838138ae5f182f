"""Payoffs that Python code gives: a square matrix, two matrices or a tensor; anything else is refused."""

from typing import Any

import numpy as np
import pytest

from ostrom.api.commands import _python, _text, _value
from ostrom.api.objects import _by_seat, _tensor
from ostrom.ground.errors import UsageError


def test_a_square_matrix_is_the_first_players_and_transposed_the_seconds() -> None:
    table, names = _tensor([[3, 0], [5, 1]])
    assert table[1, 0].tolist() == [5, 0] and table[0, 1].tolist() == [0, 5] and names is None
    pair, _ = _tensor(([[1, 2, 3]], [[4, 5, 6]]))
    assert pair.shape == (1, 3, 2) and pair[0, 1].tolist() == [2, 5]
    three = np.zeros((2, 2, 2, 3))
    assert _tensor(three)[0].shape == (2, 2, 2, 3)


@pytest.mark.parametrize("payoffs", [[1, 2], [[1, 2, 3]], np.zeros((2, 2, 3)), np.zeros((2, 2, 2, 2)), 3, "text"])
def test_other_shapes_are_refused(payoffs: Any) -> None:
    with pytest.raises(UsageError, match="payoffs"):
        _tensor(payoffs)


def test_names_of_actions_by_seat() -> None:
    assert _by_seat(["C", "D"], 2) == [["C", "D"]] * 2 and _by_seat([["C"], ["L", "R"]], 2) == [["C"], ["L", "R"]]


class Option:
    """What the parser knows of an option."""

    param_type_name, nargs, multiple, is_flag = "option", 1, False, False

    def __init__(self, name: str, **more: Any) -> None:
        self.name, self.opts = name, ["-x", f"--{name}"]
        vars(self).update(more)


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (Option("json"), {}, True),
        (Option("seeds"), {}, None),
        (Option("seeds"), {"seeds": 3}, "3"),
        (Option("seeds"), {"seeds": [3, 4]}, "4"),
        (Option("seeds"), {"seeds": []}, None),
        (Option("model", multiple=True), {"model": "a"}, ["a"]),
        (Option("runs", nargs=-1), {"runs": ("a", "b")}, ["a", "b"]),
        (Option("batch", is_flag=True), {"batch": 1}, True),
        (Option("batch", is_flag=True), {"batch": False}, False),
        (Option("as"), {"as_": "m"}, "m"),
    ],
)
def test_arguments_become_words_of_the_command_line(option: Option, given: dict[str, Any], value: Any) -> None:
    assert _value(option, given) == value
    assert _python("--dry-run") == "dry_run" and _python("models check") == "models_check" and _text(1.5) == "1.5"
