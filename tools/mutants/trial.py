"""One mutant on trial: a forked process imports the changed module and runs the tests that reach it."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from tools.mutants.operators import Mutant
from tools.mutants.reach import PLAIN


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the changed module before anybody else does."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.mutant.module:
            return None
        file = str(self.mutant.file)
        code = compile(self.mutant.tree, file, "exec")
        package = [str(self.mutant.file.parent)] if self.mutant.file.name == "__init__.py" else None
        loader = _Loader(name, file, code)
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=package)


@dataclass(slots=True)
class Trial:
    """A mutant whose tests are running."""

    mutant: Mutant
    process: int
    ends: float
    folder: Path

    def outcome(self) -> str | None:
        """killed, survived or timeout; None while the tests run."""
        done, status = os.waitpid(self.process, os.WNOHANG)
        if done:
            verdict = "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        elif time.monotonic() > self.ends:
            verdict = "timeout"
        else:
            return None
        self.end()
        if not done:
            os.waitpid(self.process, 0)
        return verdict

    def end(self) -> None:
        """Stop what the tests left running and remove their files."""
        try:
            os.killpg(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            os.kill(self.process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def begin(mutant: Mutant, tests: Sequence[str], seconds: float) -> Trial:
    """Fork, and run the tests against the mutant until the first failure."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.setsid()
            code = _run(mutant, tests, folder)
        finally:
            os._exit(code)
    return Trial(mutant, process, time.monotonic() + seconds, folder)


def _run(mutant: Mutant, tests: Sequence[str], folder: Path) -> int:
    import pytest
    from hypothesis import Phase, settings

    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(log, stream)
    sys.meta_path.insert(0, _Finder(mutant))
    sys.dont_write_bytecode = True
    # Before doctests of the module do: pytest would load it for them beside the one that tests import.
    importlib.import_module(mutant.module)

    class Settings:
        def pytest_sessionstart(self) -> None:
            profile = settings(
                settings.get_profile(settings.get_current_profile_name()),
                derandomize=True,
                database=None,
                phases=[Phase.explicit, Phase.generate],
            )
            settings.register_profile("mutants", profile)
            settings.load_profile("mutants")

    arguments = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", f"--basetemp={folder}/tmp"]
    return int(pytest.main([*arguments, *PLAIN, *tests], plugins=[Settings()]))
