"""What the replies of an earlier run say about the next one: how long they are, and how often they are asked again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ostrom.agents.config import AgentConfig
from ostrom.engine.batching.ledger import read_batches
from ostrom.ground.errors import UsageError
from ostrom.studies.run import Run, open_run

SAMPLE = 200
"""Calls whose prompts are measured."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Means of an earlier run."""

    run: str
    calls: int
    replies: dict[tuple[str | None, str], float] = field(default_factory=dict)
    """Tokens of a reply, by model and style; with None for the model, over all models of the run."""
    again: float = 1.0
    """Calls for each one that was needed: unreadable replies are asked for again."""
    characters: float | None = None
    """Characters of a prompt for each token of it."""
    hours: float | None = None
    """Hours from the making of a batch to its end."""

    def reply(self, config: AgentConfig) -> float | None:
        """Tokens of a usual reply of this model in this style, or of other models in it; None: nothing is known."""
        found = self.replies.get((config.model, config.style))
        return self.replies.get((None, config.style)) if found is None else found

    def __str__(self) -> str:
        parts = [
            f"{style} {tokens:.0f} tokens" for (model, style), tokens in self.replies.items() if model is None
        ]
        if self.characters is not None:
            parts.append(f"{self.characters:.1f} characters a token")
        return f"{self.calls} calls of {self.run}: {', '.join(parts)}, {self.again:.3f} calls an answer"


def measure(run: str | Path, runs: str | Path = "runs") -> Measured:
    """The means of a run on disk; one without a reply of a model is refused."""
    with open_run(run, runs) as opened:
        return _measured(opened)


def _measured(run: Run) -> Measured:
    sums: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0])
    ids: list[tuple[int, int]] = []
    calls, unit = 0, None
    for call in run.journal.call_rows(run.name):
        if call["reply"] is None or call["tokens_out"] is None or call["error"] is not None:
            continue
        if unit is None or unit.index != call["match"]:
            unit = run.plan.unit(call["match"])
        calls += 1
        config = unit.players[call["player"] - 1].config
        for model in (call["model"], None):
            tally = sums[model, config.style]
            tally[0] += 1
            tally[1] += call["tokens_out"]
        if call["tokens_in"]:
            ids.append((call["id"], call["tokens_in"]))
    if not calls:
        raise UsageError(f"--from {run.name}: this run has no replies whose tokens were counted")
    complaints = run.journal.spent()["complaints"]
    return Measured(
        run.name,
        calls,
        {key: total / count for key, (count, total) in sums.items()},
        calls / max(1.0, calls - complaints),
        _characters(run, ids),
        _hours(run),
    )


def _characters(run: Run, ids: list[tuple[int, int]]) -> float | None:
    some = ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE]
    texts = sum(sum(len(text) for _, text in run.journal.prompt(call) or []) for call, _ in some)
    tokens = sum(count for _, count in some)
    return texts / tokens if tokens and texts else None


def _hours(run: Run) -> float | None:
    took = [
        b.ended - b.at
        for b in read_batches(run.journal).values()
        if b.ended is not None and b.how != "failed"
    ]
    return sum(took) / len(took) / 3600 if took else None
