"""Commands as a user runs them, in a folder of their own: in this process, or in one that signals can reach."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.cli import main

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def ostrom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``ostrom`` with arguments; stdout and stderr apart. Starting Python anew would cost most of the time."""

    def run(*arguments: str, input: str = "", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        out, err = _Stream(), _Stream()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            if env is not None:
                for name in set(os.environ) - set(env):
                    patch.delenv(name)
                for name, value in env.items():
                    patch.setenv(name, value)
            # As in a pipe: no terminal to measure.
            for name, value in (("COLUMNS", "80"), ("LINES", "25")):
                patch.setenv(name, os.environ.get(name, value))
            patch.setattr(sys, "argv", ["ostrom", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()), encoding="utf-8"))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = _exit_code()
        # asyncio leaves the default handler of Ctrl-C behind even where it was ignored before.
        for number, handler in handlers.items():
            signal.signal(number, handler)
        return subprocess.CompletedProcess(["ostrom", *arguments], code, out.text(), err.text())

    return run


@pytest.fixture
def ostrom_process(tmp_path: Path) -> Command:
    """The same in a process of its own, where signals or the start of Python itself are tested."""

    def run(*arguments: str, timeout: float = 300, **more: object) -> subprocess.CompletedProcess[str]:
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


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which ``STUDY`` of a test file was played, as run ``s``, once for all its tests."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "s.yaml").write_text(request.module.STUDY)
    with pytest.MonkeyPatch.context() as patch:
        assert caller(patch, folder)("run", "s.yaml").code == 0
    yield folder


@pytest.fixture
def call(played: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Commands in that folder; files that play nothing beforehand have a fixture of their own."""
    return caller(monkeypatch, played)


class _Stream(io.TextIOWrapper):
    """Text in memory that also takes bytes, as a pipe does."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        """All that was written."""
        self.seek(0)
        return self.read()


def _exit_code() -> int:
    try:
        main()
    except SystemExit as left:
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
            return 1
        return left.code or 0
    return 0
