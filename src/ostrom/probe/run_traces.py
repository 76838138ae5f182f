"""The traces of a run as the funnel takes them: every play decision of a model, with its prompt and its reply."""

from __future__ import annotations

from ostrom.analysis.span import span_of
from ostrom.features.judging.corpus import trace_of
from ostrom.features.words.traces.text import reasoning_of
from ostrom.probe.stage import Stage, sieve
from ostrom.probe.trace import Trace
from ostrom.studies.run import Run


def collected(runs: list[Run]) -> Stage:
    """The first stage: decisions of finished matches that a model took by itself and gave reasons for."""
    traces: list[Trace] = []
    reasons: dict[tuple[str, int, int, int], str] = {}
    for run in runs:
        for row in run.rows.decisions():
            if row["state"] != "done" or row["kind"] != "act" or row["model"] is None:
                continue
            found = trace_of(run, row["match"], row["step"], row["player"] - 1)
            if found is None:
                reply, reasoning, messages = "", "", []
            else:
                reply, reasoning = found.text, reasoning_of(found.text, label=row["label"])[0]
                messages = run.journal.prompt(found.call) or []
            length = row.get("history_length")
            trace = Trace(
                run.name, row["match"], row["step"], row["player"], row["model"], row["game"],
                length if isinstance(length, int) else span_of(row["agent_memory"]).length,
                str(row["action"]), row["cooperative"], tuple((role, text) for role, text in messages),
                reply, reasoning,
            )  # fmt: skip
            traces.append(trace)
            if row.get("copied"):
                reasons[trace.place] = "copied from another run"
            elif row["invalid"]:
                reasons[trace.place] = "the action was given by the policy"
            elif not reasoning:
                reasons[trace.place] = "an answer without reasoning"
    rule = "play decisions of models in finished matches, answered by the model itself, with reasoning"
    return sieve("collected", rule, traces, lambda t: reasons.get(t.place))
