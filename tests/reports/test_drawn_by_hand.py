"""Strips, trade-offs and printed cells, by hand: which matches, which lanes, which words."""

from dataclasses import replace
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.reports.trade_off import TradeOff


def e(value: float, low: float | None, high: float | None, **more: Any) -> Estimate:
    return replace(Estimate({}, value, low, high, 8, "match", "t"), **more)


def test_what_helps_for_sure_is_told_with_its_cost_the_most_first() -> None:
    panel = TradeOff("cooperation", "score", "k", "none", left_out=["reference"])
    gains = {
        ("m", "a"): e(0.2, 0.1, 0.3), ("m", "b"): e(0.4, 0.3, 0.5), ("m", "c"): e(0.5, -0.1, 1.0),
        ("m", "reference"): e(0.9, 0.8, 1.0), ("n", "a"): e(0.1, 0.0, 0.2), ("n", "b"): e(0.05, None, None),
    }  # fmt: skip
    costs = {("m", "a"): e(0.5, 0.4, 0.6), ("m", "b"): e(-1.0, -2.0, 0.0)}
    gain, cost = panel.gain.title.lower(), panel.cost.title.lower()
    assert panel._sentence("m", e(0.3, 0.2, 0.4), gains, costs) == (
        f"m ({gain} 0.30 with none): raised by b by 0.40 ({cost} -1.00) and a by 0.20 ({cost} +0.50)."
    )
    told = panel._sentence("n", None, gains, costs)
    assert told == f"n: no level raises it for sure at this size; most does a, {e(0.1, 0.0, 0.2).text()}."
