"""What the panels about words share: counted traces, or why there are none."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import TraceTable, trace_table

CELL = ("history_length", "game", "agent_style", "agent")


def table_or_note(data: RunData) -> tuple[TraceTable | None, str]:
    """The counted traces, or why there are none."""
    if not data.rows["calls"]:
        return None, "No model was called in this run, so there are no traces to read."
    table = trace_table(data)
    if not table.rows:
        return (
            None,
            f"None of {table.replies} replies holds reasoning (agents were asked for their answer alone).",
        )
    done = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE {DONE}")[0]["n"]
    if not done:
        return None, f"{table.rows} replies hold reasoning, but none is of a finished match."
    return table, ""
