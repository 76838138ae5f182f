"""What a command says at its end: counts, money, the first failures, and the exit code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli import ending
from ostrom.cli.commands.estimate import _columns, _one_of, _split
from ostrom.cli.ending import (
    leave,
)
from ostrom.cli.options import check_level
from ostrom.ground.errors import UsageError


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines = list[str]()
    monkeypatch.setattr(ending, "say", lines.append)
    monkeypatch.setattr(
        ending, "print_table", lambda title, columns, rows: lines.extend([title, columns, *rows])
    )
    return lines


@pytest.mark.parametrize(
    ("complete", "interrupted", "code"),
    [(True, False, None), (True, True, None), (False, True, 130), (False, False, 1)],
)
def test_the_exit_code(complete: bool, interrupted: bool, code: int | None) -> None:
    result: Any = SimpleNamespace(complete=complete, interrupted=interrupted)
    if code is None:
        leave(result)
    else:
        with pytest.raises(SystemExit) as ended:
            leave(result)
        assert ended.value.code == code


def test_wrong_use_of_estimate_is_refused() -> None:
    assert _split(["r", "s", "cooperation"]) == (["r", "s"], "cooperation") and _columns(" a,, b ") == [
        "a",
        "b",
    ]
    assert _split(["r", "cooperation"]) == (["r"], "cooperation")
    _one_of(json=True, csv=False)
    with pytest.raises(UsageError, match="--json and --csv exclude each other"):
        _one_of(json=True, csv=True)
    with pytest.raises(UsageError, match="name a run"):
        _split(["cooperation"])


def test_a_level_lies_from_one_half_to_below_one() -> None:
    for level in (0.5, 0.999):
        check_level(level)
    for level in (0.499, 1.0):
        with pytest.raises(UsageError, match=f"between 0.5 and 1 .found {level:g}"):
            check_level(level)
