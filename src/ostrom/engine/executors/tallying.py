"""The numbers of a run that is played elsewhere, counted from what comes in for the journal."""

from __future__ import annotations

from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.wire import AnswerEntry
from ostrom.engine.plan import Tally


def count_entry(tally: Tally, entry: AnswerEntry | CallRecord) -> None:
    """Count journaled entries, so that the numbers of a run agree with its journal after workers are lost."""
    if not isinstance(entry, CallRecord):
        _, _, _, part, answer, complaints, _ = entry
        tally.decisions += not part
        tally.invalid += complaints
        tally.policies += answer.reading in ("policy", "refused")
    elif entry.source == "cache":
        tally.cached += 1
    else:
        tally.calls += 1
        tally.trouble = entry.error
        if entry.reply is None:
            tally.retries += 1
            return
        tally.refused += entry.reply.finish == "filter"
        tally.tokens_in += entry.reply.usage.input or 0
        tally.tokens_out += entry.reply.usage.output or 0
        tally.tokens_cached += entry.reply.usage.cached or 0
        if entry.usd is None:
            tally.unpriced += 1
        else:
            tally.usd += entry.usd
