"""Which tests reach which lines of a room, and the CPU time of each. Kept between runs, per test file."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from tests.cpu import cpu_seconds

PLAIN = ("--assert=plain",)
"""The hook that rewrites assertions would load a module with doctests itself, without the mutant."""
SLOW = "not kills_leave and not one_call_in_five and not five_megabytes and not rare"
"""Tests that take many seconds, and those whose code runs in other processes where the mutant is not."""
Reached = dict[str, dict[str, list[int]]]
"""Lines by test and by source file."""


class Tracer:
    """A pytest plugin that notes the lines of some files which each test runs."""

    def __init__(self, files: set[str]) -> None:
        self.files, self.test = files, ""
        self.reached: Reached = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        lines: dict[str, set[int]] = {}

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            code: CodeType = frame.f_code
            if code.co_filename not in self.files:
                return None
            found = lines.setdefault(code.co_filename, set())
            found.add(frame.f_lineno)

            def local(frame: FrameType, *_: Any) -> Any:
                found.add(frame.f_lineno)
                return local

            return local if event == "call" else None

        begun = cpu_seconds()
        threading.settrace(trace)
        sys.settrace(trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.seconds[item.nodeid] = cpu_seconds() - begun
            self.reached[item.nodeid] = {file: sorted(found) for file, found in lines.items()}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def reach(root: Path, sources: list[Path], tests: list[Path], kept: Path) -> dict[str, Any]:
    """The lines each test reaches. Runs in a process of its own, for it imports everything."""
    room = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    old = json.loads(kept.read_text()) if kept.exists() else {}
    new: dict[str, Any] = {}
    stale: list[Path] = []
    for file in tests:
        key = f"{room}-{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"
        name = str(file.relative_to(root))
        if old.get(name, {}).get("key") == key:
            new[name] = old[name]
        else:
            new[name] = {"key": key, "tests": {}}
            stale.append(file)
    if stale:
        print(f"tracing {len(stale)} test files", flush=True)
        tracer = Tracer({str(file) for file in sources})
        arguments = ["-q", "-p", "no:cacheprovider", "--no-header", *PLAIN, "-k", SLOW, *map(str, stale)]
        pytest.main(arguments, plugins=[tracer])
        for test, files in tracer.reached.items():
            name = test.partition("::")[0]
            if test in tracer.failed or name not in new:
                continue
            new[name]["tests"][test] = {"seconds": tracer.seconds[test], "lines": files}
        if tracer.failed:
            print(f"not used, because they fail under the tracer: {', '.join(sorted(set(tracer.failed)))}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(new))
    return new
