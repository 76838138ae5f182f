"""The sentences that spread: which of them most members carry in the end, and since when they are there."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.features.lineages.charts import populations_by_cell
from ostrom.reports.panel import Drawn, Panel, Table


class SpreadingSentences(Panel):
    """For every cell the ``most`` sentences that most members of its last generations carry, over all replicates."""

    title = "The sentences that spread"

    def __init__(self, most: int = 8) -> None:
        if not 1 <= most <= 100:
            raise ValueError(f"most must lie between 1 and 100 (found {most})")
        self.most = most

    def draw(self, data: RunData) -> Drawn:
        """A table: share of members at the beginning and at the end, and the first generation with the sentence."""
        cells = populations_by_cell(data)
        if not cells:
            return Drawn(notes=["No finished match has a population of instructions."])
        rows: list[list[Any]] = []
        for label, histories in cells.items():
            first, last, since, members = Counter[str](), Counter[str](), dict[str, int](), 0
            for chain in histories:
                members += len(chain[0].genomes)
                first.update(s for genome in chain[0].genomes for s in set(genome))
                last.update(s for genome in chain[-1].genomes for s in set(genome))
                for one in chain:
                    for sentence in {s for genome in one.genomes for s in genome}:
                        since[sentence] = min(since.get(sentence, one.generation), one.generation)
            top = sorted(last, key=lambda s: (-last[s], s))[: self.most]
            rows += [[label, s, since[s], first[s] / members, last[s] / members] for s in top]
        table = Table(
            "spreading_sentences",
            ["cell", "sentence", "first generation", "share at the beginning", "share at the end"],
            rows,
            "Sentences by the share of members who carry them in the last generation, over all replicates of a cell.",
        )
        return Drawn(tables=[table])


PANEL = SpreadingSentences
