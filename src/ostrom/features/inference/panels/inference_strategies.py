"""Which strategies agents followed: estimated shares, and how they answered what happened last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.features.inference.prescribed import DEFAULT_CANDIDATES
from ostrom.features.inference.responses import STATES
from ostrom.features.inference.runs import AgentFrequencies, RunInference, infer_strategies
from ostrom.ground.errors import UsageError
from ostrom.reports.maps import tiles
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, listed, pretty, shortened

LEAST = 0.01
"""Weights below this, up to the end of their interval, are in the table alone."""


class InferenceStrategies(Panel):
    """Shares of strategies by maximum likelihood (Dal Bo & Frechette 2011) and memory-one responses.

    ``strategies`` are the candidates; ``agents`` those to look at, by default all that are no scripts, if
    there are any.
    """

    title = "Which strategies were followed"

    def __init__(
        self,
        strategies: Sequence[str] = DEFAULT_CANDIDATES,
        agents: Sequence[str] = (),
        resamples: int = 300,
    ) -> None:
        self.strategies, self.agents, self.resamples = tuple(strategies), tuple(agents), int(resamples)

    def draw(self, data: RunData) -> Drawn:
        """A block of weights per agent, a map of responses, and both as tables."""
        agents, notes = self.agents, list[str]()
        if not agents:
            rows = data.records(
                "SELECT agent, bool_and(strategy IS NOT NULL) AS script FROM matches "
                "WHERE state = 'done' AND unit = 'match' AND seat IS NOT NULL GROUP BY agent ORDER BY min(match)"
            )
            agents = tuple(row["agent"] for row in rows if not row["script"])
            if agents and len(agents) < len(rows):
                notes.append("Scripts are left out: what they follow is known.")
        try:
            found = infer_strategies(
                data, agents=agents, candidates=self.strategies, resamples=self.resamples, compare=False
            )
        except UsageError as error:
            return Drawn(notes=[*notes, f"Nothing to show: {error}."])
        notes.append(f"Candidates: {', '.join(found.candidates)}.")
        notes += [f"{e.agent}: {note}." for e in found.estimates for note in e.notes]
        notes += [f"{note[0].upper()}{note[1:]}." for note in found.notes]
        if data.factors:
            notes.append(f"All levels of {listed(data.factors)} are pooled.")
        figures = [_responses(found)]
        estimated = [e for e in found.estimates if e.frequencies is not None]
        if estimated:
            figures.insert(0, _weights(estimated, found))
        return Drawn(figures, _tables(found), notes)


def _weights(estimates: list[AgentFrequencies], found: RunInference) -> Figure:
    named = labels(e.agent for e in estimates)
    groups: dict[str, list[dict[str, Any]]] = {}
    for estimate in estimates:
        assert estimate.frequencies is not None
        weights = sorted(estimate.frequencies.weights, key=lambda w: -w.weight)
        groups[named[estimate.agent]] = [
            {
                "label": shortened(pretty(w.name), 60), "series": "weight", "mean": w.weight,
                "low": w.ci.low, "high": w.ci.high,
            }
            for w in weights
            if max(w.weight, w.ci.high) >= LEAST
        ]  # fmt: skip
    chart = dots(groups, axis="share of matches", series=series_colours(["weight"]), domain=(0, 1))
    return Figure(
        "inference_strategies",
        chart,
        "Share of matches in which an agent followed a strategy, by the strategy frequency estimation method "
        f"(Dal Bo and Frechette 2011), with 95 % intervals from {found.resamples} bootstrap samples of whole "
        "matches. Names joined by | cannot be told apart by these matches.",
        "Dots of strategy weights by agent.",
    )


def _responses(found: RunInference) -> Figure:
    named = labels(r.agent for r in found.responses)
    names = {state: "first round" if state == "first" else f"after {state}" for state in STATES}
    rows = [
        {"x": names[line.state], "y": named[r.agent], "value": line.estimate}
        for r in found.responses
        for line in r.table.responses
        if line.estimate is not None
    ]
    chart = tiles(
        rows, across=list(names.values()), down=list(named.values()), legend="chance of cooperating",
        domain=(0.0, 1.0),
    )  # fmt: skip
    return Figure(
        "inference_responses",
        chart,
        "How often an agent cooperated in the first round and after each pair of last moves (its own first, "
        "then the other's). White: never reached.",
        "Heat map of the chance of cooperating by agent and last moves.",
    )


def _tables(found: RunInference) -> list[Table]:
    weights = [
        [
            e.agent, w.name, w.weight, w.se, w.ci.low, w.ci.high, w.determined, e.frequencies.error,
            e.frequencies.error_ci.low, e.frequencies.error_ci.high, e.frequencies.log_likelihood,
            e.frequencies.bic, e.matches,
        ]
        for e in found.estimates
        if e.frequencies is not None
        for w in sorted(e.frequencies.weights, key=lambda w: -w.weight)
    ]  # fmt: skip
    answers = [
        [
            r.agent, line.state, line.estimate, *_ends(line.cluster_ci), *_ends(line.wilson_ci),
            line.cooperations, line.n, line.n_matches, line.note,
        ]
        for r in found.responses
        for line in r.table.responses
    ]  # fmt: skip
    return [
        Table(
            "inference_strategies",
            ["agent", "strategies", "weight", "SE", "low", "high", "determined", "error", "error low",
             "error high", "log-likelihood", "BIC", "matches"],
            weights,
            "Weights of strategies with bootstrap errors over matches; the error is the chance that a move is "
            "not the prescribed one. A weight that is not determined can be traded against others.",
        ),
        Table(
            "inference_responses",
            ["agent", "after", "P(cooperate)", "low", "high", "Wilson low", "Wilson high", "cooperations",
             "rounds", "matches", "note"],
            answers,
            "Chance of cooperating after what happened last, with intervals over matches and, for comparison, "
            "Wilson's, which takes rounds as independent.",
        ),
    ]  # fmt: skip


def _ends(ci: Any) -> list[float | None]:
    return [None, None] if ci is None else [ci.low, ci.high]


PANEL = InferenceStrategies
