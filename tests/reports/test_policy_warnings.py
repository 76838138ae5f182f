"""From one answer in twenty on, a reader is told that a policy answered for an agent."""

from typing import Any, cast

import duckdb
import pytest

from ostrom.analysis.comparison import _by_policy
from ostrom.analysis.references import POLICY_DOUBT
from ostrom.data.rundata import RunData
from ostrom.reports.cells import policy_warnings


class Decisions:
    """A table of decisions: of each agent so many by the policy out of a hundred, the rest its own."""

    def __init__(self, **by_policy: int) -> None:
        self.database = duckdb.connect()
        self.database.execute("CREATE TABLE decisions (agent TEXT, invalid BOOLEAN, kind TEXT, state TEXT, unit TEXT)")
        for agent, count in by_policy.items():
            rows = [[agent, i < count, "act", "done", "match"] for i in range(100)]
            rows += [[agent, True, "act", "failed", "match"]] * 50  # an unfinished match says nothing
            self.database.executemany("INSERT INTO decisions VALUES (?, ?, ?, ?, ?)", rows)

    def records(self, query: str, *values: Any) -> list[dict[str, Any]]:
        found = self.database.execute(query, list(values))
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture
def data() -> RunData:
    return cast("RunData", Decisions(none=0, few=4, some=5, many=30))


def test_a_report_warns_of_agents_whose_answers_a_policy_gave(data: RunData) -> None:
    told = policy_warnings(data)
    assert [line.partition(" in finished")[0] for line in told] == [
        "30.0 % of the answers of many", "5.0 % of the answers of some",
    ]  # fmt: skip


def test_a_comparison_remarks_on_them(data: RunData) -> None:
    assert _by_policy(data) == [
        "many: 30 % of the actions were given by the policy.",
        "some: 5 % of the actions were given by the policy.",
    ]
    assert POLICY_DOUBT == 0.05
