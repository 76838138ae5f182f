"""Meta-analyses of dictator, ultimatum and trust games with people, and the same figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.estimate import estimate
from ostrom.analysis.published import number, published_rows
from ostrom.analysis.references import Games, Own, Published, Reference
from ostrom.data.rundata import RunData

PEOPLE = "People"
FIGURES: Mapping[tuple[str, str], tuple[str, Mapping[str, str]]] = {
    ("dictator", "given"): ("amount_share", {"game": "dictator"}),
    ("dictator", "gives_nothing"): ("gives_nothing", {"game": "dictator"}),
    ("dictator", "gives_half"): ("gives_half", {"game": "dictator"}),
    ("ultimatum", "offered"): ("amount_share", {"game": "ultimatum", "stage": "offer"}),
    ("ultimatum", "rejected"): ("acceptance", {"game": "ultimatum"}),
    ("trust", "sent"): ("amount_share", {"game": "trust", "stage": "send"}),
    ("trust", "returned"): ("amount_share", {"game": "trust", "stage": "return"}),
}
"""The measure behind each figure and the rows that it is taken over."""

CALLED = {"trust": "trust_amounts"}
"""What a game is called in runs whose study does not name it as this one does."""


class Sharing(Reference):
    """What people give, offer, refuse, send and return on average."""

    name: ClassVar[str] = "sharing"
    citation: ClassVar[str] = (
        "Engel (2011); Oosterbeek, Sloof and van de Kuilen (2004); Johnson and Mislin (2011)"
    )
    columns: ClassVar[tuple[str, ...]] = ("game", "measure")
    spread: ClassVar[str] = "none printed"
    protocol: ClassVar[Mapping[str, Any]] = {"mechanism": "none"}

    def published(self) -> Sequence[Published]:
        """The means over experiments with people."""
        return [
            Published((row["game"], row["measure"]), PEOPLE, value, None, row["source"], row["status"])
            for row in published_rows("sharing")
            if (value := number(row["value"])) is not None
        ]

    def own(self, data: RunData, games: Games) -> Sequence[Own]:  # noqa: ARG002
        """The same figures of every agent of a run; a share of rejections is one less that of acceptances."""
        made, present = [], {row["game"] for row in data.records("SELECT DISTINCT game FROM matches")}
        for cell, (measure, rows) in FIGURES.items():
            named = [name for name in (rows["game"], CALLED.get(rows["game"])) if name in present]
            if not named:
                continue
            where = {**rows, "game": named[0]}
            for e in estimate(data, measure, ["agent"], where=where):
                value, low, high = e.value, e.low, e.high
                if measure == "acceptance":
                    value = 1 - value
                    low, high = (None if high is None else 1 - high), (None if low is None else 1 - low)
                made.append(Own(cell, e.key["agent"], value, low, high, None, e.n))
        return made

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Where the figures come from and what is left out."""
        return [
            "The published figures are means over experiments with people. They are taken from quotations of"
            " the three papers, whose texts were not at hand; standard deviations and effects of single "
            "treatments are left out.",
            "Stakes, anonymity, repetition and populations differ between the experiments; all of them are "
            "pooled.",
        ]


REFERENCE = Sharing
