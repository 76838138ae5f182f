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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a phase took to its file, in the process that ran it."""
        if not hasattr(report, "node"):
            now = cpu_seconds()
            self._add(report.nodeid.partition("::")[0], now - self._last)
            self._last = now

    def _add(self, file: str, seconds: float) -> None:
        self.files[file] = self.files.get(file, 0.0) + seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the process that prints what this worker has used."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output |= {"cpu_seconds": cpu_seconds(), "cpu_files": self.files}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear it; a worker that crashed says nothing."""
        output = getattr(node, "workeroutput", {})
        self.workers += output.get("cpu_seconds", 0.0)
        for file, seconds in output.get("cpu_files", {}).items():
            self._add(file, seconds)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the sum and the slowest files."""
        terminalreporter.section("CPU seconds")
        own = cpu_seconds(children=not self.workers)  # workers are children too, and have told what they used
        terminalreporter.write_line(f"{own + self.workers:8.1f} in all")
        for name, seconds in sorted(self.files.items(), key=lambda item: -item[1])[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:8.1f} {name}")


NOTHING = "nothing"


class FewerMessages:
    """What a worker tells the process that prints: of a test that passes two messages instead of six.

    Six messages cost more CPU time than a small test. Reports of durations and JUnit files need them all.
    """

    def __init__(self, worker: Any) -> None:
        self._send = worker.sendevent
        worker.sendevent = self.send

    def send(self, name: str, **content: Any) -> None:
        """Send an event, unless it says only that a test begins, ends or has been set up."""
        data = content.get("data", {})
        if name in ("logstart", "logfinish") or data.get("$report_type") == NOTHING:
            return
        if data.get("outcome") == "passed":
            data["keywords"] = {}
        self._send(name, **content)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: pytest.TestReport | pytest.CollectReport) -> dict[str, Any] | None:
        """Save the work of writing a report that is not sent."""
        return {"$report_type": NOTHING} if report.passed and report.when in ("setup", "teardown") else None


def register(config: pytest.Config) -> None:
    """Measure the tests of this process; in a worker, send what is read and nothing else."""
    manager = config.pluginmanager
    manager.register(CpuReport(), "cpu")
    if hasattr(config, "workerinput") and not config.option.durations and not config.option.xmlpath:
        for plugin in manager.get_plugins():
            if hasattr(plugin, "sendevent"):
                manager.register(FewerMessages(plugin), "fewer-messages")
