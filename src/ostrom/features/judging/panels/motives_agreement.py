"""How far judges agree on motives."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.features.judging.agreement import agreements, same_sets
from ostrom.features.judging.judgements import judged_corpora
from ostrom.features.judging.panels.motives_shares import NOT_JUDGED
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table


class MotiveAgreement(Panel):
    """Cohen's kappa of two judges, or of two passes of one, per motive and overall."""

    title = "Agreement of judges"

    def draw(self, data: RunData) -> Drawn:
        """One row per motive."""
        corpora = judged_corpora(data.folder)
        if not corpora:
            return Drawn(notes=[NOT_JUDGED.format(data.name)])
        figures, tables, notes = [], [], []
        for corpus in corpora:
            found = agreements(corpus)
            if not found:
                notes.append(f"{corpus.name}: one judge in one pass, so agreement is not known.")
                continue
            titles = {motive.name: motive.title for motive in corpus.motives}
            rows = [
                {
                    "label": titles.get(a.motive, a.motive), "series": "kappa", "mean": a.kappa.estimate,
                    "low": a.kappa.ci.low, "high": a.kappa.ci.high,
                }
                for a in found
                if a.kappa is not None
            ]  # fmt: skip
            if rows:
                chart = dots({"": rows}, axis="Cohen's kappa", series=series_colours(["kappa"]), domain=None)
                pair = " and ".join(corpus.judges[:2])
                figures.append(
                    Figure("motives_agreement", chart, f"Agreement of {pair}.", "Dots of kappa by motive.")
                )
            listed = [entry.as_dict() for entry in found]
            tables.append(
                Table(
                    "motives_agreement",
                    ["motive", "decisions", *corpus.judges[:2], "kappa", "low", "high", "agreement", "why"],
                    [
                        [
                            e["motive"], e["decisions"], e["first"], e["second"], e["kappa"],
                            *(e["ci"] or (None, None)), e["agreement"], e["why"],
                        ]
                        for e in listed
                    ],
                    "Cohen's kappa with its 95 % interval; how often each judge labelled a motive.",
                )
            )  # fmt: skip
            alike = same_sets(corpus)
            if alike is not None:
                notes.append(
                    f"{corpus.name}: both gave exactly the same motives to {alike:.1%} of the decisions."
                )
        return Drawn(figures, tables, notes)


PANEL = MotiveAgreement
