"""A table of estimates, without a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.rundata import RunData
from ostrom.reports.chart import Chart


class EstimateTable(Chart):
    """One row per combination of the columns ``y``; without them every cell and agent has one."""

    def __init__(self, measure: Any, y: Any = None, **rest: Any) -> None:
        super().__init__(measure, None, y, **rest)

    def by(self, data: RunData) -> list[str]:
        """The columns that were asked for, or all factors and the agent."""
        return self.used or [*data.factors, "agent"]

    def chart(self, data: RunData, found: Sequence[Estimate]) -> Any:  # noqa: ARG002
        """No drawing."""
        return None


CHART = EstimateTable
