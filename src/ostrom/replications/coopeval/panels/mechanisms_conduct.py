"""What players do with institutions: votes, signatures, delegation."""

from __future__ import annotations

from ostrom.data.rundata import RunData
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
            place = f"{pretty(rate.mechanism)} · {pretty(rate.game)}"
            groups.setdefault(MEASURES[rate.measure], []).append(
                {
                    "label": place if coloured else f"{place} · {names[rate.agent]}",
                    "series": names[rate.agent] if coloured else "all types",
                    "mean": rate.share, "low": rate.estimate.low, "high": rate.estimate.high,
                }
            )  # fmt: skip
        series = series_colours([names[a] for a in agents] if coloured else ["all types"])
        chart = dots(groups, axis="share", series=series, domain=(0, 1))
        rows = [
            [
                r.mechanism, r.game, r.agent, MEASURES[r.measure], r.share, r.estimate.low, r.estimate.high,
                r.times, r.occasions, r.estimate.method, r.estimate.note or None,
            ]
            for r in found
        ]  # fmt: skip
        columns = [
            "mechanism", "game", "type", "what", "share", "low", "high", "times", "occasions", "method", "note",
        ]  # fmt: skip
        caption = (
            "How often types made use of a mechanism, of the occasions they had, with 95 % intervals over "
            "matches."
        )
        table = Table("mechanisms_conduct", columns, rows, "Votes, signatures and delegation by type.")
        return Drawn([Figure("mechanisms_conduct", chart, caption, "Dots of shares by measure.")], [table])


PANEL = MechanismConduct
