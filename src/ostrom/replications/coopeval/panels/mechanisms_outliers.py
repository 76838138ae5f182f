"""Matches that alone move a mean by more than its interval."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.outliers import FEWEST, outliers
from ostrom.replications.coopeval.panels._shared import match_rows, nothing_yet
from ostrom.replications.coopeval.scores import score_points
from ostrom.reports.panel import Drawn, Panel, Table


class MechanismOutliers(Panel):
    """Names the matches that a mean hangs on, so that nobody takes them for a result."""

    title = "Outliers"

    def draw(self, data: RunData) -> Drawn:
        """A table, or the word that there are none."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        points = score_points(match_rows(data), data.unit).points
        if not points:
            return Drawn(notes=["No score of this run can be normalised, so no mean was searched."])
        found = outliers(points)
        means = len({(p.mechanism, p.game, p.type) for p in points})
        if not found:
            return Drawn(
                notes=[
                    f"None of the {means} means (by mechanism, game and type) hangs on a single match. "
                    f"Means of fewer than {FEWEST} matches are not searched."
                ]
            )
        columns = [
            "mechanism", "game", "type", "match", "seed", "score", "mean with all", "mean without the named",
            "shift by this match", "half width of interval",
        ]  # fmt: skip
        table = Table(
            "mechanisms_outliers",
            columns,
            [list(o.as_dict().values()) for o in found],
            "Matches that alone move a normalised mean by more than half the width of the interval that the "
            "other matches give.",
        )
        return Drawn(
            tables=[table], notes=[f"{len(found)} matches alone move a mean by more than its interval."]
        )


PANEL = MechanismOutliers
