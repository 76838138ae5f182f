"""What each level of a factor gains in one measure, and what it costs in another."""

from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate, fixed
from ostrom.analysis.measure import measures
from ostrom.data.rundata import RunData
from ostrom.reports.panel import Drawn, Panel, Table
from ostrom.reports.words import join_labels, pretty


class TradeOff(Panel):
    """``gain`` and ``cost`` are measures, ``factor`` is compared with its level ``base``, agent by agent.

    ``left_out`` names levels that are no remedy, such as a reference without any.
    """

    def __init__(
        self, gain: Any, cost: Any, factor: str, base: str, left_out: list[str] | None = None, title: str | None = None
    ) -> None:
        self.gain, self.cost = measures.named(gain), measures.named(cost)
        self.factor, self.base, self.left_out = factor, base, set(left_out or ())
        self.title = title or f"{self.gain.title} against {self.cost.title.lower()}"

    def draw(self, data: RunData) -> Drawn:
        """One sentence for each agent, and a table of both differences."""
        differences = [
            {
                (e.key["agent"], str(e.key[self.factor]).removesuffix(f" - {self.base}")): e
                for e in contrast(data, measure, self.factor, f"* - {self.base}", ["agent"])
            }
            for measure in (self.gain, self.cost)
        ]
        if not differences[0]:
            return Drawn(notes=[f"No {pretty(self.factor)} can be compared with {self.base}."])
        gains, costs = differences
        starts = {e.key["agent"]: e for e in estimate(data, self.gain, ["agent"], where={self.factor: self.base})}
        rows = [
            [*key, gained.value, gained.low, gained.high]
            + ([c.value, c.low, c.high] if (c := costs.get(key)) is not None else [None] * 3)
            for key, gained in gains.items()
        ]
        columns = [
            "agent", self.factor, self.gain.name, "low", "high", self.cost.name, "cost_low", "cost_high",
        ]  # fmt: skip
        caption = f"Differences to {self.base}, with 95 % intervals."
        table = Table(f"trade_off_{self.factor}", columns, rows, caption)
        agents = dict.fromkeys(agent for agent, _ in gains)
        return Drawn(tables=[table], notes=[self._sentence(a, starts.get(a), gains, costs) for a in agents])

    def _sentence(
        self,
        agent: Any,
        start: Estimate | None,
        gains: dict[tuple[Any, str], Estimate],
        costs: dict[tuple[Any, str], Estimate],
    ) -> str:
        """A sentence on the levels that surely help an agent, each with its cost; on the best level where none does."""
        own = [(lv, e) for (who, lv), e in gains.items() if who == agent and lv not in self.left_out]
        sure = [(level, e) for level, e in own if e.low is not None and e.low > 0]
        began = "" if start is None else f" ({self.gain.title.lower()} {fixed(start.value)} with {self.base})"
        if not sure:
            level, best = max(own, key=lambda pair: pair[1].value)
            return f"{agent}{began}: no level raises it for sure at this size; most does {level}, {best.text()}."
        sure.sort(key=lambda pair: -pair[1].value)
        gain_texts = [
            f"{level} by {fixed(gained.value)}{self._cost(costs.get((agent, level)))}" for level, gained in sure
        ]
        return f"{agent}{began}: raised by {join_labels(gain_texts)}."

    def _cost(self, cost: Estimate | None) -> str:
        if cost is None:
            return ""
        sign = "+" if cost.value > 0 else ""
        return f" ({self.cost.title.lower()} {sign}{fixed(cost.value)})"
