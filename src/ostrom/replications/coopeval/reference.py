"""Figures and remarks for CoopEval (Tewolde et al. 2026) that ``claims.yaml`` cannot declare."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ostrom.analysis.claims import DeclaredReference
from ostrom.analysis.references import Games, Published, RunFigure
from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.figures import (
    FOUR,
    TYPES,
    PublishedMatches,
    conduct,
    designs,
    evolution,
    match_cells,
    means,
    motives,
    split_label,
)


class CoopEval(DeclaredReference):
    """Payoffs in points of the game; normalised ones between 0 (all defect) and 1 (all cooperate)."""

    def more(self, data: RunData, games: Games) -> Sequence[RunFigure]:  # noqa: ARG002
        """Return every figure of the paper that the run's matches and designs provide."""
        placement, (evolved, _) = _evolved(data)
        return [*means(placement), *conduct(placement), *evolved, *designs(placement, data), *motives(data)]

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Return differences from the paper, and its figures without a counterpart."""
        placement, (_, why) = _evolved(data)
        return [*placement.remarks, *why, *_missing(placement), *_settings(placement, self.published())]


@lru_cache(maxsize=1)
def _evolved(data: RunData) -> tuple[PublishedMatches, tuple[list[RunFigure], list[str]]]:
    """Return the matches and their evolution, cached because ratings are slow."""
    placement = match_cells(data)
    return placement, evolution(placement, data)


def _missing(found: PublishedMatches) -> Iterator[str]:
    """Yield the groups of published figures that a run with these cells cannot have."""
    played = {split_label(p.mechanism)[0] for p in found.points}
    games, types = {p.game for p in found.points}, {p.type for p in found.points}
    if games and games & found.payable != FOUR:
        yield (
            "Not compared: normalised means, fitness, ranks and designs over all four games; the run has no "
            f"{', '.join(sorted(FOUR - (games & found.payable)))} with the paper's payoffs."
        )
    if len(types) != TYPES and types:
        yield (
            f"Not compared: ranks by deviation rating, which need the paper's {TYPES} types (the run has "
            f"{len(types)}). Means and fitness depend on who else plays, too."
        )
    elif types:
        yield "Not compared: the mean of all ranks, which is (types + 1) / 2 whatever happens."
    if played & {"Reputation-", "Reputation+"}:
        yield ("The paper has no fitness and no ranks for reputation: there are no payoffs against single opponents.")
    if "Contracting" in played:
        yield "Contracting: amounts are bounded here; in the paper they are not."
    if not {split_label(p.mechanism)[1] for p in found.points} - {""}:
        yield (
            "Not compared: the ablations (continuation 0.7 and 0.9, window 2 and 4, Prisoner's Dilemma); no match "
            "of the run has such a setting."
        )


def _settings(found: PublishedMatches, figures: Sequence[Published]) -> Iterator[str]:
    printed_cells = {(figure.cell[0], figure.cell[2]) for figure in figures}
    return (
        f"Not compared: {mechanism} with {setting}, a setting that the paper does not have."
        for mechanism, setting in dict.fromkeys(split_label(p.mechanism) for p in found.points)
        if (mechanism, setting) not in printed_cells
    )
