"""Strips, trade-offs and printed cells, by hand: which matches, which lanes, which words."""

from dataclasses import replace
from typing import Any

from ostrom.analysis.estimate import Estimate, keyed
from ostrom.analysis.measure import measures
from ostrom.reports.cells import trade_offs


def e(value: Any, low: float | None, high: float | None, **more: Any) -> Estimate:
    return replace(Estimate({}, value, low, high, 8, "match", "t"), **more)


def test_what_helps_for_sure_is_told_with_its_cost_the_most_first() -> None:
    def of(agent: str, level: str, *values: float | None) -> Estimate:
        return replace(e(*values), key={"agent": agent, "k": f"{level} - none"})

    gains = [
        of("m", "a", 0.2, 0.1, 0.3), of("m", "b", 0.4, 0.3, 0.5), of("m", "c", 0.5, -0.1, 1.0),
        of("m", "reference", 0.9, 0.8, 1.0), of("n", "a", 0.1, 0.0, 0.2), of("n", "b", 0.05, None, None),
    ]  # fmt: skip
    costs = keyed([of("m", "a", 0.5, 0.4, 0.6), of("m", "b", -1.0, -2.0, 0.0)], ["agent", "k"])
    gain, cost = measures.named("cooperation"), measures.named("score")
    first, second = trade_offs(gains, costs, {("m",): e(0.3, 0.2, 0.4)}, "k", "none", ["reference"], gain, cost)
    assert first == (
        f"m ({gain.title.lower()} 0.30 with none): raised by b by 0.40 ({cost.title.lower()} -1.00) "
        f"and a by 0.20 ({cost.title.lower()} +0.50)."
    )
    assert second == f"n: no level raises it for sure at this size; most does a, {e(0.1, 0.0, 0.2).text()}."
