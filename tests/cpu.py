"""What the tests cost: CPU seconds in all and by file, printed at the end, on one process or several.

CPU time is the measure because it hardly depends on what else the machine does; wall time does.
"""

import resource
from typing import Any

import pytest

SLOWEST = 10


def cpu_seconds(*, children: bool = True) -> float:
    """What this process has used so far, and its children that have ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) if children else (resource.RUSAGE_SELF,)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose))


class CpuReport:
    """Measures every phase of every test where it runs, and sums up where the reports come together."""

    def __init__(self) -> None:
        self.files: dict[str, float] = {}
        self.workers = 0.0
        """What worker processes have used, as they said when they ended."""
        self._last = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        """Write what a phase took into its report, which travels from a worker to the process that prints."""
        report = yield
        now = cpu_seconds()
        report.cpu_seconds, self._last = now - self._last, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase to its file."""
        file = report.nodeid.partition("::")[0]
        self.files[file] = self.files.get(file, 0.0) + getattr(report, "cpu_seconds", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the process that prints what this worker has used."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["cpu_seconds"] = cpu_seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear it; a worker that crashed says nothing."""
        self.workers += getattr(node, "workeroutput", {}).get("cpu_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the sum and the slowest files."""
        terminalreporter.section("CPU seconds")
        own = cpu_seconds(children=not self.workers)  # workers are children too, and have told what they used
        terminalreporter.write_line(f"{own + self.workers:8.1f} in all")
        for name, seconds in sorted(self.files.items(), key=lambda item: -item[1])[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:8.1f} {name}")
