"""The made-up figures of the river study, and the same ones of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.analysis.estimate import estimate
from ostrom.analysis.references import Games, Published, Reference, RunFigure, number, published_rows
from ostrom.data.rundata import RunData


class River(Reference):
    """The share of the water that the upper farmer takes."""

    name: ClassVar[str] = "river"
    citation: ClassVar[str] = "Made up for this example"
    columns: ClassVar[tuple[str, ...]] = ("arm", "measure")
    spread: ClassVar[str] = "none printed"

    def published(self) -> Sequence[Published]:
        """The printed shares."""
        return [
            Published((row["arm"], "taken"), row["model"], number(row["value"]) or 0.0, None, "Table 1", "verified")
            for row in published_rows("river")
        ]

    def own(self, data: RunData, games: Games) -> Sequence[RunFigure]:  # noqa: ARG002
        """The same shares of a run."""
        return [
            RunFigure((e.key["talk"], "taken"), e.key["agent"], e.value, e.low, e.high, None, e.n)
            for e in estimate(data, "amount_share", ["talk", "agent"], where={"stage": "open"})
        ]


REFERENCE = River
