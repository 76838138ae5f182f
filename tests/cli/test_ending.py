"""What a command says at its end: counts, money, the first failures, and the exit code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli import ending
from ostrom.cli.ending import (
    leave,
)


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
