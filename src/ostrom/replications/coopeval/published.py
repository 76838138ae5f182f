"""The published figures of the mechanisms study (Tewolde et al. 2026), and what speaks against some of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ostrom.analysis.published import published_rows

ALL_MODELS = "llm_average"
RANK = "deviation_rating_rank"
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
    """What an ablation sets otherwise; empty for the paper's own design.

    >>> [setting_of(row) for row in published_rows("coopeval") if row["source_table"] == "ablation"][:3]
    ['continuation 0.7', 'continuation 0.9', 'window 2']
    """
    if row["source_table"] != "ablation":
        return ""
    told = row["note"].removeprefix("ablation: ").partition(" (")[0]
    return told.replace("history window", "window")


def doubts_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Why a figure cannot be taken at face value."""
    if row["metric"] == RANK:
        return (
            "SUSPICIOUS: depends on the solver; 20 of the 48 released rating files are not the lexicographic optimum",
        )
    if (
        row["mechanism"] == "Contracting"
        and row["metric"] in MEANS
        and row["game"] in ("all_four", "public_goods")
    ):
        model = row["model"]
        if model in OUTLIERS:
            without = OUTLIERS[model]
            tail = f" (normalised mean of all games without them: {without})" if without else ""
            return (
                "SUSPICIOUS: moved by two of 972 contracting matches, both in public goods under one (100, -1) "
                f"contract{tail}",
            )
    return ()


@cache
def published_coopeval() -> tuple[dict[str, str], ...]:
    """Every row with two columns more: ``setting``, and ``model`` empty where it speaks of all models.

    >>> len(published_coopeval())
    726
    """
    return tuple(
        {
            **row,
            "setting": setting_of(row),
            "model": "" if row["model"] == ALL_MODELS else row["model"],
        }
        for row in published_rows("coopeval")
    )
