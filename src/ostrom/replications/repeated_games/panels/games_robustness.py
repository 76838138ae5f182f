"""Robustness to wording: where the variance comes from, and which conclusions hold in every framing."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.analysis.measure import measures
from ostrom.analysis.statistics import ends
from ostrom.data.rundata import RunData
from ostrom.features.robustness.robustness import Conclusion, Robustness, robustness, wordings_of
from ostrom.ground.errors import UsageError
from ostrom.reports.marks import dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MAIN, PALETTE
from ostrom.reports.words import Share, listed, pretty

SURVIVES = {
    "yes": "holds in every framing",
    "no": "does not",
    "undecided": "undecided at this size",
    None: "one framing only",
}
COLOURS = dict(zip(SURVIVES.values(), (PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[6]), strict=True))
MOST_DRAWN = 40


class GamesRobustness(Panel):
    """Variance shares of an outcome and the signs of its contrasts across framings.

    ``framings`` names the factors that only change the wording; by default those that set nothing but
    framings of agents.
    """

    def __init__(
        self, outcome: str = "cooperation", contrast: str = "agent", framings: Sequence[str] | None = None
    ) -> None:
        measures.named(outcome)
        self.outcome, self.contrast, self.framings = outcome, contrast, framings
        self.title = f"Robustness of {pretty(outcome)} to the wording"

    def draw(self, data: RunData) -> Drawn:
        """Shares of variance, and conclusions with the framings in which they fail."""
        framings = wordings_of(data) if self.framings is None else list(self.framings)
        known = [name for name in framings if name in data.factors]
        notes = [f"Not varied in this run: {listed(lost)}."] if (lost := set(framings) - set(known)) else []
        try:
            found = robustness(data, known, outcome=self.outcome, contrast=self.contrast)
        except UsageError as error:
            return Drawn(notes=[*notes, f"Nothing to show: {error}."])
        notes += [f"{note[0].upper()}{note[1:]}." for note in found.notes]
        figures, tables = [], []
        if found.shares is not None:
            figures.append(self._shares(found))
            tables.append(_share_table(found))
        if found.conclusions:
            figures.append(self._conclusions(found))
            tables.append(_conclusion_table(found))
            answers = [c.survives for c in found.conclusions if c.survives is not None]
            if answers:
                notes.insert(
                    0,
                    f"{answers.count('yes')} of {len(answers)} conclusions hold in every framing, "
                    f"{answers.count('no')} do not, {answers.count('undecided')} are undecided at this size "
                    f"({found.control}).",
                )
        return Drawn(figures, tables, notes)

    def _shares(self, found: Robustness) -> Figure:
        assert found.shares is not None
        rows = [
            {
                "label": _source(line.source), "series": "share", "mean": line.adjusted,
                "low": ends(line.ci)[0], "high": ends(line.ci)[1],
            }
            for line in found.shares.shares
        ]  # fmt: skip
        chart = dots({"": rows}, axis="share of variance (adjusted)", series={"share": MAIN}, domain=None)
        return Figure(
            f"games_robustness_{self.outcome}_shares",
            chart,
            f"Where the variance of {self.outcome} comes from, over {found.rows} players in matches. Adjusted "
            "shares (a source without effect is near 0 and may be negative) with 95 % intervals that resample "
            "matches; hollow dots have none.",
            f"Dots of variance shares of {self.outcome} by source.",
        )

    def _conclusions(self, found: Robustness) -> Figure:
        drawn = sorted(found.conclusions, key=lambda c: -abs(c.difference.value))[:MOST_DRAWN]
        rows = [
            {
                "label": " · ".join([f"{c.first} − {c.second}", *_levels(c)]), "series": SURVIVES[c.survives],
                "mean": c.difference.value, "low": c.difference.low, "high": c.difference.high,
            }
            for c in drawn
        ]  # fmt: skip
        kept = {name: colour for name, colour in COLOURS.items() if name in {row["series"] for row in rows}}
        chart = dots({"": rows}, axis=f"difference of {self.outcome}", series=kept, domain=None)
        more = (
            f" The largest {MOST_DRAWN} of {len(found.conclusions)}."
            if len(drawn) < len(found.conclusions)
            else ""
        )
        return Figure(
            f"games_robustness_{self.outcome}_conclusions",
            chart,
            f"Differences of {self.outcome} between two levels of {pretty(found.conclusions[0].contrast)}, with "
            "95 % intervals over matches. A conclusion holds if the difference surely has the same sign in every "
            f"framing; it does not if one framing surely has the other sign ({found.control}).{more}",
            f"Dots of differences of {self.outcome}, coloured by whether they hold in every framing.",
        )


def _source(name: str) -> str:
    return "seeds and the rest" if name == "residual" else pretty(name).replace(" x ", " × ")


def _levels(line: Conclusion) -> list[str]:
    return [f"{pretty(k)} {pretty(v)}" for k, v in line.within.items()]


def _share_table(found: Robustness) -> Table:
    assert found.shares is not None
    rows = [
        [
            _source(line.source), Share(line.share), Share(line.adjusted), line.df,
            *(None if end is None else Share(end) for end in ends(line.ci)),
        ]
        for line in found.shares.shares
    ]  # fmt: skip
    return Table(
        f"games_robustness_{found.outcome}_shares",
        ["source", "share", "adjusted", "df", "low", "high"],
        rows,
        f"Shares of the variance of {found.outcome}; the interval is that of the adjusted share.",
    )


def _conclusion_table(found: Robustness) -> Table:
    rows = [
        [
            ", ".join(_levels(c)) or "everywhere", str(c), c.difference.value, c.difference.low, c.difference.high,
            c.framings, c.agreeing, c.survives, "; ".join(c.exceptions) or None,
        ]
        for c in found.conclusions
    ]  # fmt: skip
    return Table(
        f"games_robustness_{found.outcome}_conclusions",
        [
            "where",
            "conclusion",
            "difference",
            "low",
            "high",
            "framings",
            "agreeing",
            "holds in all",
            "not in",
        ],
        rows,
        "Differences over all framings, whether they hold in all of them (yes, no, or undecided at this size), and "
        f"the framings in which the observed sign is another one ({found.control or 'nothing to compare'}).",
    )


PANEL = GamesRobustness
