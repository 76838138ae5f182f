"""What thinking costs: cooperation without reasoning minus with it, at a long memory."""

from __future__ import annotations

from ostrom.analysis.verdicts import above
from ostrom.analysis.verdicts import largest as surely_largest
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import by_policy, triple, why_empty
from ostrom.replications.memory_curse.penalty import LENGTH, largest, penalties
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import named
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, pretty

LACKING = "The penalty needs matches with the styles direct and reasoned at a common history length."


DECIDED = {"yes": "decided", "no": "refuted", "undecided": "undecided at this size"}


class MemoryPenalty(Panel):
    """The deliberation penalty of every agent and game, and where it is decided."""

    title = "Deliberation penalty"

    def draw(self, data: RunData) -> Drawn:
        """Dots with whiskers, and the table."""
        found = penalties(data)
        if not found:
            return Drawn(notes=[why_empty(data, LACKING)])
        costs = [c.cost for c in found]
        verdicts = above(costs)
        agents = list(dict.fromkeys(c.agent for c in found))
        short = labels(agents)
        rows = [
            {"label": named(c.game, None if c.length == LENGTH else f"HL {c.length}"),
             "series": short[c.agent], "mean": c.cost.value, "low": c.cost.low, "high": c.cost.high}
            for c in found
        ]  # fmt: skip
        chart = dots(
            {"": rows}, axis="cooperation without minus with reasoning",
            series=series_colours(list(short.values())), domain=None,
        )  # fmt: skip
        notes = by_policy(data)
        if others := sorted({c.length for c in found} - {LENGTH}):
            notes.append(
                f"Not every pair was played at history length {LENGTH} in both styles; the longest length "
                f"that both have is taken there ({', '.join(map(str, others))})."
            )
        answers = [v.answer for v in verdicts]
        notes.append(
            f"Reasoning costs cooperation in {answers.count('yes')} of {len(found)} pairs of agent and game, "
            f"raises it in {answers.count('no')}, and {answers.count('undecided')} are undecided at this size "
            f"({verdicts.control})."
        )
        for agent in agents:
            of = {c.game: (c.cost, v) for c, v in zip(found, verdicts, strict=True) if c.agent == agent}
            worst = largest({game: cost.value for game, (cost, _) in of.items()})
            if worst is not None and worst[1] > 0:
                cost, verdict = of[worst[0]]
                rivals = [other for game, (other, _) in of.items() if game != worst[0]]
                sure, control = surely_largest(cost, rivals)
                alone = f"that it is larger than in every other game is {DECIDED[sure]}: {control}"
                notes.append(
                    f"{agent}: the largest penalty observed is in {pretty(worst[0])} ({100 * cost.value:.1f} "
                    f"points; that it is above 0 is {DECIDED[verdict.answer]}{f'; {alone}' if rivals else ''})."
                )
        table = Table(
            "memory_penalty",
            ["agent", "game", "history_length", "penalty", "low", "high", "matches", "verdict", "note"],
            [
                [c.agent, c.game, c.length, *triple(c.cost), c.matches, v.answer, c.cost.note or None]
                for c, v in zip(found, verdicts, strict=True)
            ],
            "Deliberation penalty: cooperation asked directly minus cooperation after reasoning. The verdict "
            f"is whether it is above 0 ({verdicts.control}).",
        )
        caption = (
            "Share of cooperative actions when asked directly minus after reasoning; above 0 reasoning costs "
            f"cooperation. Whiskers are 95 % intervals, hollow dots have none. {rests_on(costs)}"
        )
        alt = f"Dot plot of the deliberation penalty for {len(found)} pairs of agent and game."
        return Drawn([Figure("memory_penalty", chart, caption, alt)], [table], notes)


PANEL = MemoryPenalty
