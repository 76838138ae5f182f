"""Figures, doubts and remarks for CoopEval (Tewolde et al. 2026) that ``claims.yaml`` cannot declare."""

from collections.abc import Iterator, Mapping, Sequence

from ostrom.analysis.claims import DeclaredReference
from ostrom.analysis.references import Games, Published, RunFigure
from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.figures import (
    FOUR,
    RANK,
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

ALL_MODELS = "llm_average"
MEANS = ("mean_payoff", "mean_payoff_normalised")
OUTLIERS = {
    "Claude": "0.867 instead of 0.557",
    "Gemini-R": "0.978 instead of 1.055",
    "Qwen-30b": "0.624 instead of 0.778",
    "Gemini-B": "",
}
"""Models in two public goods matches under one (100, -1) contract, and their contracting means without these.

No figure is known without them for the last one. Contracts only move points between players, so the 0.15
points per seat that the three others are short of must be its own; it alone has the spread over runs for it.
"""


def setting_of(row: Mapping[str, str]) -> str:
    """Return an ablation's deviating setting; empty for the paper's own design.

    >>> from ostrom.analysis.references import published_rows
    >>> [setting_of(row) for row in published_rows("coopeval") if row["source_table"] == "ablation"][:3]
    ['continuation 0.7', 'continuation 0.9', 'window 2']
    """
    if row["source_table"] != "ablation":
        return ""
    return row["note"].removeprefix("ablation: ").partition(" (")[0].replace("history window", "window")


def doubts_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the doubts about a figure."""
    if row["metric"] == RANK:
        return (
            "SUSPICIOUS: depends on the solver; 20 of the 48 released rating files are not the lexicographic optimum",
        )
    if row["mechanism"] == "Contracting" and row["metric"] in MEANS and row["game"] in ("all_four", "public_goods"):
        model = row["model"]
        if model in OUTLIERS:
            without = OUTLIERS[model]
            tail = f" (normalised mean of all games without them: {without})" if without else ""
            return (
                "SUSPICIOUS: moved by two of 972 contracting matches, both in public goods under one (100, -1) "
                f"contract{tail}",
            )
    return ()


class CoopEval(DeclaredReference):
    """Payoffs in points of the game; normalised ones between 0 (all defect) and 1 (all cooperate)."""

    def __init__(self) -> None:
        self._of: tuple[RunData, PublishedMatches, tuple[list[RunFigure], list[str]]] | None = None

    def row(self, row: dict[str, str]) -> dict[str, str] | None:
        """Return a row, without the mean of all ranks (always 3.5); the setting of an ablation is a column."""
        pooled = row["model"] == ALL_MODELS
        status = "verified" if row["verification"].endswith("match") else "recomputed"
        if pooled and row["metric"] == RANK:
            return None
        return {**row, "setting": setting_of(row), "model": "" if pooled else row["model"], "status": status}

    def doubts(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return doubts about the ratings' solver and two unusual matches."""
        return doubts_of(row)

    def more(self, data: RunData, games: Games) -> Sequence[RunFigure]:  # noqa: ARG002
        """Return every figure of the paper that the run's matches and designs provide."""
        placement, (evolved, _) = self._evolved(data)
        return [*means(placement), *conduct(placement), *evolved, *designs(placement, data), *motives(data)]

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Return differences from the paper, and its figures without a counterpart."""
        placement, (_, why) = self._evolved(data)
        return [*placement.remarks, *why, *_missing(placement), *_settings(placement, self.published())]

    def _evolved(self, data: RunData) -> tuple[PublishedMatches, tuple[list[RunFigure], list[str]]]:
        """Return the matches and their evolution, cached because ratings are slow."""
        if self._of is None or self._of[0] is not data:
            placement = match_cells(data)
            self._of = data, placement, evolution(placement, data)
        return self._of[1:]


def _missing(found: PublishedMatches) -> Iterator[str]:
    """Yield the groups of published figures that a run with these cells cannot have."""
    played = {split_label(p.mechanism)[0] for p in found.points}
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
    for mechanism, setting in dict.fromkeys(split_label(p.mechanism) for p in found.points):
        if (mechanism, setting) not in printed_cells:
            yield f"Not compared: {mechanism} with {setting}, a setting that the paper does not have."
