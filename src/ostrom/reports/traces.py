"""Traces on the page: why there are none, and texts with the words of the lexicons marked."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import trace_table


def why_no_traces(data: RunData) -> str:
    """Why no trace of a finished match was counted; empty where one was."""
    if not data.rows["calls"]:
        return "No model was called in this run, so there are no traces to read."
    table = trace_table(data)
    if not table.rows:
        return f"None of {table.replies} replies holds reasoning (agents were asked for their answer alone)."
    done = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE {DONE}")[0]["n"]
    return "" if done else f"{table.rows} replies hold reasoning, but none is of a finished match."
