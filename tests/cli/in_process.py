"""A command in this process: quick, with the exit code and both streams, as a person would meet them."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostrom.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Call = Callable[..., Done]


def caller(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Call:
    """Run ``ostrom`` with arguments in a folder; ``keys`` is what somebody types."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("OSTROM_DEBUG", raising=False)

    def call(*arguments: str, keys: str = "") -> Done:
        out, err, code = io.StringIO(), io.StringIO(), 0
        monkeypatch.setattr(sys, "argv", ["ostrom", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else int(bool(left.code))
        return Done(code, out.getvalue(), err.getvalue())

    return call
