"""Measurements of an earlier run for forecasts: lengths, calls and seconds."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.costs.lengths import part_name, text_lengths, text_name
from ostrom.data.rundata import run_data
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.plan import Unit
from ostrom.ground.errors import UsageError
from ostrom.studies.run import Run, open_run

_REPEATED = re.compile(r"try[1-9]|\.end$")
"""Parts of calls that ask a question again: another try, or the end of a reply without an answer."""
SAMPLE, MATCHES = 200, 20
"""The number of calls whose prompts, and of matches whose texts, are measured."""


@dataclass(frozen=True, slots=True)
class MatchMeans:
    """Means over finished matches: calls per match, tokens per call."""

    calls: float
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Means of an earlier run."""

    run: str
    calls: int
    replies: dict[tuple[str | None, str, str], float] = field(default_factory=dict)
    """Tokens of a reply by model, style and part; None for all models."""
    again: float = 1.0
    """Calls per question, because unreadable replies are retried and unfinished ones are ended by another call."""
    again_in: float = 1.0
    """Tokens of all prompts over those of first prompts."""
    characters: float | None = None
    """Characters per token of a prompt."""
    hours: float | None = None
    """Hours from the creation of a batch to its end."""
    matches: dict[tuple[Any, ...], MatchMeans] = field(default_factory=dict)
    """Means of matches, by cell and by rules."""
    texts: dict[str, float] = field(default_factory=dict)
    """Characters of texts, by the name of their form."""
    seconds: dict[str | None, float] = field(default_factory=dict)
    """Seconds of a direct call, by model; None for all models."""
    styles: dict[tuple[str | None, str], tuple[float, float]] = field(default_factory=dict)
    """``again`` and ``again_in`` by model and style; None for all models."""
    rate: float | None = None
    """Direct calls per second while any was under way."""

    def played(self, unit: Unit, *, exactly: bool = False) -> MatchMeans | None:
        """Return the means of matches in a unit's cell, or else (not ``exactly``) under its rules, without retries."""
        keys = _alike(unit)[: 1 if exactly else 2]
        return next((self.matches[key] for key in keys if key in self.matches), None)

    def reply(self, config: AgentConfig, part: str = "") -> float | None:
        """Mean tokens of a reply of this model in this style, else of all models; None if not measured."""
        length = self.replies.get((config.model, config.style, part))
        return self.replies.get((None, config.style, part)) if length is None else length

    def repeated(self, model: str, style: str) -> tuple[float, float]:
        """Return calls per question, and tokens of all prompts over those of first prompts, for a model in a style."""
        overall = self.styles.get((None, style), (self.again, self.again_in))
        return self.styles.get((model, style), overall)

    def __str__(self) -> str:
        parts = [
            *(
                f"{style}{f' ({part})' if part else ''} {tokens:.0f} tokens"
                for (model, style, part), tokens in self.replies.items()
                if model is None
            ),
            *([] if self.characters is None else [f"{self.characters:.1f} characters a token"]),
        ]
        return f"{self.calls} calls of {self.run}: {', '.join(parts)}, {self.again:.3f} calls an answer"


def measure(run: str | Path, runs: str | Path = "runs") -> Measured:
    """Return the means of a run on disk; one without model replies is refused."""
    if (measured := measured_replies(run, runs)) is None:
        raise UsageError(f"--from {run}: this run has no replies whose tokens were counted")
    return measured


def measured_replies(run: str | Path, runs: str | Path = "runs") -> Measured | None:
    """Return the means of a run on disk; None without counted tokens."""
    with open_run(run, runs) as opened:
        return measured_of(opened)


def measured_of(run: Run) -> Measured | None:
    """Return the means of an opened run; None without counted tokens."""
    sums: dict[tuple[str | None, str, str], list[int]] = defaultdict(lambda: [0, 0])
    waited: dict[str | None, list[float]] = defaultdict(list)
    ids: list[tuple[int, int]] = []
    spans: list[tuple[float, float]] = []
    calls, unit = 0, None
    states, call_rows = _tables(run)
    shared = run.manifest.get("shared") is not None
    asked: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    """By model and style: calls and tokens of their prompts, first calls and tokens of theirs; "" for all styles."""
    matches: dict[tuple[Any, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0, 0]))
    for call in call_rows:
        if call["tokens_out"] is None or call["error"] is not None:
            continue
        unit = unit if unit is not None and unit.index == call["match"] else run.plan.unit(call["match"])
        calls += 1
        tokens_in, first = call["tokens_in"] or 0, not _REPEATED.search(call["part"])
        for key in _alike(unit) if states.get(unit.index) == "done" else ():
            of = matches[key][unit.index]
            of[0] += 1
            of[1] += tokens_in
            of[2] += call["tokens_out"]
            of[3] += first
        config = unit.players[call["player"] - 1].config
        for key in ((call["model"], config.style), (None, config.style), (None, "")):
            for place, count in enumerate((1, tokens_in, first, first * tokens_in)):
                asked[key][place] += count
        for model in (call["model"], None):
            tally = sums[model, config.style, part_name(call["part"])]
            tally[0] += 1
            tally[1] += call["tokens_out"]
        if 0 < (waiting := call["latency"] or 0.0) < inf and call["source"] == "live":
            if (at := call["at"]) is not None:
                spans.append((at, at + waiting))
            waited[call["model"]].append(waiting)
            waited[None].append(waiting)
        if call["tokens_in"]:
            ids.append((call["id"], call["tokens_in"]))
    if not calls:
        return None
    styles = {
        key: (count / max(1, firsts), all_in / first_in if first_in else 1.0)
        for key, (count, all_in, firsts, first_in) in asked.items()
    }
    batches = {} if shared else read_batches(run.journal)
    took = [b.ended - b.at for b in batches.values() if b.ended is not None and b.how != "failed"]
    means = {}
    for key, units in matches.items():
        call_total, all_in, all_out, questions = (sum(of) for of in zip(*units.values(), strict=True))
        means[key] = MatchMeans(questions / len(units), all_in / call_total, all_out / call_total)
    return Measured(
        run.name,
        calls,
        {key: total / count for key, (count, total) in sums.items()},
        *styles.pop((None, "")),
        None if shared else _characters(run, ids),
        sum(took) / len(took) / 3600 if took else None,
        means,
        {} if shared else _texts(run, [index for index, state in states.items() if state == "done"]),
        {model: sum(of) / len(of) for model, of in waited.items()},
        styles,
        len(spans) / busy if (busy := busy_seconds(spans)) else None,
    )


def busy_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """Return for how long any call was under way, by the beginnings and ends of all; impossible times do not count.

    >>> busy_seconds([(0.5, 2.0), (0.0, 1.0), (60.0, 61.0), (3.0, inf), (5.0, 4.0)])
    3.0
    """
    busy, until = 0.0, -inf
    for begin, end in sorted(span for span in spans if -inf < span[0] <= span[1] < inf):
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    return busy


def _tables(run: Run) -> tuple[Mapping[int, str], Iterable[Mapping[str, Any]]]:
    """Return the states of matches and the calls: of the journal, or of the tables that a shared run has instead."""
    if run.manifest.get("shared") is None:
        return run.journal.states(), run.journal.call_rows(run.name)
    with run_data(run.rows, run.folder.path, run.manifest, look=False) as data:
        states = data.records("SELECT DISTINCT match, state FROM matches")
        return {row["match"]: row["state"] for row in states}, data.records("SELECT * FROM calls ORDER BY id")


def _texts(run: Run, done: Sequence[int]) -> dict[str, float]:
    """Return mean lengths of texts in some matches, by the name of their form."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for index in done[:: max(1, len(done) // MATCHES)][:MATCHES]:
        steps, _, answers = run.rows.replayed(run.plan.unit(index))
        for step, decisions in enumerate(steps):
            for decision in decisions:
                journaled = answers.get((step, decision.player, ""))
                if journaled is not None and journaled[0].reading != "scripted":
                    lengths[text_name(decision.form)] += text_lengths(decision.form, journaled[0].value)
    return {name: sum(of) / len(of) for name, of in lengths.items() if of}


def _alike(unit: Unit) -> list[tuple[Any, ...]]:
    """Return keys of similar matches, the closest first: cell and rules, with equally many models."""
    rules = (unit.kind, unit.game.name, unit.mechanism.name, sum(asks(seated.config) for seated in unit.players))
    return [(cell_of(unit), *rules), rules]


def _characters(run: Run, ids: list[tuple[int, int]]) -> float | None:
    some = ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE]
    texts = sum(sum(len(text) for _, text in run.journal.prompt(call) or []) for call, _ in some)
    tokens = sum(count for _, count in some)
    return texts / tokens if tokens and texts else None


def asks(config: AgentConfig) -> bool:
    """Whether an agent asks a model for its decisions."""
    return config.model is not None and config.tree is None


def cell_of(unit: Unit) -> tuple[tuple[str, str], ...]:
    """The cell of a unit, whatever its generation."""
    return tuple((name, str(level)) for name, level in unit.cell.items() if name != "generation")
