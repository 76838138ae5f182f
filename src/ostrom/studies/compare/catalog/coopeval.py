"""Tewolde et al. (2026), CoopEval: mean payoffs and cooperation by mechanism and game.

What evolves on the payoffs and how designs are judged is reported by the mechanisms study itself; the ranks
of the paper depend on its solver and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ostrom.analysis.rundata import RunData
from ostrom.analysis.summary import bootstrap_interval
from ostrom.games import build_game
from ostrom.studies.compare.figures import Cell, Games, Own, Published, Reference
from ostrom.studies.reference import number, reference_rows

MECHANISMS = {
    "none": "NoMechanism",
    "repetition": "Repetition",
    "reputation_first": "Reputation-",
    "reputation_higher": "Reputation+",
    "mediation": "Mediation",
    "contracting": "Contracting",
}
GAMES: Mapping[str, tuple[str, str | dict[str, str], float, float]] = {
    "prisoners_dilemma": ("prisoners_dilemma", {"name": "prisoners_dilemma", "preset": "coopeval"}, 1.0, 2.0),
    "public_goods": ("public_goods", "public_goods", 1.0, 1.5),
    "travelers_dilemma": ("travelers_dilemma", "travelers_dilemma", 2.0, 5.0),
    "trust": ("trust_game", "trust", 4.0, 10.0),
}
"""Own games: the paper's name and payoffs, and what a player gets when all defect and when all cooperate."""

MEASURES = ("mean_payoff", "mean_payoff_normalised", "cooperative_action_rate_pct")


class CoopEval(Reference):
    """Payoffs in points of the game, normalised ones between 0 (all defect) and 1 (all cooperate)."""

    name: ClassVar[str] = "coopeval"
    citation: ClassVar[str] = "Tewolde et al. (2026), CoopEval"
    columns: ClassVar[tuple[str, ...]] = ("mechanism", "game", "measure")
    spread: ClassVar[str] = "standard error over three runs (of all four games: over games)"
    protocol: ClassVar[Mapping[str, Any]] = {"agent.params.temperature": 1.0, "seeds": 3}

    def published(self) -> Sequence[Published]:
        """Tables and recomputed rates; ablations are another design."""
        return [
            Published(
                (row["mechanism"], row["game"], row["metric"]),
                None if row["model"] == "llm_average" else row["model"],
                value,
                number(row["se"]),
                row["source_table"],
                "verified" if row["verification"].endswith("match") else "recomputed",
                (f"SUSPICIOUS: {row['note']}",) if "without" in row["note"] else (),
            )
            for row in reference_rows("coopeval")
            if row["metric"] in MEASURES
            and row["source_table"] != "ablation"
            and (value := number(row["value"])) is not None
        ]

    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """Means over matches for every agent, and over all agents together."""
        payable = {name for name in games.labelled if name in GAMES and _as_printed(name, games)}
        return [*_figures(data, payable, pooled=False), *_figures(data, payable, pooled=True)]

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Games with other payoffs."""
        return [
            f"{name}: played with other payoffs than the paper's, so payoffs are not compared."
            for name in games.labelled
            if name in GAMES and not _as_printed(name, games)
        ]


def _as_printed(name: str, games: Games) -> bool:
    return games.pays_as(name, build_game(GAMES[name][1]))


def _figures(data: RunData, payable: set[str], *, pooled: bool) -> Iterator[Own]:
    who = "'*'" if pooled else "agent"
    rows = data.records(
        f"SELECT mechanism, game, {who} AS who, match, avg(score) AS score, avg(cooperation) AS rate "
        "FROM matches WHERE state = 'done' AND unit = 'match' AND seat IS NOT NULL "
        "GROUP BY 1, 2, 3, 4 ORDER BY 4"
    )
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["mechanism"] in MECHANISMS and row["game"] in GAMES:
            cells.setdefault((row["mechanism"], row["game"], row["who"]), []).append(row)
    for (mechanism, game, agent), of in cells.items():
        for measure, column, scale in (
            ("mean_payoff", "score", 1.0),
            ("cooperative_action_rate_pct", "rate", 100.0),
        ):
            if column == "score" and game not in payable:
                continue
            cell = (MECHANISMS[mechanism], GAMES[game][0], measure)
            values = [scale * row[column] for row in of if row[column] is not None]
            yield from _mean(cell, None if pooled else agent, values)
    for mechanism, agent in dict.fromkeys((m, who) for m, _, who in cells):
        per_game = {
            g: [r["score"] for r in cells[mechanism, g, agent]]
            for g in GAMES
            if (mechanism, g, agent) in cells
        }
        if set(per_game) == set(GAMES) and set(GAMES) <= payable:
            parts = [
                (float(np.mean([s for s in scores if s is not None])) - low) / (high - low)
                for g, scores in per_game.items()
                for _, _, low, high in [GAMES[g]]
            ]
            cell = (MECHANISMS[mechanism], "all_four", "mean_payoff_normalised")
            yield Own(
                cell, None if pooled else agent, float(np.mean(parts)), None, None, None,
                sum(map(len, per_game.values())),
            )  # fmt: skip


def _mean(cell: Cell, agent: str | None, values: list[float]) -> Iterator[Own]:
    if values:
        array = np.array(values)
        low, high = bootstrap_interval(array) if len(array) > 1 else (None, None)
        yield Own(cell, agent, float(array.mean()), low, high, None, len(array))


REFERENCE = CoopEval
