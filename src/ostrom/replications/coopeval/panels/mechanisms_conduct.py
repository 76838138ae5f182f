"""What players do with institutions: votes, signatures, delegation."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.coopeval.conduct import MEASURES, conduct_rates
from ostrom.replications.coopeval.panels._shared import nothing_yet
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels, pretty


class MechanismConduct(Panel):
    """How often types approve proposals, win with theirs, sign and delegate."""

    title = "Votes, signatures and delegation"

    def draw(self, data: RunData) -> Drawn:
        """One block per measure."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        found = conduct_rates(data)
        if not found:
            return Drawn(notes=["No finished match has votes, signatures or delegation."])
        agents = list(dict.fromkeys(rate.agent for rate in found))
        names, coloured = labels(agents), len(agents) <= MOST_COLOURS
        groups: dict[str, list[dict[str, object]]] = {}
        for rate in found:
            low, high = rate.interval
            place = f"{pretty(rate.mechanism)} · {pretty(rate.game)}"
            groups.setdefault(MEASURES[rate.measure], []).append(
                {
                    "label": place if coloured else f"{place} · {names[rate.agent]}",
                    "series": names[rate.agent] if coloured else "all types",
                    "mean": rate.share, "low": low, "high": high,
                }
            )  # fmt: skip
        series = series_colours([names[a] for a in agents] if coloured else ["all types"])
        chart = dots(groups, axis="share", series=series, domain=(0, 1))
        rows = [
            [r.mechanism, r.game, r.agent, MEASURES[r.measure], r.share, *r.interval, r.times, r.occasions]
            for r in found
        ]
        columns = ["mechanism", "game", "type", "what", "share", "low", "high", "times", "occasions"]
        caption = (
            "How often types made use of a mechanism, of the occasions they had, with 95 % Wilson intervals "
            "that take every occasion as a trial of its own."
        )
        table = Table("mechanisms_conduct", columns, rows, "Votes, signatures and delegation by type.")
        return Drawn([Figure("mechanisms_conduct", chart, caption, "Dots of shares by measure.")], [table])


PANEL = MechanismConduct
