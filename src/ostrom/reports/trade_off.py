"""What each level of a factor gains in one measure, and what it costs in another, in sentences."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate, fixed
from ostrom.analysis.measure import Measure
from ostrom.reports.words import join_labels

Costs = Mapping[tuple[Any, ...], Estimate]
"""Differences in the measure of costs, by agent and pair of levels."""


def trade_offs(
    gains: Sequence[Estimate], costs: Costs, starts: Mapping[tuple[Any, ...], Estimate], factor: str, base: str,
    left_out: Collection[str] | None, gain: Measure, cost: Measure,
) -> list[str]:  # fmt: skip
    """A sentence for each agent: the levels that surely raise its gain, each with its cost, or else the best level."""

    def level(e: Estimate) -> str:
        return str(e.key[factor]).removesuffix(f" - {base}")

    def cost_of(e: Estimate) -> str:
        difference = costs.get((e.key["agent"], e.key[factor]))
        sign = "+" if difference and difference.value > 0 else ""
        return f" ({cost.title.lower()} {sign}{fixed(difference.value)})" if difference else ""

    sentences = []
    for agent in dict.fromkeys(e.key["agent"] for e in gains):
        own = [e for e in gains if e.key["agent"] == agent and level(e) not in (left_out or ())]
        sure = sorted((e for e in own if e.low is not None and e.low > 0), key=lambda e: -e.value)
        best = max(own, key=lambda e: e.value)
        start = starts.get((agent,))
        sentences.append(
            f"{agent}{f' ({gain.title.lower()} {fixed(start.value)} with {base})' if start else ''}: "
            + (
                f"raised by {join_labels(f'{level(e)} by {fixed(e.value)}{cost_of(e)}' for e in sure)}."
                if sure
                else f"no level raises it for sure at this size; most does {level(best)}, {best.text()}."
            )
        )
    return sentences
