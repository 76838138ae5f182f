"""Score at equal similarity: what members earn whose instructions have changed equally much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.features.lineages.genomes import populations

BINS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % and more")


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    scores: dict[int, dict[int, float]] = {}
    for row in data.records(
        "SELECT match, player, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL"
    ):
        scores.setdefault(row["match"], {})[row["player"] - 1] = row["score"]
    rows = []
    for one in populations(data):
        by_bin: dict[str, list[float]] = {}
        for member in range(len(one.genomes)):
            # A share of exactly 1 belongs to the last bin; rounding up keeps 0.75 there too.
            place = min(3, int(one.similarity(member) * 4 + 1e-9))
            by_bin.setdefault(BINS[place], []).append(scores[one.match][member])
        rows += [
            {"match": one.match, "similarity": name, "value": sum(of) / len(of), "weight": len(of)}
            for name, of in sorted(by_bin.items(), key=lambda pair: BINS.index(pair[0]))
        ]
    return rows


MEASURE = Measure(
    name="score_at_similarity",
    title="Score at equal similarity of prompts",
    scale="points",
    definition=(
        "The mean score of the members of a population whose instructions have equally much in common with those of "
        "their ancestors in the first generation (column similarity, in four bins): what selection adds there is not "
        "due to how far prompts have moved."
    ),
    needs=("matches.facts", "matches.score"),
    values=_values,
    columns=("similarity",),
)
