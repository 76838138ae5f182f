"""Tewolde et al. (2026), CoopEval: payoffs, cooperation, evolution and designs by mechanism and game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.published import number
from ostrom.analysis.references import Games, Own, Published, Reference
from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.figures.cells import FOUR, Placed, apart, placed
from ostrom.replications.coopeval.figures.conduct import conduct
from ostrom.replications.coopeval.figures.designs import designs
from ostrom.replications.coopeval.figures.evolution import RANK, TYPES, evolution
from ostrom.replications.coopeval.figures.means import means
from ostrom.replications.coopeval.published import doubts_of, published_coopeval


class CoopEval(Reference):
    """Payoffs in points of the game, normalised ones between 0 (all defect) and 1 (all cooperate)."""

    name: ClassVar[str] = "coopeval"
    citation: ClassVar[str] = "Tewolde et al. (2026), CoopEval"
    columns: ClassVar[tuple[str, ...]] = ("mechanism", "game", "setting", "measure")
    spread: ClassVar[str] = "standard error over three runs (of all four games: over games)"
    protocol: ClassVar[Mapping[str, Any]] = {"agent.params.temperature": 1.0, "seeds": 3}

    def __init__(self) -> None:
        self._of: tuple[RunData, Placed, tuple[list[Own], list[str]]] | None = None

    def published(self) -> Sequence[Published]:
        """All tables, recomputed rates and ablations, but for the mean of all ranks: it is 3.5 whatever happens."""
        return [
            Published(
                (row["mechanism"], row["game"], row["setting"], row["metric"]),
                row["model"] or None,
                value,
                number(row["se"]),
                row["source_table"],
                "verified" if row["verification"].endswith("match") else "recomputed",
                doubts_of(row),
            )
            for row in published_coopeval()
            if (value := number(row["value"])) is not None and (row["model"] or row["metric"] != RANK)
        ]

    def own(self, data: RunData, games: Games) -> Sequence[Own]:  # noqa: ARG002
        """Every figure of the paper's that the run's matches and designs give."""
        found, (evolved, _) = self._evolved(data)
        return [*means(found), *conduct(found), *evolved, *designs(found, data)]

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """What differs from the paper, and which of its figures have nothing beside them."""
        found, (_, why) = self._evolved(data)
        return [*found.remarks, *why, *_missing(found), *_settings(found, self.published())]

    def _evolved(self, data: RunData) -> tuple[Placed, tuple[list[Own], list[str]]]:
        """The matches and what evolves on them; worked out once, because the ratings take their time."""
        if self._of is None or self._of[0] is not data:
            found = placed(data)
            self._of = data, found, evolution(found, data)
        return self._of[1:]


def _missing(found: Placed) -> Iterator[str]:
    """The groups of published figures that a run with these cells cannot have, one line each."""
    played = {apart(p.mechanism)[0] for p in found.points}
    games, types = {p.game for p in found.points}, {p.type for p in found.points}
    if games and games & found.payable != FOUR:
        lacking = ", ".join(sorted(FOUR - (games & found.payable)))
        yield (
            "Not compared: normalised means, fitness, ranks and designs over all four games; the run has no "
            f"{lacking} with the paper's payoffs."
        )
    if len(types) != TYPES and types:
        yield (
            f"Not compared: ranks by deviation rating, which need the paper's {TYPES} types (the run has "
            f"{len(types)}). Means and fitness depend on who else plays, too."
        )
    elif types:
        yield "Not compared: the mean of all ranks, which is (types + 1) / 2 whatever happens."
    if played & {"Reputation-", "Reputation+"}:
        yield (
            "The paper has no fitness and no ranks for reputation: there are no payoffs against single opponents."
        )
    if "Contracting" in played:
        yield "Contracting: amounts are bounded here; in the paper they are not."
    if not {apart(p.mechanism)[1] for p in found.points} - {""}:
        yield (
            "Not compared: the ablations (continuation 0.7 and 0.9, window 2 and 4, Prisoner's Dilemma); no match "
            "of the run has such a setting."
        )


def _settings(found: Placed, figures: Sequence[Published]) -> Iterator[str]:
    known = {(figure.cell[0], figure.cell[2]) for figure in figures}
    for mechanism, setting in dict.fromkeys(apart(p.mechanism) for p in found.points):
        if (mechanism, setting) not in known:
            yield f"Not compared: {mechanism} with {setting}, a setting that the paper does not have."


REFERENCE = CoopEval
