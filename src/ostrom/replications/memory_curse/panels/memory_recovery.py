"""What a cleaned past gives back: cooperation against the number of real rounds in the window."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import by_policy, triple, why_empty
from ostrom.replications.memory_curse.recovery import recoveries
from ostrom.reports.cells import agents
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import lines_by, named, splits
from ostrom.reports.panel import Drawn, Figure, Panel, Table


class MemoryRecovery(Panel):
    """Sanitized windows, ideal and polar (Liu et al. 2026, section 4.5 and Appendix H)."""

    title = "A cleaned past"

    def draw(self, data: RunData) -> Drawn:
        """Curves over X, and the table with gains."""
        made = recoveries(data)
        if not made:
            return Drawn(notes=[why_empty(data, "No finished match has a sanitized memory.")])
        styles, windows = {r.style for r in made} - {None}, {r.window for r in made}
        figures = []
        for n, some in enumerate(splits(agents(data))):
            rows = [
                {"x": r.real, "series": r.agent,
                 "mean": r.cooperation.value, "low": r.cooperation.low, "high": r.cooperation.high,
                 "facet": named(r.game, r.mode, r.style if len(styles) > 1 else None,
                                f"window {r.window}" if len(windows) > 1 else None)}
                for r in made if r.agent in some
            ]  # fmt: skip
            if not rows:
                continue
            chart = lines_by(
                rows, x="real rounds in the window", y="cooperation", domain=(0, 1), legend="agent"
            )
            caption = (
                "Share of cooperative actions against the number of real rounds that the window still "
                "holds; the rest of it is made up. The rightmost point, where given, is the window of real "
                "rounds only. Points are estimates, bands 95 % intervals. "
                f"{rests_on([r.cooperation for r in made if r.agent in some])}"
            )
            alt = "Curves of cooperation against the number of real rounds, by game and mode."
            figures.append(Figure("memory_recovery" + (f"_{n + 1}" if n else ""), chart, caption, alt))
        columns = [
            "agent", "game", "style", "mode", "window", "real_rounds", "matches", "cooperation", "low",
            "high", "gain", "gain_low", "gain_high", "recovered_share",
        ]  # fmt: skip
        rows_ = [
            [r.agent, r.game, r.style, r.mode, r.window, r.real, r.cooperation.n,
             *triple(r.cooperation), *triple(r.gain), r.recovered]
            for r in made
        ]  # fmt: skip
        caption = (
            "The gain is over the window of real rounds only; the recovered share is of what that one lacks."
        )
        notes = by_policy(data)
        if not any(r.gain is not None for r in made):
            notes.append("No match shows a window of real rounds only, so there is no baseline and no gain.")
        return Drawn(figures, [Table("memory_recovery", columns, rows_, caption)], notes)


PANEL = MemoryRecovery
