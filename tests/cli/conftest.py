"""Commands as a user runs them: in a process of their own, in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def ostrom(tmp_path: Path) -> Command:
    """Run ``ostrom`` with arguments; stdout and stderr apart."""

    def run(*arguments: str, timeout: float = 120, **more: object) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [sys.executable, "-m", "ostrom", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            **more,  # type: ignore[call-overload]
        )
        return done

    return run
